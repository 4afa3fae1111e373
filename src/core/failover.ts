import { asideKey } from './backfill';
import type { EpochMs, Token, Millis } from './brand';
import { type Control, type ManualRun, pendingManualRuns, takenManualRuns } from './control';
import { claimTime } from './decide/verdict';
import { longestWait } from './early-claim';
import type { JobSpec } from './job';
import { recordKey, parseRecordKey } from './key';
import { beforeEnd } from './notice';
import type { Reason, RanOutcome, Stretch, UnrunOutcome } from './outcome';
import type { OwedNotice } from './owed-notice';
import type { PastAttempt } from './past-attempt';
import { type Row, PAST_ATTEMPTS, lostAttempt, AHEAD_AT_MOST_MS } from './row';

/** The assumed `keep` of a job that is not in the jobs file. */
const KEEP_MS = 90 * 24 * 3_600_000;

/** How far before `until` lost records are looked for. */
const SEARCH_BACK_MS = 7 * 24 * 3_600_000;

/** A ledger record as a listing shows it. */
export interface RecordView {
  readonly key: string;
  readonly scheduledFor: EpochMs;
  /** The newest due time of a stretch; otherwise `scheduledFor`. */
  readonly through: EpochMs;
  /** A manual run's id; undefined: a due time, or a term of a leader job. */
  readonly request: string | undefined;
  readonly state: 'open' | 'final';
  readonly token: number | undefined;
}

/** Everything known of a job after its storage account has failed over. */
export interface Wreck {
  /** Undefined: the job is not in the file, so its due times are unknown. */
  readonly spec: JobSpec | undefined;
  readonly row: Row;
  readonly control: Control;
  /** At least those of due times after {@link listedFrom}, and the one before. */
  readonly records: readonly RecordView[];
  /** The state of the record of the row's run. */
  readonly runRecord: 'none' | 'open' | 'final';
  /** Whether the back-filled run that waits while due times go first has a final record. */
  readonly isAsideOver?: boolean;
  /** The ids of the control's manual runs that have a record. */
  readonly recordedManualRuns: ReadonlySet<string>;
  /** The storage service's time. */
  readonly now: EpochMs;
}

export interface RecoverChoices {
  /** A due time up to here that has no record may or may not have run. */
  readonly until: EpochMs;
  readonly raiseBy: number;
  /** What to do with an interrupted run whose outcome is unknown. */
  readonly runs: 'resume' | 'rerun' | 'fail';
}

export type RunRecovery =
  /** It is over: by its final record, by the row, or since retention has deleted its record. */
  | { readonly kind: 'settled' }
  /** The next tick claims the next attempt. */
  | { readonly kind: 'goesOn' }
  | { readonly kind: 'waits' }
  | { readonly kind: 'ends'; readonly outcome: RanOutcome; readonly reason: Reason };

export interface Recovery {
  /** The recovered row; `owed` is empty, and `telling` has the notices that must exist before the release. */
  readonly row: Row;
  readonly run: RunRecovery | undefined;
  /** Due times and manual runs whose outcome is unknown, oldest first. */
  readonly stretches: readonly Stretch[];
  /** Keys of open records that no row continues, and that of a back-filled run which has waited. */
  readonly abandoned: readonly string[];
}

/**
 * Repairs a job after an asynchronous failover of its storage account. Each of its blobs may have returned to its own
 * instant: the row may be older than its ledger, its control and the work that was done, and any record that is older
 * than the row may be missing, or be open again. Cursor and token never go back, and a recorded due time keeps its one
 * outcome.
 */
export function afterFailover(wreck: Wreck, choices: RecoverChoices): Recovery {
  const { spec, row, records } = wreck;
  const highest = records.reduce((most, record) => Math.max(most, record.token ?? 0), Number(row.token));
  const token = (highest + choices.raiseBy) as Token;
  // Its back-fill ends, and so does it.
  const aside = wreck.isAsideOver === true ? undefined : asideKey(row.backfill);
  const open = records
    .filter(({ state, key }) => state === 'open' && key !== row.run?.key && key !== aside)
    .map(({ key }) => key);
  const abandoned = aside === undefined ? open : [...open, aside];
  if (row.forgotten !== undefined) return { row: { ...row, token }, run: undefined, stretches: [], abandoned };
  const run = recoverRun(wreck, choices);
  const due = spec === undefined ? undecidable(wreck) : dueTimes(wreck, spec, choices.until);
  const manualRuns =
    spec === undefined ? { taken: row.manualTaken, stretches: [] } : lostManualRuns(wreck, choices.until);
  return {
    row: {
      ...runAfter(isOver(run) ? row : beforeEnd(row), run, wreck, choices),
      telling: tellingAfter(row, run),
      token,
      cursor: due.cursor,
      owed: [],
      execution: undefined,
      manualTaken: manualRuns.taken,
      backfill: endedBackfill(wreck),
    },
    run,
    stretches: [...manualRuns.stretches, ...due.stretches],
    abandoned,
  };
}

