import { given } from '../core/given';
import type { EpochMs, ETag, JobName } from '../core/brand';
import { parseRecordKey } from '../core/key';
import { type Mentions, mentionOf } from '../core/overdue';
import { ForeignRecordError, type LedgerRecord, parseRecord } from '../core/record';
import { pagesOf } from '../lease/pages';
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
/** 10,000 records: the runs of a whole day, one every 9 s. */
const PAGES_BACK = 20;

/** Makes one storage call within its own time limit. */
type AskOnce = <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T>;

/** The summaries of a job's records, newest first, page by page. */
export function recordPages(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  ask: AskOnce,
  wanted: { readonly prefix?: string; readonly limit: number } = { limit: SUMMARIES_A_PAGE },
): ReturnType<typeof pagesOf<Awaited<ReturnType<LedgerStore['listRecords']>>>> {
  return pagesOf((from) => ask((signal) => store.listRecords(job, { ...wanted, ...from }, { ...given({ signal }) })));
}

/** The newest records of a job, back to one that has a token if there is one. Mostly one call. */
export async function newestRecords(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  ask: AskOnce,
): Promise<readonly ListedRecord[]> {
  const found: ListedRecord[] = [];
  let pages = 0;
  for await (const { records } of recordPages(store, job, ask)) {
    found.push(...records);
    pages += 1;
    if (pages === PAGES_BACK || records.some(({ summary }) => summary['token'] !== undefined)) break;
  }
  return found;
}

/**
 * The newest due time of a job that succeeded, if it is later than `since`. A run that repeats an earlier one counts for
 * the due time of that one.
 */
export async function newestSucceeded(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  since: EpochMs,
  ask: AskOnce,
): Promise<EpochMs | undefined> {
  let newest = since;
  let pages = 0;
  search: for await (const { records } of recordPages(store, job, ask)) {
    for (const { key, summary } of records) {
      const { scheduledFor } = parseRecordKey(key) ?? {};
      if (scheduledFor === undefined) continue;
      // No older record is of a newer due time.
      if (scheduledFor <= newest) break search;
      if (summary['outcome'] !== 'succeeded') continue;
      const repeated = Date.parse(summary['rerunof'] ?? '');
      newest = Math.max(newest, Number.isNaN(repeated) ? scheduledFor : Math.min(repeated, scheduledFor));
    }
    pages += 1;
    if (pages === PAGES_BACK) break;
  }
  return newest > since ? newest : undefined;
}

/**
 * Finds the newest success in only the summaries. One page holds those of 500 records, which is mostly enough.
 *
 * @param pages the most pages to read
 * @param since the time of a success that the caller has already: older records need not be read
 */
export async function lastSuccess(
  store: LedgerStore,
  job: JobName,
  { pages, since = -Infinity }: { readonly pages: number; readonly since?: EpochMs | undefined },
  ask: AskOnce = (call) => call(),
): Promise<Mentions> {
  const found = { succeeded: -Infinity, excused: -Infinity, oldest: Infinity };
  let left = pages;
  for await (const { records } of recordPages(store, job, ask)) {
    for (const { key, summary } of records) {
      found.oldest = Math.min(found.oldest, parseRecordKey(key)?.scheduledFor ?? Infinity);
      const mention = mentionOf(key, summary);
      if (mention !== undefined) found[mention.kind] = Math.max(found[mention.kind], mention.at);
    }
    left -= 1;
    if (left <= 0 || found.succeeded !== -Infinity || found.oldest <= since) break;
  }
  const known = (instant: EpochMs): EpochMs | undefined => (Number.isFinite(instant) ? instant : undefined);
  return { succeeded: known(found.succeeded), excused: known(found.excused) };
}
