import { given } from '../../core/given';
import type { JobName } from '../../core/brand';
import { recordKey, parseRecordKey } from '../../core/key';
import { ForeignRecordError, type LedgerRecord } from '../../core/record';
import type { AnytimeStore } from '../held';
import { readRecord } from '../ledger';

/** The most records to read: after so many due times without a run, an older run is not worth the search. */
const RECORDS_AT_MOST = 1_000;

/** The newest final record of the job that is older than this run and ran. */
export async function previousRun(store: AnytimeStore, job: JobName, key: string): Promise<LedgerRecord | undefined> {
  const before = parseRecordKey(key)?.scheduledFor ?? 0;
  let continuation: string | undefined;
  let seen = 0;
  do {
    const page = await store.listRecords(job, { limit: 100, ...given({ continuation }) });
    for (const { key: candidate, summary } of page.records) {
      seen += 1;
      // `started` is in the summary of what ran, and only there.
      if (candidate <= recordKey(before) || summary['state'] !== 'final' || summary['started'] === undefined) continue;
      const record = await readable(store, job, candidate);
      if (record !== undefined) return record;
    }
    continuation = page.continuation;
  } while (continuation !== undefined && seen < RECORDS_AT_MOST);
  return undefined;
}

/** Reads a record; undefined if cronlease did not write it. Such a record must not end this run. */
async function readable(store: AnytimeStore, job: JobName, key: string): Promise<LedgerRecord | undefined> {
  try {
    return (await readRecord(store, job, key))?.record;
  } catch (error) {
    if (error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
