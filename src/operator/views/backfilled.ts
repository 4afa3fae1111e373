import type { EpochMs } from '../../core/brand';
import { invertedTime, runIdOf } from '../../core/key';
import type { Row } from '../../core/row';
import type { LeaseStore } from '../../lease/store';
import { recordsUnder } from '../operations/backfill-plan';
import type { Explanation } from './explain';
import { recordOf } from './find-record';
import { inParallel } from '../../core/in-parallel';
import { type JobState, asideState } from '../job-state';
import { type ShownRecord, shown } from './list-runs';
import { runsBy } from './runs-now';

/**
 * The runs of an explained due time in back-fills, the oldest first: their records lie beside the one of the answer. An
 * instant that is not decided yet has none, and costs no call. Any other costs one listing, and a read for each run.
 */
export async function backfilledRuns(
  store: LeaseStore,
  { job, time, state, record }: Pick<Explanation, 'job' | 'time' | 'state' | 'record'>,
): Promise<readonly ShownRecord[]> {
  const { row, lease } = state;
  // Keys begin in 1970.
  if (row === undefined || time > row.cursor || time < 0) return [];
  const listed = await recordsUnder(store, job.name, `${invertedTime(time)}-m-`);
  const keys = listed.filter(({ summary }) => summary['trigger'] === 'backfill').map(({ key }) => key);
  // The ledger may have no record of a run that is not over. The row has it.
  const open = await inParallel(rowsOf(row, state, time), (its) =>
    runsBy(store, [job.name], () => ({ ...state, row: its })),
  );
  const unended = open.flat();
  const rest = keys.filter((key) => unended.every(({ runId }) => runId !== runIdOf(job.name, key)));
  const found = await inParallel(rest, async (key) => {
    const known = await recordOf(store, job.name, key);
    return known && shown(known.record, key, row, lease);
  });
  return [...found, ...unended]
    .filter((one) => one !== undefined)
    .filter(({ runId }) => runId !== record?.runId)
    .toSorted((a, b) => (a.claimedAt ?? '').localeCompare(b.claimedAt ?? ''));
}

/** The row as far as it has back-filled runs of this time: one in progress, and one that waits while due times go first. */
function rowsOf(row: Row, state: JobState, time: EpochMs): readonly Row[] {
  const { run } = row;
  const current = run?.trigger === 'backfill' && run.scheduledFor === time ? [row] : [];
  const aside = asideState(state).row;
  return aside?.run?.scheduledFor === time ? [...current, aside] : current;
}
