import type { JobName } from '../core/brand';
import { runIdOf } from '../core/key';
import { ForeignMetadataError } from '../core/metadata';
import type { Row } from '../core/row';
import { decodeRow } from '../core/row';
import { readRecord } from '../coordinator/ledger';
import type { CallOptions, LeaseStore, Listing } from '../lease/store';
import { withOverlappedRun } from './explain';
import type { ShownRecord } from './list-runs';
import { shown } from './list-runs';
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
  options?: CallOptions,
): Promise<ShownRecord | undefined> {
  const found = await readRecord(store, job, key, options);
  if (found?.record.state === 'final') return withOverlappedRun(store, shown(found.record, key, undefined), options);
  const running = await runsNow(store, [job], listing, options);
  const current = running.find(({ runId }) => runId === runIdOf(job, key));
  return current ?? (found && shown(found.record, key, readableRow(listing, job)));
}

function readableRow({ jobs }: Listing, job: JobName): Row | undefined {
  const row = jobs.get(job)?.row;
  try {
    return row && decodeRow(row.metadata);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return undefined;
  }
}
