import type { JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { JobRowStore, LeaseBreaking, ListedControl, ListedJob } from '../../lease/store';
import type { Ask } from './ask';
import { dateOf } from '../port';
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
export function jobRowsIn(
  ask: Ask,
  { jobs: rows, controls }: Keys,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return {
    ...rowCalls(ask, rows),
    async list(options) {
      const only = options?.job;
      const answer = await ask({
        what: 'list jobs',
        kind: 'listing',
        script: LIST,
        keys: [...rows, controls[0]],
        options,
        args: only === undefined ? [] : [only],
      });
      const [now, ...found] = answer as [number, ...string[][]];
      const [heads, metadata, written] = found.map((list) => new Map(pairs(list)));
      const date = dateOf(now);
      const jobs = new Map<JobName, ListedJob>();
      const shared = new Map<string, ListedControl | undefined>();
      for (const name of new Set([...(heads?.keys() ?? []), ...(written?.keys() ?? [])])) {
        const [head, control] = [heads?.get(name), controlIn(written?.get(name))];
        if (name === FLEET || name === LAYOUT) shared.set(name, only === undefined ? control : undefined);
        else {
          const row = head === undefined ? undefined : rowIn(head, metadata?.get(name), now);
          jobs.set(name as JobName, { ...(row && { row }), ...(control && { control }), date });
        }
      }
      const [fleet, layout] = [shared.get(FLEET), shared.get(LAYOUT)];
      return { date, jobs, ...(fleet && { fleet }), ...(layout && { layout }) };
    },
  };
}

function controlIn(head: string | undefined): ListedControl | undefined {
  if (head === undefined) return undefined;
  const { etag, metadata } = headIn(head);
  return { etag, metadata };
}
