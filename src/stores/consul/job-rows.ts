import type { JobName } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { JobRowStore, LeaseBreaking, ListedControl, ListedJob, ListedRow } from '../../lease/store';
import type { Ask } from './ask';
import { headIn } from './entries';
import { headKey, idIn, type Keys, rowKeys } from './keys';
import { leftIn, rowCalls, rowsAmong } from './rows';
import { type KeyValue, tree } from './wire';

/** The rows of jobs. One transaction lists them with their controls, as of one instant. */
export function jobRowsIn(
  ask: Ask,
  clock: Clock,
  { jobs: folder, controls: controlKeys }: Keys,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  const controlsAmong = (found: readonly KeyValue[]): ReadonlyMap<JobName, ListedControl> => {
    const controls = found.filter(({ key }) => key.startsWith(controlKeys.heads));
    return new Map(
      controls.map((kv) => {
        const { etag, metadata } = headIn(kv);
        return [idIn(controlKeys, kv.key) as JobName, { etag, metadata }];
      }),
    );
  };
  return {
    ...rowCalls({ ask, clock, folder }),
    list: (options) =>
      ask({ what: 'list jobs', kind: 'listing', options }, async (calls) => {
        const only = options?.job;
        const places =
          only === undefined ? [folder, controlKeys.heads] : [rowKeys(folder, only).row, headKey(controlKeys, only)];
        const answer = await calls.transact(...places.map(tree));
        const { date, found = [] } = answer;
        const [rows, controls] = [rowsAmong(folder, answer), controlsAmong(found)];
        const sessions = new Map(found.map(({ key, session }) => [key, session]));
        const withLeft = (name: JobName, row: ListedRow): ListedRow => {
          if (only === undefined || row.lease !== 'leased') return row;
          return { ...row, leftMs: leftIn(clock, sessions.get(rowKeys(folder, name).lease)) };
        };
        const jobs = new Map<JobName, ListedJob>();
        for (const name of new Set([...rows.keys(), ...controls.keys()])) {
          const [row, control] = [rows.get(name), controls.get(name)];
          if (name === FLEET || name === LAYOUT) continue;
          jobs.set(name, { ...(row && { row: withLeft(name, row) }), ...(control && { control }), date });
        }
        if (only !== undefined) return { date, jobs };
        const [fleet, layout] = [controls.get(FLEET), controls.get(LAYOUT)];
        return { date, jobs, ...(fleet && { fleet }), ...(layout && { layout }) };
      }),
  };
}
