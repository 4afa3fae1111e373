import type { JobName } from '../../core/brand';
import { pendingManualRuns } from '../../core/control';
import { recordKey, runIdOf } from '../../core/key';
import { ifReadable } from '../../core/metadata';
import { readRecord } from '../../coordinator/ledger';
import type { LeaseStore, Listing } from '../../lease/store';
import { withOverlappedRun } from './explain';
import { stateIn } from '../job-state';
import { rowOf, shown, type ShownRecord } from './list-runs';
import { withNotedLosses } from './noted-losses';
import { withAtWork } from './run-at-work';
import { runsNow } from './runs-now';

/**
 * One run with its attempts: its record, or for a run in progress also its row. Undefined: there is neither.
 *
 * @param listing contains the job
 * @throws ForeignRecordError if cronlease did not write the record
 */
export async function showRun(
  store: LeaseStore,
  job: JobName,
  key: string,
  listing: Listing,
): Promise<ShownRecord | undefined> {
  const found = await readRecord(store, job, key);
  const complete = (record: ShownRecord): Promise<ShownRecord> => withNotedLosses(store, record, key);
  if (found?.record.state === 'final') {
    return withOverlappedRun(store, await complete(shown(found.record, key, undefined)));
  }
  const running = await runsNow(store, [job], listing);
  const current = running.find(({ runId }) => runId === runIdOf(job, key));
  const seen =
    current ??
    (found &&
      shown(
        found.record,
        key,
        ifReadable(() => rowOf(listing, job)),
      ));
  return seen && complete(await withAtWork(store, seen, key));
}

/** What a listing shows of a run without a record. */
export interface RunAskedFor {
  readonly record: ShownRecord | undefined;
  /** It was requested, and no deployment has taken it yet. */
  readonly isRequested: boolean;
}

/**
 * As {@link showRun}, for a run that was requested after the last sweep, maybe from another instance: one more call.
 */
export async function showRequestedRun(store: LeaseStore, job: JobName, key: string): Promise<RunAskedFor> {
  const listing = await store.list({ job });
  const record = await showRun(store, job, key, listing);
  return { record, isRequested: record === undefined && isPending(listing, job, key) };
}

function isPending(listing: Listing, job: JobName, key: string): boolean {
  const state = ifReadable(() => stateIn(listing, job));
  if (state === undefined) return false;
  const pending = pendingManualRuns(state.control, state.row?.manualTaken ?? 0);
  return pending.some(({ time, id }) => recordKey(time, id) === key);
}
