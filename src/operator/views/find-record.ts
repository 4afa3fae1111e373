import type { EpochMs, JobName } from '../../core/brand';
import { invertedTime, parseRecordKey, recordKey, runIdOf } from '../../core/key';
import { ForeignRecordError, type LedgerRecord, unreadableRecord } from '../../core/record';
import { readRecord } from '../../coordinator/ledger';
import { isAtRest } from '../../core/row';
import type { LeaseStore, LedgerStore, ListedRecord } from '../../lease/store';
import { readState } from '../job-state';
import { OperatorError } from '../operator-error';
import { pagesOf } from '../../lease/pages';

export interface FoundRecord {
  readonly key: string;
  readonly record: LedgerRecord;
}

/** Keys have 13 digits for the time, so every instant is earlier. */
const LATEST = 1e13;
const PAGE = 20;

/** Reads the record of a due time by its own key. */
export async function recordAt(store: LedgerStore, job: JobName, time: EpochMs): Promise<FoundRecord | undefined> {
  return time < 0 || time >= LATEST ? undefined : recordOf(store, job, recordKey(time));
}

/** The record of the run that a person requested at this time, or else of one in a back-fill. */
export async function manualRecordAt(
  store: LedgerStore,
  job: JobName,
  time: EpochMs,
): Promise<FoundRecord | undefined> {
  if (time < 0 || time >= LATEST) return undefined;
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
  if (time < 0 || time >= LATEST) return { older: false, found: undefined };
  const nearest = await recordBefore(store, job, time, isOfDueTime);
  const through = Date.parse(nearest?.summary['through'] ?? '');
  const found = nearest !== undefined && through >= time ? await recordOf(store, job, nearest.key) : undefined;
  return { older: nearest !== undefined, found };
}

/** The newest record of a run that was due or requested before this time. */
export async function ranBefore(store: LedgerStore, job: JobName, time: EpochMs): Promise<FoundRecord | undefined> {
  if (time < 0 || time >= LATEST) return undefined;
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
  const digits = invertedTime(time);
  for (let length = digits.length - 1; length >= 0; length -= 1) {
    const head = digits.slice(0, length);
    const larger = '123456789'.slice(Number(digits[length]));
    const found = await Promise.all([...larger].map((digit) => firstUnder(store, job, head + digit, isWanted)));
    const first = found.find((record) => record !== undefined);
    if (first !== undefined) return first;
  }
  return undefined;
}

/** The first wanted record under a prefix. */
async function firstUnder(
  store: LedgerStore,
  job: JobName,
  prefix: string,
  isWanted: (record: ListedRecord) => boolean,
): Promise<ListedRecord | undefined> {
  for await (const { records } of pagesOf((from) => store.listRecords(job, { prefix, limit: PAGE, ...from }))) {
    const wanted = records.find(isWanted);
    if (wanted !== undefined) return wanted;
  }
  return undefined;
}

/** Reads the record with this key. One that cannot be read counts as a run of unknown outcome. */
export async function recordOf(store: LedgerStore, job: JobName, key: string): Promise<FoundRecord | undefined> {
  try {
    const found = await readRecord(store, job, key);
    return found && { key, record: found.record };
  } catch (error) {
    if (!(error instanceof ForeignRecordError)) throw error;
    return { key, record: unreadableRecord(job, key) };
  }
}

export interface FoundRun {
  readonly key: string;
  readonly runId: string;
  /** Its row shows that it is over, even if retention has deleted its record. */
  readonly isOver: boolean;
}

/**
 * The run of a due time or manual run, or else the job's current or last run.
 *
 * @throws OperatorError `NoRun`
 */
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