/** The instant after which all records of a job are needed. A run may have been recorded long after its due time. */
export function listedFrom({ cursor }: Pick<Row, 'cursor'>, until: EpochMs): EpochMs {
  return Math.min(cursor, until - SEARCH_BACK_MS);
}

/** A due time after this without a record has lost it: until then, retention or another schedule explains that. */
function decidedSince(wreck: Wreck, until: EpochMs): EpochMs {
  const { spec, row } = wreck;
  const { cursor, scheduleSince } = row;
  if (spec?.scheduleHash !== row.scheduleHash) return cursor;
  return Math.min(cursor, Math.max(scheduleSince, keptSince(wreck), until - SEARCH_BACK_MS));
}

/** Retention deletes no record of a later time. The file's `keep` may have changed since the row's last claim. */
function keptSince({ spec, row: { keepMs = Infinity }, now }: Wreck): EpochMs {
  return now - Math.min(spec?.keepMs ?? KEEP_MS, keepMs);
}

/**
 * What shows in a row that its run ends by this recovery, until the ledger has that end: the raised token hides that a
 * later run was claimed. For a tick, its end is unknown.
 */
export const ENDING = { phase: 'idle', notBefore: 0 } as const;

function recoverRun(wreck: Wreck, { runs }: RecoverChoices): RunRecovery | undefined {
  const { spec, row, records, runRecord } = wreck;
  const { run } = row;
  if (run === undefined) return undefined;
  if (row.phase === 'idle') {
    const isEnding = row.notBefore === ENDING.notBefore;
    if (runRecord === 'final') return isEnding ? { kind: 'settled' } : undefined;
    return { kind: 'ends', outcome: 'failed', reason: isEnding ? 'failedOver' : 'outcomeUnknown' };
  }
  if (runRecord === 'final') return { kind: 'settled' };
  if (row.phase === 'settled') return { kind: 'settled' };
  // The record existed once, and retention has deleted it.
  if (row.phase === 'running' && runRecord === 'none' && run.since < keptSince(wreck)) return { kind: 'settled' };
  // No instance claims before the last run is over. A later claim has a record, so this run was over and its record is
  // lost.
  const wasOver = records.some((record) => record.key !== run.key && (record.token ?? 0) > row.token);
  if (wasOver || runs === 'fail') return { kind: 'ends', outcome: 'failed', reason: 'failedOver' };
  if (runs === 'rerun') return { kind: 'goesOn' };
  if (row.phase === 'retrying') return { kind: 'waits' };
  const usedUp =
    row.phase === 'running' && spec !== undefined && row.attempt - row.uncountedAttempts >= spec.retry.attempts;
  return usedUp ? { kind: 'ends', outcome: 'failed', reason: 'holderLost' } : { kind: 'goesOn' };
}

function isOver(run: RunRecovery | undefined): boolean {
  return run === undefined || run.kind === 'settled';
}

/** A run that continues decides its notices again. If it ends here, it has failed, and the job has not recovered. */
function tellingAfter({ run: own, telling }: Row, run: RunRecovery | undefined): readonly OwedNotice[] {
  if (isOver(run)) return telling;
  return telling.filter(({ of, change }) => of !== own?.key || (run?.kind === 'ends' && change !== 'recovered'));
}

/** The row with its run recovered. A run that continues waits for any tick, so that the lease can be released. */
function runAfter(row: Row, run: RunRecovery | undefined, { runRecord }: Wreck, { runs }: RecoverChoices): Row {
  switch (run?.kind) {
    case undefined:
    case 'waits':
      return row;
    case 'settled':
      // Where no record shows that it is over, the row says so itself.
      return { ...row, phase: runRecord === 'final' ? 'running' : 'settled', notBefore: undefined };
    case 'ends':
      if (run.reason === 'outcomeUnknown') return row;
      return { ...row, phase: 'running', notBefore: undefined, past: pastOf(row) };
    case 'goesOn':
      return {
        ...row,
        // Items are bound to the token of their plan. Finished ones stand; the rest are planned again.
        phase: 'retrying',
        notBefore: 0,
        past: pastOf(row),
        // An attempt that an operator repeats does not count.
        uncountedAttempts: row.uncountedAttempts + (runs === 'rerun' && row.phase === 'running' ? 1 : 0),
      };
  }
}

