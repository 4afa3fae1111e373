import type { EpochMs, JobName, Millis } from '../../core/brand';
import { completed, incompleteRun, keyOf } from '../../core/recent';
import type { RecentRun } from '../../core/recent';
import { recordedRun } from '../../core/recent-run';
import { ForeignRecordError } from '../../core/record';
import type { Row } from '../../core/row';
import { within } from '../../lease/deadline';
import { StoreError } from '../../lease/store';
import type { Coordinator } from '../coordinator';
import { readRecord } from '../ledger';

/** A job whose last run is younger gets no call for its duration. */
const SELDOM_MS: Millis = 5 * 60_000;
/** The claim waits for the duration of the last run no longer than this. */
const READ_LIMIT_MS: Millis = 500;

/**
 * The row of a claim with the end of the job's last run, as lists show it. This process knows that end if the run ended
 * here. Otherwise, for a job that runs at most every five minutes, one call reads it from the ledger.
 */
export async function withLastRun(coordinator: Coordinator, job: JobName, row: Row, acquiredAt: EpochMs): Promise<Row> {
  const ended = coordinator.ended.get(job);
  const recent = ended === undefined ? row.recent : completed(row.recent, ended);
  const unknown = incompleteRun(recent);
  if (unknown === undefined || acquiredAt - unknown.scheduledFor < SELDOM_MS) return { ...row, recent };
  const found = await recorded(coordinator, job, unknown);
  return { ...row, recent: found === undefined ? recent : completed(recent, found) };
}

async function recorded({ clock, store }: Coordinator, job: JobName, entry: RecentRun): Promise<RecentRun | undefined> {
  try {
    const found = await within(clock, READ_LIMIT_MS, (signal) => readRecord(store, job, keyOf(entry), { signal }));
    return found?.record.state === 'final' ? recordedRun(entry, found.record) : undefined;
  } catch (error) {
    // Lists then show the run without its duration. The claim is what matters here.
    if (error instanceof StoreError || error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
