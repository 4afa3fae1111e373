import type { EpochMs, ETag, JobName } from '../core/brand';
import { parseRecordKey } from '../core/key';
import type { Mentions } from '../core/overdue';
import { mentionOf } from '../core/overdue';
import type { LedgerRecord } from '../core/record';
import { parseRecord } from '../core/record';
import type { CallOptions, LedgerStore } from '../lease/store';

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

const SUMMARIES_A_PAGE = 500;

/**
 * Looks for the newest success in the summaries alone. One page holds those of 500 records, which is mostly enough.
 *
 * @param pages the most pages to read
 * @param since the time of a success that the caller has already: older records need no look
 * @param ask makes one storage call within a time limit of its own
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
    const request = { limit: SUMMARIES_A_PAGE, ...(continuation === undefined ? {} : { continuation }) };
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
  return { succeeded: known(found.succeeded), excused: known(found.excused), oldest: known(found.oldest) };
}