/** The attempts that are over, the interrupted one included. */
function pastOf(row: Row): readonly PastAttempt[] {
  return row.phase === 'running' ? [...row.past, lostAttempt(row)].slice(-PAST_ATTEMPTS) : row.past;
}

interface Decided {
  readonly cursor: EpochMs;
  readonly stretches: readonly Stretch[];
}

function undecidable({ row, records }: Wreck): Decided {
  return { cursor: Math.max(row.cursor, newestDecided(records)), stretches: [] };
}

function newestDecided(records: readonly RecordView[]): EpochMs {
  return records.reduce(
    (newest, { request, through }) => (request === undefined ? Math.max(newest, through) : newest),
    0,
  );
}

/** Gives each due time without a record its outcome. A stretch never spans a recorded one. */
function dueTimes(wreck: Wreck, spec: JobSpec, until: EpochMs): Decided {
  const { row, records } = wreck;
  const { timetable } = spec;
  const newest = spec.kind === 'timed' ? newestDecided(records) : 0;
  const limit = Math.max(row.cursor, newest, until - spec.offsetMs);
  const decided = decidedSpans(wreck);
  const [outcome, reason] = outcomeOf(wreck, spec);
  const stretches: Stretch[] = [];
  let open: Stretch | undefined;
  let passed = 0;
  for (let at = timetable.next(decidedSince(wreck, until)); at !== undefined && at <= limit; at = timetable.next(at)) {
    while ((decided[passed]?.through ?? Infinity) < at) passed += 1;
    if ((decided[passed]?.from ?? Infinity) <= at) {
      open = undefined;
      continue;
    }
    if (open !== undefined) {
      open = { ...open, through: at, count: open.count + 1 };
      stretches[stretches.length - 1] = open;
    } else {
      open = { outcome, reason, from: at, through: at, count: 1 };
      stretches.push(open);
    }
  }
  return { cursor: limit, stretches };
}

type Span = Pick<Stretch, 'from' | 'through'>;

/** The due times that have a record, or will have one: from the row's debts, or from its own run. By their ends. */
function decidedSpans({ row: { run, owed }, records }: Wreck): readonly Span[] {
  const recorded = records
    .filter(({ request }) => request === undefined)
    .map(({ scheduledFor, through }): Span => ({ from: scheduledFor, through }));
  const own =
    run?.key === recordKey(run?.scheduledFor ?? 0) ? [{ from: run.scheduledFor, through: run.scheduledFor }] : [];
  return [...recorded, ...owed.filter(({ request }) => request === undefined), ...own].sort(
    (a, b) => a.through - b.through,
  );
}

/**
 * A due time of a disabled job cannot have run. Nothing is known of any other, even in a pause: the end of the pause
 * may be lost, and a due time at its beginning may have been claimed before.
 */
function outcomeOf({ row }: Wreck, spec: JobSpec): readonly [UnrunOutcome, Reason] {
  if (!spec.enabled && spec.scheduleHash === row.scheduleHash) return ['disabled', 'disabled'];
  return ['expired', 'failedOver'];
}

/** It is not known what a back-fill has run, so it ends: a person may start another one. */
export function endedBackfill({ control: { backfill } }: Pick<Wreck, 'control'>): Row['backfill'] {
  if (backfill === undefined) return undefined;
  const { id, order, from, through } = backfill;
  return { id, at: order === 'oldest' ? through : from, ran: 0, skipped: 0, aside: undefined };
}

interface LostManualRuns {
  readonly taken: number;
  readonly stretches: readonly Stretch[];
}

