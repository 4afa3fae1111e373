import { isoOf } from './iso';
import { given } from './given';
import { type PastAttempt, lossError } from './past-attempt';
import type { EpochMs, JobName, Millis } from './brand';
import {
  type AttemptOutcome,
  type ClaimedOutcome,
  type Outcome,
  type Reason,
  type Stretch,
  type Trigger,
  extentOf,
} from './outcome';
import { type ItemTable, isItemTable } from './item-table';
import type { JobSpec } from './job';
import { parseRecordKey, recordKey, runIdOf } from './key';
import { type LogEntry, type Progress, isLogEntry, isProgress } from './log-entry';
import { asciiJson, isInstant, isObject } from './metadata';
import { type Origin, readOrigin } from './origin';
import { type RecordedError, isRecordedError } from './recorded-error';
import { type Row, dueOf, lostAttempt } from './row';

/** One attempt of a run. Times are ISO 8601 in UTC. */
export interface AttemptRecord {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Its fencing token. */
  readonly token: number;
  /** The deployment that made it. */
  readonly deployment: string;
  /** When its handler was called. Null, here and in `endedAt`, if its holder died or lost its lease. */
  readonly startedAt: string | null;
  /** When it was claimed, which may be ahead of the due time. Only after such an end. */
  readonly claimedAt?: string;
  /** `unknown` after such an end. */
  readonly handlerStarted?: 'unknown';
  /**
   * How long its handler waited because of `CRONLEASE_MAX_CONCURRENT_RUNS`. Absent if it did not, and for attempts of
   * another instance.
   */
  readonly waitedForConcurrencyMs?: number;
  /** How long it waited, before that, for a place in its `group`. Absent as above. */
  readonly waitedForGroupMs?: number;
  /** When it ended. */
  readonly endedAt: string | null;
  /**
   * An outcome of a run, `holderLost` (its holder died or lost its lease), `draining` (its instance was shut down), or
   * `planned` (its items followed).
   */
  readonly outcome: AttemptOutcome;
  /**
   * The error that the handler threw, or a `LeaseLostError` with the reason why the attempt lost its lease, if known.
   * Null if there is none, and for other attempts of another instance.
   */
  readonly error: RecordedError | null;
}

/** What became of one due time, or of a stretch of them. Times are ISO 8601 in UTC. */
export interface LedgerRecord {
  /** The job. */
  readonly job: string;
  /** The due time, or the oldest one of several. For a manual run, when it was requested. */
  readonly scheduledFor: string;
  /** `final`, or `open` for a run in progress. */
  readonly state: 'open' | 'final';
  /** The outcome. Null in a stored open record, for which commands print `running` or `retrying`. */
  readonly outcome: Outcome | null;
  /** The reason for the outcome. */
  readonly reason: Reason | null;
  /** What started the run: `schedule`, `catchUp`, `manual` or `backfill`. Null if nothing ran. */
  readonly trigger: Trigger | null;
  /** Who requested the run, from where and why. Absent if the schedule started it. */
  readonly origin?: Origin;
  /** For a rerun, the due time that its handler sees as its own. */
  readonly rerunOf?: string;
  /** The fencing token of the last attempt. Null if nothing ran. */
  readonly token: number | null;
  /** The run. */
  readonly runId: string;
  /** When the run was first claimed, or null. For `overlap` the run lasts from here to `endedAt`. */
  readonly claimedAt: string | null;
  /** When the handler was first called, as far as is known. */
  readonly startedAt: string | null;
  /** When the run ended. */
  readonly endedAt: string | null;
  /** How long after the due time that was; for a back-filled run, after its first claim. */
  readonly latenessMs: number | null;
  /**
   * How long the run waited between its attempts. The rest of the time between `startedAt` and `endedAt` is the
   * handler's. Absent if it did not wait.
   */
  readonly waitedMs?: number;
  /** The attempts, in order. */
  readonly attempts: readonly AttemptRecord[];
  /** The value that the handler returned, if any. */
  readonly result?: unknown;
  /** Up to 20 values in the result that JSON cannot represent, such as `rates.mean: NaN, kept as null`. */
  readonly resultChanges?: readonly string[];
  /** The newest due time, if the record covers several with one outcome. */
  readonly through?: string;
  /** How many due times it covers. Absent if their schedule was replaced. */
  readonly count?: number;
  /** The last progress of the last attempt or orchestration, if any. */
  readonly progress?: Progress;
  /** The items of a fan-out, as they were at its end. Absent if it planned none. */
  readonly items?: ItemTable;
  /** The id of its last Durable orchestration. Absent if it has none. */
  readonly orchestration?: string;
  /** What the handler logged, if anything. Lists of records omit it. */
  readonly log?: RecordLog;
  /** The id of its writer. */
  readonly execution?: string;
}

