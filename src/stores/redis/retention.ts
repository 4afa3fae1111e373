import type { Retention } from '../../lease/store';
import type { Ask } from './ask';
import type { EntryKeys, Keys } from './keys';
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
export function retentionIn(ask: Ask, { records, logs, requests, audits, notices }: Keys): Retention {
  return {
    async purge({ jobs: keep, longestMs }, options) {
      if (keep.size === 0) return 'done';
      const jobs = [...keep.keys()];
      const purge = (what: string, keys: readonly EntryKeys[], lengths: readonly number[]): Promise<unknown> => {
        const kind = what === 'delete old logs' ? 'logs' : 'entries';
        const args = [BATCH, kind, ...lengths];
        return ask({ what, kind: 'delete', script: PURGE, keys: keys.flat(), args, options });
      };
      const more = [
        await purge('delete old records', jobs.map(records), [...keep.values()]),
        await purge('delete old logs', jobs.map(logs), [...keep.values()]),
        await purge('delete old entries', [requests, audits, notices], [longestMs, longestMs, longestMs]),
      ];
      return more.includes(1) ? 'more' : 'done';
    },
  };
}
