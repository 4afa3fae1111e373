import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type RecentRun, completed, incompleteRun, keyOf } from '../../core/recent';
import { recordedRun } from '../../core/recent-run';
import { ForeignRecordError, type LedgerRecord } from '../../core/record';
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
 * here. Otherwise one call reads it from the ledger, for a job that runs at most every five minutes, and after a run that
 * took several attempts: only such a run has an open record.
 *
 * @param before the free row that the claim was decided on
 * @returns undefined if that record is open, although the row was free: its lease must expire, so that the run continues
 */
export async function withLastRun(
  coordinator: Coordinator,
  job: JobName,
  { row, before }: { readonly row: Row; readonly before: Pick<Row, 'run' | 'phase'> | undefined },
  acquiredAt: EpochMs,
): Promise<Row | undefined> {
  const ended = coordinator.ended.get(job);
  const recent = completed(row.recent, ended);
  const unknown = incompleteRun(recent);
  if (unknown === undefined || isUsual(unknown, acquiredAt)) return { ...row, recent };
  const record = await recorded(coordinator, job, unknown);
  if (record?.state === 'open' && before?.phase === 'running' && before.run?.key === keyOf(unknown)) return undefined;
  const found = record?.state === 'final' ? recordedRun(unknown, record) : undefined;
  return { ...row, recent: found === undefined ? recent : completed(recent, found) };
}

function isUsual({ attempts, scheduledFor }: RecentRun, acquiredAt: EpochMs): boolean {
  return attempts === 1 && acquiredAt - scheduledFor < SELDOM_MS;
}

async function recorded(
  { clock, store }: Coordinator,
  job: JobName,
  entry: RecentRun,
): Promise<LedgerRecord | undefined> {
  try {
    const found = await within(clock, READ_LIMIT_MS, (signal) => readRecord(store, job, keyOf(entry), { signal }));
    return found?.record;
  } catch (error) {
    // Lists then show the run without its duration. The claim is what matters here.
    if (error instanceof StoreError || error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
