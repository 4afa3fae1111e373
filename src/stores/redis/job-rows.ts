import { listingOf } from '../facets/listing';
import { dateOf, type JobRowCalls } from '../port';
import type { Ask } from './ask';
import { headIn, pairs } from './entries';
import type { Keys } from './keys';
import { rowCalls, rowIn } from './rows';
import { script } from './scripts';

export const LIST = script(
  'read',
  `local found = { now }
for index, key in ipairs({ KEYS[2], KEYS[3], KEYS[4] }) do
  if ARGV[1] then
    local value = redis.call('HGET', key, ARGV[1])
    found[index + 1] = value and { ARGV[1], value } or {}
  else
    found[index + 1] = redis.call('HGETALL', key)
  end
end
return found`,
);

/** The rows of jobs. One script lists them with their controls, as they are at one instant. */
export function jobRowsIn(ask: Ask, { jobs: rows, controls: controlKeys }: Keys): JobRowCalls {
  return {
    ...rowCalls(ask, rows),
    async list(options) {
      const only = options?.job;
      const answer = await ask({
        what: 'list jobs',
        kind: 'listing',
        script: LIST,
        keys: [...rows, controlKeys[0]],
        options,
        args: only === undefined ? [] : [only],
      });
      const [now, ...found] = answer as [number, ...string[][]];
      const [heads, metadata, written] = found.map(pairs);
      const others = new Map(metadata);
      const listed = (heads ?? []).map(([name, head]) => [name, rowIn(head, others.get(name), now)] as const);
      const controls = (written ?? []).map(([name, head]) => [name, headIn(head)] as const);
      return listingOf(dateOf(now), new Map(listed), new Map(controls), only);
    },
  };
}