/** The handler's log, as far as its record holds it. */
export interface RecordLog {
  /** `inline`: all of it is in `entries`. `blob`: there may be more in the logs of the run, before these entries. */
  readonly kept: 'inline' | 'blob';
  /** The entries that were in no log when the run ended: 256 KB and a gap at most. */
  readonly entries: readonly LogEntry[];
}

/** Whether a record covers the unknown due times of a schedule that was replaced. */
export function isUncounted({ through, count }: LedgerRecord): boolean {
  return through !== undefined && count === undefined;
}

/** The record of a stretch of due times, or of a manual run, that did not run. */
export function stretchRecord(job: JobName, stretch: Stretch): { readonly key: string; readonly record: LedgerRecord } {
  const key = recordKey(stretch.from, stretch.request);
  const extent = extentOf(stretch);
  return {
    key,
    record: {
      job,
      scheduledFor: isoOf(stretch.from),
      state: 'final',
      outcome: stretch.outcome,
      reason: stretch.reason,
      trigger: null,
      token: null,
      runId: runIdOf(job, key),
      claimedAt: null,
      startedAt: null,
      endedAt: null,
      latenessMs: null,
      attempts: [],
      ...(extent.through === undefined ? {} : { ...extent, through: isoOf(extent.through) }),
    },
  };
}

/** The parts of a job that its records need. */
export type RecordedJob = Pick<JobSpec, 'name' | 'offsetMs'>;

/** The mark of a claim that may not be the first of its due time. */
export function openRecord(job: RecordedJob, row: Row, attempts: readonly AttemptRecord[]): LedgerRecord {
  return runRecord(job, row, attempts, { state: 'open', outcome: null, reason: null, endedAt: null });
}

/** The end of a run, as its record keeps it. */
export interface RecordedEnd extends Pick<LedgerRecord, 'progress' | 'log' | 'items' | 'orchestration'> {
  readonly outcome: ClaimedOutcome;
  readonly reason: Reason;
  readonly at: EpochMs;
  readonly result?: unknown;
  readonly resultChanges?: readonly string[];
}

export function finalRecord(
  job: RecordedJob,
  row: Row,
  attempts: readonly AttemptRecord[],
  end: RecordedEnd,
): LedgerRecord {
  const record = runRecord(job, row, attempts, {
    state: 'final',
    outcome: end.outcome,
    reason: end.reason,
    endedAt: isoOf(end.at),
  });
  const waitedMs = waitedBetween(attempts, end);
  return {
    ...record,
    ...(waitedMs === 0 ? {} : { waitedMs }),
    ...given({
      result: end.result,
      resultChanges: end.resultChanges,
      progress: end.progress,
      items: end.items,
      orchestration: end.orchestration,
      log: end.log,
    }),
  };
}

/**
 * The time in which no attempt ran between the first call of the handler and the end of the run. Items follow an
 * attempt that planned them, and it is not known when one ended whose holder died.
 */
export function waitedBetween(attempts: readonly AttemptRecord[], end: Pick<RecordedEnd, 'outcome' | 'at'>): Millis {
  let waited = 0;
  for (const [index, { endedAt, outcome }] of attempts.entries()) {
    if (endedAt === null || outcome === 'planned') continue;
    const next = attempts[index + 1];
    // The last attempt ends with its run, unless the run ended in the wait that followed.
    if (next === undefined && outcome === end.outcome) continue;
    const start = next?.startedAt ?? next?.claimedAt;
    const until = next === undefined ? end.at : start === undefined ? undefined : Date.parse(start);
    if (until !== undefined) waited += Math.max(0, until - Date.parse(endedAt));
  }
  return waited;
}

