import { given } from '../core/given';
import type { EpochMs, ETag, JobName } from '../core/brand';
import { parseRecordKey } from '../core/key';
import { type Mentions, mentionOf } from '../core/overdue';
import { ForeignRecordError, type LedgerRecord, parseRecord } from '../core/record';
import type { CallOptions, LedgerStore, ListedRecord } from '../lease/store';

/** Reads one ledger record. Throws `ForeignRecordError` when cronlease did not write it. */
export async function readRecord(
  store: Pick<LedgerStore, 'readRecord'>,
  job: JobName,
  key: string,
  options?: CallOptions,
): Promise<{ readonly record: LedgerRecord; readonly etag: ETag } | undefined> {
  const found = await store.readRecord(job, key, options);
  return found === undefined ? undefined : { record: parseRecord(job, key, found.body), etag: found.etag };
}

/** As {@link readRecord}, with a value for a record that cronlease did not write. */
export async function readUnlessForeign(
  store: Pick<LedgerStore, 'readRecord'>,
  job: JobName,
  key: string,
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<typeof readRecord>> | 'foreign'> {
  try {
    return await readRecord(store, job, key, signal === undefined ? {} : { signal });
  } catch (error) {
    if (error instanceof ForeignRecordError) return 'foreign';
    throw error;
  }
}

const SUMMARIES_A_PAGE = 500;

/**
 * The newest records of a job, back to one that has a token if there is one. Mostly one call.
 *
 * @param ask makes one storage call within its own time limit
 */
export async function newestRecords(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  ask: <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<readonly ListedRecord[]> {
  const records: ListedRecord[] = [];
  let continuation: string | undefined;
  for (let pages = 0; pages < PAGES_BACK; pages += 1) {
    const request = { limit: SUMMARIES_A_PAGE, ...given({ continuation }) };
    const page = await ask((signal) => store.listRecords(job, request, signal === undefined ? {} : { signal }));
    records.push(...page.records);
    continuation = page.continuation;
    if (continuation === undefined || page.records.some(({ summary }) => summary['token'] !== undefined)) break;
  }
  return records;
}

/** 10,000 records: the runs of a whole day, one every 9 s. */
const PAGES_BACK = 20;

/**
 * The newest due time of a job that succeeded, if it is later than `since`. A run that repeats an earlier one counts for
 * the due time of that one.
 *
 * @param ask makes one storage call within its own time limit
 */
export async function newestSucceeded(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  since: EpochMs,
  ask: <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<EpochMs | undefined> {
  let newest = since;
  let continuation: string | undefined;
  for (let pages = 0; pages < PAGES_BACK; pages += 1) {
    const request = { limit: SUMMARIES_A_PAGE, ...given({ continuation }) };
    const page = await ask((signal) => store.listRecords(job, request, signal === undefined ? {} : { signal }));
    for (const { key, summary } of page.records) {
      const { scheduledFor } = parseRecordKey(key) ?? {};
      if (scheduledFor === undefined) continue;
      // No older record is of a newer due time.
      if (scheduledFor <= newest) return newest > since ? newest : undefined;
      if (summary['outcome'] !== 'succeeded') continue;
      const repeated = Date.parse(summary['rerunof'] ?? '');
      newest = Math.max(newest, Number.isNaN(repeated) ? scheduledFor : Math.min(repeated, scheduledFor));
    }
    continuation = page.continuation;
    if (continuation === undefined) break;
  }
  return newest > since ? newest : undefined;
}

/**
 * Finds the newest success in only the summaries. One page holds those of 500 records, which is mostly enough.
 *
 * @param pages the most pages to read
 * @param since the time of a success that the caller has already: older records need not be read
 * @param ask makes one storage call within its own time limit
 */
export async function lastSuccess(
  store: LedgerStore,
  job: JobName,
  { pages, since = -Infinity }: { readonly pages: number; readonly since?: EpochMs | undefined },
  ask: <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T> = (call) => call(),
): Promise<Mentions> {
  const found = { succeeded: -Infinity, excused: -Infinity, oldest: Infinity };
  let continuation: string | undefined;
  let left = pages;
  do {
    const request = { limit: SUMMARIES_A_PAGE, ...given({ continuation }) };
    const page = await ask((signal) => store.listRecords(job, request, signal === undefined ? {} : { signal }));
    for (const { key, summary } of page.records) {
      found.oldest = Math.min(found.oldest, parseRecordKey(key)?.scheduledFor ?? Infinity);
      const mention = mentionOf(key, summary);
      if (mention !== undefined) found[mention.kind] = Math.max(found[mention.kind], mention.at);
    }
    continuation = page.continuation;
    left -= 1;
  } while (continuation !== undefined && left > 0 && found.succeeded === -Infinity && found.oldest > since);
  const known = (instant: EpochMs): EpochMs | undefined => (Number.isFinite(instant) ? instant : undefined);
  return { succeeded: known(found.succeeded), excused: known(found.excused) };
}
