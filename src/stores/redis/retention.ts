import type { Retention } from '../../lease/store';
import { type Facet, type FacetKeys, keptIn } from '../port';
import type { Ask } from './ask';
import type { EntryKeys } from './keys';
import { script } from './scripts';

/** At most so many entries in one call, in which no other client is served: for about ten milliseconds. */
const BATCH = 1_000;

/**
 * Each four keys are the entries of one kind or job, and each argument after the first two is how long those are kept.
 * The texts of logs are separate strings; their keys are in the same slot.
 */
const PURGE = script(
  'shrink',
  `local left, areLogs = tonumber(ARGV[1]), ARGV[2] == 'logs'
for index = 3, #ARGV do
  local first = 2 + (index - 3) * 4
  local heads, bodies, names, written = KEYS[first], KEYS[first + 1], KEYS[first + 2], KEYS[first + 3]
  local old = string.format('(%.0f', now - ARGV[index])
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', written, '-inf', old, 'LIMIT', 0, left)) do
    redis.call('HDEL', heads, id)
    if areLogs then redis.call('UNLINK', bodies .. ':' .. id) else redis.call('HDEL', bodies, id) end
    redis.call('ZREM', names, id)
    redis.call('ZREM', written, id)
    left = left - 1
  end
  if left == 0 then return 1 end
end
return 0`,
);

/** What a lifecycle rule does for blobs. */
export function purgeIn(ask: Ask, keys: FacetKeys<EntryKeys>): Retention['purge'] {
  return async (keep, options) => {
    const kept = keptIn(keys, keep);
    const purge = (what: string, wanted: readonly Facet[]): Promise<unknown> => {
      const some = kept.filter(({ facet }) => wanted.includes(facet));
      const args = [BATCH, wanted.includes('logs') ? 'logs' : 'entries', ...some.map(({ keepMs }) => keepMs)];
      const all = some.flatMap((one) => one.keys);
      return ask({ what, kind: 'delete', script: PURGE, keys: all, args, options });
    };
    const more = [
      await purge('delete old records', ['records']),
      await purge('delete old logs', ['logs']),
      await purge('delete old entries', ['requests', 'audits', 'notices']),
    ];
    return more.includes(1) ? 'more' : 'done';
  };
}