/** The handler's time of a run that is over: from its first call to the end, without the waits between its attempts. */
export function tookMs({
  startedAt,
  endedAt,
  waitedMs = 0,
}: Pick<LedgerRecord, 'startedAt' | 'endedAt' | 'waitedMs'>): Millis | undefined {
  if (startedAt === null || endedAt === null) return undefined;
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt) - waitedMs);
}

/**
 * The record of a run whose outcome is unknown. It has no execution: the row's is that of the last holder, which would
 * take the record for its own.
 */
export function unknownRecord(job: RecordedJob, row: Row): LedgerRecord {
  const attempts = attemptHistory([...row.past, lostAttempt(row)], []);
  const state = { state: 'final', outcome: 'failed', reason: 'outcomeUnknown', endedAt: null } as const;
  return runRecord(job, { ...row, execution: undefined }, attempts, state);
}

/** A stand-in for a record that cannot be read. */
export function unreadableRecord(job: JobName, key: string): LedgerRecord {
  return {
    job,
    scheduledFor: isoOf(parseRecordKey(key)?.scheduledFor ?? 0),
    state: 'final',
    outcome: 'failed',
    reason: 'outcomeUnknown',
    trigger: null,
    token: null,
    runId: runIdOf(job, key),
    claimedAt: null,
    startedAt: null,
    endedAt: null,
    latenessMs: null,
    attempts: [],
  };
}

function runRecord(
  job: RecordedJob,
  row: Row,
  attempts: readonly AttemptRecord[],
  state: Pick<LedgerRecord, 'state' | 'outcome' | 'reason' | 'endedAt'>,
): LedgerRecord {
  const { run } = row;
  if (run === undefined) throw new Error(`the row of job "${job.name}" has no run to record`);
  const startedAt = attempts.find((attempt) => attempt.startedAt !== null)?.startedAt ?? null;
  const due = dueOf(job, run);
  return {
    job: job.name,
    scheduledFor: isoOf(run.scheduledFor),
    ...state,
    trigger: run.trigger,
    ...given({ origin: run.origin }),
    ...(run.rerunOf === undefined ? {} : { rerunOf: isoOf(run.rerunOf) }),
    token: row.token,
    runId: runIdOf(job.name, run.key),
    claimedAt: isoOf(run.since),
    startedAt,
    latenessMs: startedAt === null ? null : Date.parse(startedAt) - due,
    attempts,
    ...given({ execution: row.execution }),
  };
}

/** The attempts that a row remembers. Those that the same orchestration made replace them, because it knows more. */
export function attemptHistory(
  past: readonly PastAttempt[],
  known: readonly AttemptRecord[],
): readonly AttemptRecord[] {
  const byNumber = new Map<number, AttemptRecord>();
  for (const { attempt, token, deployment, start, end, outcome, loss } of past) {
    const error = loss === undefined ? null : lossError(loss);
    const times =
      end === undefined
        ? ({ startedAt: null, claimedAt: isoOf(start), handlerStarted: 'unknown', endedAt: null } as const)
        : { startedAt: isoOf(start), endedAt: isoOf(end) };
    byNumber.set(attempt, { attempt, token, deployment, ...times, outcome, error });
  }
  for (const attempt of known) byNumber.set(attempt.attempt, attempt);
  return [...byNumber.values()].sort((a, b) => a.attempt - b.attempt);
}

/** The stored form of a record: its JSON, and the summary that a listing shows. */
export function storeRecord(record: LedgerRecord): { readonly body: string; readonly summary: Record<string, string> } {
  const { state, outcome, reason, trigger, token, startedAt, endedAt, through, count } = record;
  const summary: Record<string, string> = { state };
  const said = { log: record.log?.kept, progress: record.progress && asciiJson(record.progress) };
  const asked = { origin: record.origin && asciiJson(record.origin), rerunof: record.rerunOf };
  const times = { started: startedAt, ended: endedAt, waited: record.waitedMs, through };
  const fields = { outcome, reason, trigger, token, ...times, count, ...said, ...asked };
  for (const [key, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined) summary[key] = String(value);
  }
  return { body: asciiJson(record), summary };
}