/** A lost row may have taken a manual run that still waits; one that is taken may have lost its record. */
function lostManualRuns(wreck: Wreck, until: EpochMs): LostManualRuns {
  const { row, control, recordedManualRuns } = wreck;
  const old = pendingManualRuns(control, row.manualTaken).filter(({ time }) => time <= until);
  const known = takenManualRuns(control, row.manualTaken);
  const taken = known.filter(({ time }) => time > keptSince(wreck));
  const hasNone = ({ id, time }: ManualRun): boolean =>
    !recordedManualRuns.has(id) &&
    row.run?.key !== recordKey(time, id) &&
    !row.owed.some(({ request }) => request === id);
  return {
    taken: Math.max(row.manualTaken, ...[...known, ...old].map(({ number }) => number)),
    stretches: [...taken, ...old].filter(hasNone).map(manualStretch),
  };
}

function manualStretch({ id, time }: ManualRun): Stretch {
  return { outcome: 'expired', reason: 'failedOver', from: time, through: time, count: 1, request: id };
}

/** A record of the ledger as a listing shows it. */
interface ListedRecord {
  readonly key: string;
  readonly summary: Readonly<Record<string, string>>;
}

/** A claim takes longer than this: four storage calls and a hand-over through the task hub. */
const CLAIM_AT_LEAST_MS: Millis = 10;
/** A record with a higher one was not written by cronlease, and would use up all numbers. */
const TOKEN_AT_MOST = 2 ** 52;
/** How far a record's start may lie after its claim: the look-ahead, and clocks that disagree. */
const BEFORE_START_MS: Millis = 60_000;
/** No deployment claims longer before a due time than this, and none longer ahead of its listing. */
const LOOK_AHEAD_MS: Millis = longestWait(60_000);
const CLOCK_MS: Millis = 1_000;

/** What is known of a job that has records and no row. */
export interface LostRow {
  readonly job: JobSpec;
  /** The row of a job that is seen for the first time. */
  readonly fresh: Row;
  /** The newest records, in the order of their keys, back to one with a token if there is one. */
  readonly records: readonly ListedRecord[];
  readonly control: Control;
  /** The service's time. No row has been there for a while, so nothing was claimed later. */
  readonly now: EpochMs;
}

/**
 * The row of a job whose row was deleted while its ledger remained. Nothing that may have run runs again: Decision 033.
 *
 * - The token is above every one that was ever given out. The newest records miss claims that were never recorded, and
 *   back-filled runs, whose keys are old and whose tokens may be the highest. Each of these was claimed after the
 * newest
 *   record's run, and a claim takes time, so the time since then bounds their number.
 * - The cursor is at the present or at the newest recorded due time, whichever is later, and beyond all that may have
 *   been claimed ahead.
 * - Manual runs that wait may have been taken, and it is not known what a back-fill has run: both are over.
 */
export function rowAfterLoss({ job, fresh, records, control, now }: LostRow): Row {
  let token = 0;
  let claimedAfter: EpochMs = 0;
  let newest: EpochMs = 0;
  for (const { key, summary } of records) {
    const parts = parseRecordKey(key);
    // A key of years ahead is not cronlease's, and would stop the job until then.
    if (parts === undefined || parts.scheduledFor > now + AHEAD_AT_MOST_MS) continue;
    const through = Date.parse(summary['through'] ?? '');
    const last = through <= now + AHEAD_AT_MOST_MS ? through : parts.scheduledFor;
    if (parts.request === undefined) newest = Math.max(newest, last);
    const own = Number(summary['token'] ?? 0);
    if (!Number.isSafeInteger(own) || own <= token || own > TOKEN_AT_MOST) continue;
    token = own;
    const started = Date.parse(summary['started'] ?? '');
    claimedAfter = (Number.isNaN(started) ? parts.scheduledFor : started) - BEFORE_START_MS;
  }
  const claims = Math.ceil(Math.max(0, now - claimedAfter) / CLAIM_AT_LEAST_MS);
  const cursor = claimedUpTo(job, Math.max(fresh.cursor, now, newest), now);
  return {
    ...fresh,
    token: (token + claims) as Token,
    cursor,
    scheduleSince: cursor,
    manualTaken: Math.max(0, ...control.manualRuns.map(({ number }) => number)),
    backfill: endedBackfill({ control }),
  };
}

/** The newest due time that may have been claimed by `now`, or `from` if there is none after it. */
function claimedUpTo(job: JobSpec, from: EpochMs, now: EpochMs): EpochMs {
  let cursor = from;
  for (;;) {
    const due = job.timetable.next(cursor);
    if (due === undefined || claimTime(job, due, LOOK_AHEAD_MS) > now + CLOCK_MS) return cursor;
    cursor = due;
  }
}
