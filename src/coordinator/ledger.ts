import type { ETag, JobName } from '../core/brand';
import type { Stretch } from '../core/fate';
import type { LedgerRecord } from '../core/record';
import { parseRecord, storeRecord, stretchRecord } from '../core/record';
import type { CallOptions, LeaseStore } from '../lease/store';
import type { Report } from './coordinator';

/** Reads one ledger record. Throws `ForeignRecordError` when it is none of ours. */
export async function readRecord(
  store: LeaseStore,
  job: JobName,
  key: string,
  options?: CallOptions,
): Promise<{ readonly record: LedgerRecord; readonly etag: ETag } | undefined> {
  const found = await store.readRecord(job, key, options);
  return found === undefined ? undefined : { record: parseRecord(job, key, found.body), etag: found.etag };
}

/**
 * Writes what a row owes. A record that exists already was written by an earlier holder of the same row, from the
 * same decision, so it stands.
 *
 * @param write makes one storage call, in its own time limit
 */
export async function writeOwed(
  store: LeaseStore,
  job: JobName,
  owed: readonly Stretch[],
  write: <T>(call: (signal: AbortSignal) => Promise<T>) => Promise<T>,
  report: Report,
  at: number,
): Promise<void> {
  for (const stretch of owed) {
    const { key, record } = stretchRecord(job, stretch);
    const answer = await write((signal) => store.createRecord(job, key, storeRecord(record), { signal }));
    if (answer.kind === 'exists') continue;
    report.event({
      event: stretch.fate,
      at,
      job,
      scheduledFor: stretch.from,
      runId: record.runId,
      reason: stretch.reason,
      ...(stretch.count > 1 ? { through: stretch.through, count: stretch.count } : {}),
    });
  }
}
