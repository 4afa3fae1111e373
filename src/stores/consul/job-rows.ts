import type { JobName } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { JobRowStore, LeaseBreaking, ListedControl, ListedRow } from '../../lease/store';
import { listingOf } from '../facets/listing';
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
  const controlsAmong = (found: readonly KeyValue[]): ReadonlyMap<string, ListedControl> => {
    const controls = found.filter(({ key }) => key.startsWith(controlKeys.heads));
    return new Map(controls.map((kv) => [idIn(controlKeys, kv.key), headIn(kv)]));
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
        const sessions = new Map(found.map(({ key, session }) => [key, session]));
        const withLeft = (name: JobName, row: ListedRow): ListedRow => {
          if (only === undefined || row.lease !== 'leased') return row;
          return { ...row, leftMs: leftIn(clock, sessions.get(rowKeys(folder, name).lease)) };
        };
        const rows = [...rowsAmong(folder, answer)].map(([name, row]) => [name, withLeft(name, row)] as const);
        return listingOf(date, new Map(rows), controlsAmong(found), only);
      }),
  };
}