/** A ledger record that cannot be parsed: something other than cronlease wrote it. */
export class ForeignRecordError extends Error {
  readonly code = 'ForeignRecord';
  override readonly name = 'ForeignRecordError';
}

/** Reads a stored record back. Throws {@link ForeignRecordError}. Decision 035. */
export function parseRecord(job: JobName, key: string, body: string): LedgerRecord {
  let parsed: unknown;
  if ((body.match(/[[{]/g)?.length ?? 0) > NESTED_AT_MOST && nestedIn(body) > NESTED_AT_MOST) {
    throw new ForeignRecordError(
      `ledger record "${key}" of job "${job}" has more than ${NESTED_AT_MOST} lists and objects`,
    );
  }
  try {
    parsed = JSON.parse(body);
  } catch (cause) {
    throw new ForeignRecordError(`ledger record "${key}" of job "${job}" is not JSON`, { cause });
  }
  if (parseRecordKey(key) === undefined || !isLedgerRecord(parsed)) {
    throw new ForeignRecordError(`ledger record "${key}" of job "${job}" was not written by cronlease`);
  }
  return withReadableLog(parsed);
}

/** Of the handler's own words, and of its items, what cannot be read is left out: it must not make a record foreign. */
function withReadableLog({ log, progress, items, orchestration, ...record }: LedgerRecord): LedgerRecord {
  return {
    ...record,
    ...(isItemTable(items) ? { items } : {}),
    ...(isText(orchestration) ? { orchestration } : {}),
    ...(isProgress(progress) ? { progress } : {}),
    ...(isRecordLog(log) ? { log: { kept: log.kept, entries: log.entries.filter(isLogEntry) } } : {}),
  };
}

/**
 * A result has at most 32 KB, which may be nothing but lists. A parsed list takes a hundred times the memory of its
 * text.
 */
const NESTED_AT_MOST = 100_000;

/** How many lists and objects a JSON text has, apart from brackets in its strings: a handler may log nothing else. */
function nestedIn(json: string): number {
  let nested = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (isText && char === '\\') at += 1;
    else if (char === '"') isText = !isText;
    else if (!isText && (char === '[' || char === '{')) nested += 1;
  }
  return nested;
}

function isLedgerRecord(value: unknown): value is LedgerRecord {
  if (!isObject(value)) return false;
  const { state, job, scheduledFor, attempts, latenessMs, through, count, origin, rerunOf, resultChanges } = value;
  return (
    isNullOr(origin, (who) => readOrigin(who) !== undefined) &&
    isNullOr(rerunOf, isTime) &&
    (state === 'open' || state === 'final') &&
    typeof job === 'string' &&
    isTime(scheduledFor) &&
    ['outcome', 'reason', 'trigger'].every((key) => isNullOr(value[key], isText)) &&
    ['startedAt', 'endedAt'].every((key) => isNullOr(value[key], isTime)) &&
    isNullOr(latenessMs, isNumber) &&
    isNullOr(value['waitedMs'], isNumber) &&
    isNullOr(through, isTime) &&
    isNullOr(count, isNumber) &&
    isNullOr(resultChanges, (texts) => Array.isArray(texts) && texts.every(isText)) &&
    Array.isArray(attempts) &&
    attempts.every(isAttemptRecord)
  );
}

function isRecordLog(value: unknown): value is RecordLog {
  if (!isObject(value)) return false;
  const { kept, entries } = value;
  return (kept === 'inline' || kept === 'blob') && Array.isArray(entries);
}

function isAttemptRecord(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { attempt, token, deployment, startedAt, waitedForConcurrencyMs, waitedForGroupMs, endedAt, outcome, error } =
    value;
  return (
    isNumber(attempt) &&
    isNumber(token) &&
    isText(deployment) &&
    isNullOr(startedAt, isTime) &&
    isNullOr(waitedForConcurrencyMs, isNumber) &&
    isNullOr(waitedForGroupMs, isNumber) &&
    isNullOr(endedAt, isTime) &&
    isText(outcome) &&
    isNullOr(error, (thrown) => isRecordedError(thrown))
  );
}

/** A member may be missing, because some versions do not write it. */
function isNullOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isTime(value: unknown): boolean {
  return isText(value) && isInstant(Date.parse(value));
}
