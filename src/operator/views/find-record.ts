import type { EpochMs, JobName, Millis } from '../../core/brand';
import { invertedTime, parseRecordKey, recordKey, runIdOf } from '../../core/key';
import { type LedgerRecord, unreadableRecord } from '../../core/record';
import { readUnlessForeign } from '../../coordinator/ledger';
import { inParallel } from '../../core/in-parallel';
import { isInstant } from '../../core/metadata';
import { isAtRest } from '../../core/row';
import type { LeaseStore, LedgerStore, ListedRecord } from '../../lease/store';
import { readState } from '../job-state';
import { OperatorError } from '../operator-error';
import { collected, pagesOf } from '../../lease/pages';

export interface FoundRecord {
  readonly key: string;
  readonly record: LedgerRecord;
}

const PAGE = 20;
const SPAN_PAGE = 500;

/** Reads the record of a due time by its own key. */
export async function recordAt(store: LedgerStore, job: JobName, time: EpochMs): Promise<FoundRecord | undefined> {
  return isInstant(time) ? recordOf(store, job, recordKey(time)) : undefined;
}

/** The record of the run that a person requested at this time, or else of one in a back-fill. */
export async function manualRecordAt(
  store: LedgerStore,
  job: JobName,
  time: EpochMs,
): Promise<FoundRecord | undefined> {
  if (!isInstant(time)) return undefined;
  const prefix = `${invertedTime(time)}-m-`;
  const { records } = await store.listRecords(job, { prefix, limit: PAGE });
  const first = records.find(({ summary }) => summary['trigger'] !== 'backfill') ?? records[0];
  return first && recordOf(store, job, first.key);
}

/** The newest record of a due time before this one, if it reaches as far as `time`. */
export async function recordOver(
  store: LedgerStore,
  job: JobName,
  time: EpochMs,
): Promise<{ readonly older: boolean; readonly found: FoundRecord | undefined }> {
  if (!isInstant(time)) return { older: false, found: undefined };
  const nearest = await recordBefore(store, job, time, isOfDueTime);
  const through = Date.parse(nearest?.summary['through'] ?? '');
  const found = nearest !== undefined && through >= time ? await recordOf(store, job, nearest.key) : undefined;
  return { older: nearest !== undefined, found };
}

/** The newest record of a run that was due or requested before this time. */
export async function ranBefore(store: LedgerStore, job: JobName, time: EpochMs): Promise<FoundRecord | undefined> {
  if (!isInstant(time)) return undefined;
  const nearest = await recordBefore(store, job, time, ({ summary }) => summary['trigger'] !== undefined);
  return nearest && recordOf(store, job, nearest.key);
}

function isOfDueTime({ key }: ListedRecord): boolean {
  const parts = parseRecordKey(key);
  return parts !== undefined && parts.request === undefined;
}

/**
 * The newest wanted record before `time`. Keys are inverted times, and listings select by prefix. So this searches for
 * the next larger key: first among keys that differ only in the last digit, at last among those that differ in the
 * first. That takes at most 13 rounds of at most 9 listings, most of them empty, however long the history is.
 */
async function recordBefore(
  store: LedgerStore,
  job: JobName,
  time: EpochMs,
  isWanted: (record: ListedRecord) => boolean,
): Promise<ListedRecord | undefined> {
  const first = async (prefix: string): Promise<ListedRecord | undefined> => {
    for await (const record of recordsIn(store, job, { prefix, limit: PAGE })) if (isWanted(record)) return record;
    return undefined;
  };
  const digits = invertedTime(time);
  for (let length = digits.length - 1; length >= 0; length -= 1) {
    const head = digits.slice(0, length);
    const larger = '123456789'.slice(Number(digits[length]));
    const found = await Promise.all([...larger].map((digit) => first(head + digit)));
    const nearest = found.find((record) => record !== undefined);
    if (nearest !== undefined) return nearest;
  }
  return undefined;
}

/** The records of a job as listings show them, newest first. A page of `limit` is asked for once it is needed. */
export async function* recordsIn(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  request: { readonly prefix?: string; readonly limit: number },
): AsyncGenerator<ListedRecord, undefined> {
  for await (const { records } of pagesOf((from) => store.listRecords(job, { ...request, ...from }))) yield* records;
}

/** All records of a span. Listings select by prefix, so the span is covered by at most eleven of them. */
export async function recordsBetween(
  store: Pick<LedgerStore, 'listRecords'>,
  job: JobName,
  { from, through }: { readonly from: EpochMs; readonly through: EpochMs },
): Promise<readonly ListedRecord[]> {
  const found = await inParallel(prefixesOf(from, through), (prefix) =>
    collected(recordsIn(store, job, { prefix, limit: SPAN_PAGE })),
  );
  return found.flat().filter(({ key }) => {
    const at = parseRecordKey(key)?.scheduledFor;
    return at !== undefined && from <= at && at <= through;
  });
}

/** The beginnings of the keys of a span: each covers a power of ten of milliseconds, at most the length of the span. */
function prefixesOf(from: EpochMs, through: EpochMs): readonly string[] {
  const length: Millis = through - from;
  const digits = length === 0 ? 0 : Math.floor(Math.log10(length));
  const [first, last] = [invertedTime(through), invertedTime(from)].map((key) => key.slice(0, key.length - digits));
  const prefixes: string[] = [];
  for (let at = Number(first); at <= Number(last); at += 1) {
    prefixes.push(String(at).padStart(invertedTime(from).length - digits, '0'));
  }
  return prefixes;
}

/** Reads the record with this key. One that cannot be read counts as a run of unknown outcome. */
export async function recordOf(store: LedgerStore, job: JobName, key: string): Promise<FoundRecord | undefined> {
  const found = await readUnlessForeign(store, job, key);
  return found && { key, record: found === 'foreign' ? unreadableRecord(job, key) : found.record };
}

export interface FoundRun {
  readonly key: string;
  readonly runId: string;
  /** Its row shows that it is over, even if retention has deleted its record. */
  readonly isOver: boolean;
}

/** The run of a due time or manual run, or else the job's current or last run. Throws `OperatorError` `NoRun`. */
export async function findRun(store: LeaseStore, job: JobName, time: EpochMs | undefined): Promise<FoundRun> {
  const { row, lease } = await readState(store, job);
  const current = row?.run;
  if (current !== undefined && (time === undefined || current.scheduledFor === time)) {
    return found(job, current.key, row !== undefined && isAtRest(row, lease));
  }
  if (time === undefined) throw new OperatorError('NoRun', `job "${job}" has not run yet`);
  const recorded =
    (await recordAt(store, job, time)) ??
    (await manualRecordAt(store, job, time)) ??
    (await recordOver(store, job, time)).found;
  const at = new Date(time).toISOString();
  if (recorded === undefined) {
    const message = `there is no run of job "${job}" at ${at}: "cronlease why ${job} ${at}" explains it`;
    throw new OperatorError('NoRun', message);
  }
  if (recorded.record.trigger === null && recorded.record.reason !== 'outcomeUnknown') {
    throw new OperatorError(
      'NoRun',
      `job "${job}" did not run at ${at}: ${String(recorded.record.outcome)}. "cronlease why ${job} ${at}" explains it`,
    );
  }
  return found(job, recorded.key, false);
}

function found(job: JobName, key: string, isOver: boolean): FoundRun {
  return { key, runId: runIdOf(job, key), isOver };
}
