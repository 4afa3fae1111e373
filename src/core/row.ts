import { asideKey, readProgress, storeProgress } from './backfill';
import type { EpochMs, Millis, Token } from './brand';
import { type LastBeat, silentFrom } from './fan-out';
import { given } from './given';
import { type JobSpec, actualTime } from './job';
import { isRequestId, parseRecordKey } from './key';
import { notHere } from './layout';
import {
  type Field,
  type RecordOf,
  ForeignMetadataError,
  decodeFields,
  encodeFields,
  instantIn,
  isInstant,
  isoOrUndefined,
  lenientIn,
  listIn,
  membersOf,
  oneOfIn,
  optional,
  textIn,
  wholeIn,
} from './metadata';
import { type Asked, askedOf, readAsked } from './origin';
import { type Reason, type Stretch, TRIGGERS, type Trigger, UNRUN_OUTCOMES, extentOf } from './outcome';
import { readOwedNotices, storeOwed } from './owed-notice';
import { type PastAttempt, readPast, storePast } from './past-attempt';
import { decodeRecent, encodeRecent } from './recent';

/**
 * `idle`: nothing has run yet, or, with a run, its outcome is unknown ({@link isOutcomeUnknown}). `running`: an attempt
 * is running, or, with a final record, the run is settled. `settled`: it was, when that record was about to be deleted
 * by retention. `retrying`, `fanning`: the run waits for its not-before time.
 */
const PHASES = ['idle', 'running', 'settled', 'retrying', 'fanning'] as const;
/** How many past attempts of a run its row remembers. */
export const PAST_ATTEMPTS = 10;
/** How many stretches a row may owe. A blob's metadata is limited to 8 KB. */
export const OWED_STRETCHES = 16;

/** The current or last run of a job. */
export interface RunRef extends Asked {
  /** Its record's key, which is its identity. */
  readonly key: string;
  readonly scheduledFor: EpochMs;
  readonly trigger: Trigger;
  /** The service's Date of its first acquisition. */
  readonly since: EpochMs;
}

/** From when to when a run stood still: see `standsFrom`. */
export interface Standstill {
  readonly from: EpochMs;
  readonly until: EpochMs;
}

const TRIGGER = oneOfIn('trigger', TRIGGERS);
const SINCE = instantIn('since');
const ASKED = listIn('asked', readAsked);

const RUN: Field<RunRef | undefined> = {
  read(metadata) {
    const key = metadata['run'];
    if (key === undefined) return undefined;
    const parts = parseRecordKey(key);
    if (parts === undefined) throw new ForeignMetadataError('run', key, "a ledger record's key");
    const { scheduledFor } = parts;
    const [asked] = ASKED.read(metadata);
    return { key, scheduledFor, trigger: TRIGGER.read(metadata), since: SINCE.read(metadata), ...asked };
  },
  write(run, metadata) {
    if (run === undefined) return;
    const asked = askedOf(run);
    metadata['run'] = run.key;
    TRIGGER.write(run.trigger, metadata);
    SINCE.write(run.since, metadata);
    ASKED.write(Object.keys(asked).length === 0 ? [] : [asked], metadata);
  },
};

/** A job's row: the metadata of `jobs/<job>/lease`, which only the lease holder writes. */
const ROW = {
  token: wholeIn<Token>('token'),
  /** The latest due time whose outcome is decided. */
  cursor: instantIn('cursor'),
  /** Ledger records still to be written. On an available row they are already written. */
  owed: listIn('owed', readStretch, storeStretch),
  /** Notices still to be created. On an available row they exist. */
  telling: lenientIn('notices', readOwedNotices, storeOwed),
  run: RUN,
  /** When the last run ended, if due times passed during it. */
  busyUntil: optional(instantIn('busyuntil')),
  /** When no instance was at work on that run, long after its holder had died: nothing overlaps with that. */
  stood: listIn('stood', membersOf<Standstill>({ from: isInstant, until: isInstant })),
  /** The execution that made the last claim: it recognises its own write if the answer was lost. */
  execution: optional(textIn('execution')),
  phase: oneOfIn('phase', PHASES),
  /** Number of the run's current attempt, from 1; grows with every claim of the run. */
  attempt: wholeIn('attempt'),
  /** Attempts that do not count: drained ones, those whose items continued, and those lost before their mark. */
  uncountedAttempts: wholeIn('drained'),
  /** When the current attempt planned to call its handler: at the due time, or at once. */
  started: optional(instantIn('started')),
  /** When the current attempt was claimed. Undefined: no run was claimed yet. */
  claimedAt: optional(instantIn('claimedat')),
  past: listIn('past', readPast, storePast),
  /** When a waiting run may be claimed again; 0: at once. */
  notBefore: optional(instantIn('notbefore')),
  /** When the last process with items of a `fanning` run left them in its shutdown: any tick resumes it. */
  itemsLeftAt: optional(instantIn('itemsleft')),
  /** The deployment whose tick won the job last. */
  incumbent: optional(textIn('incumbent')),
  /** The lease length of the last claim. Its holder's jobs file may differ from ours. */
  leaseMs: optional(wholeIn('leasems')),
  /** The `keep` of the last claim's jobs file. Undefined: no run was claimed yet. */
  keepMs: optional(wholeIn('keepms')),
  /** Failed runs in a row. */
  failures: wholeIn('failures'),
  /** The record key of the last run counted in `failures`, so that each run counts once. */
  lastFailedKey: optional(textIn('failed')),
  /** `failures` before the current run, if its success has set them to 0. The last failed key is then gone. */
  failedBefore: optional(wholeIn('failedbefore')),
  /**
   * When the job last succeeded, was paused or disabled, or was first seen: `alertAfter` counts from here. The ledger may
   * hold a later success.
   */
  lastGoodAt: instantIn('succeeded'),
  /** The last outcomes that writes made anyway could note, oldest first: for lists and the next lease's length. */
  recent: lenientIn('recent', decodeRecent, encodeRecent),
  revision: wholeIn('revision'),
  scheduleHash: textIn('hash'),
  /** The cursor at the adoption of this schedule: each due time since then has its outcome, for `recover`. */
  scheduleSince: instantIn('hashsince'),
  /** Number of the last manual run that was taken. */
  manualTaken: wholeIn('manualtaken'),
  /** How far the last back-fill is. */
  backfill: lenientIn('backfill', readProgress, storeProgress),
  /** When an operator forgot the job. If the file has it again, the job counts as new. */
  forgotten: optional(instantIn('forgotten')),
  /** When a sweep saw that no deployment's file has the job. If one has it again, its due times count from then. */
  leftSince: optional(instantIn('leftsince')),
};

export interface Row extends RecordOf<typeof ROW> {}

/** Most readers of a row do not need its last outcomes, which are the largest part. */
const { recent: RECENT, ...EAGER } = ROW;

/** From here lateness counts: the actual due time, the request, or for a back-filled run its turn. */
export function dueOf(
  job: Pick<JobSpec, 'offsetMs'>,
  run: Pick<RunRef, 'scheduledFor' | 'trigger' | 'since'>,
): EpochMs {
  if (run.trigger === 'backfill') return run.since;
  return run.trigger === 'manual' ? run.scheduledFor : actualTime(job, run.scheduledFor);
}

/** An attempt whose holder died. */
export function lostAttempt(row: Row): PastAttempt {
  return {
    attempt: row.attempt,
    token: row.token,
    deployment: row.incumbent ?? 'unknown',
    start: row.claimedAt ?? row.started ?? row.run?.since ?? 0,
    end: undefined,
    outcome: 'holderLost',
  };
}

/** The row as if the back-filled run that waits while due times go first were its own. Undefined: there is none. */
export function asideRow(row: Row): Row | undefined {
  const { backfill } = row;
  const key = asideKey(backfill);
  if (backfill?.aside === undefined || key === undefined) return undefined;
  const { scheduledFor, since, ...attempts } = backfill.aside;
  const run = { key, scheduledFor, trigger: 'backfill', since } as const;
  return { ...row, ...attempts, run, phase: 'retrying', backfill: { ...backfill, aside: undefined } };
}

/** A new row, which owes nothing before `cursor`. */
export function newRow(cursor: EpochMs, revision: number, scheduleHash: string): Row {
  return {
    token: 0 as Token,
    cursor,
    owed: [],
    telling: [],
    run: undefined,
    busyUntil: undefined,
    stood: [],
    execution: undefined,
    phase: 'idle',
    attempt: 0,
    uncountedAttempts: 0,
    started: undefined,
    claimedAt: undefined,
    past: [],
    notBefore: undefined,
    itemsLeftAt: undefined,
    incumbent: undefined,
    leaseMs: undefined,
    keepMs: undefined,
    failures: 0,
    lastFailedKey: undefined,
    failedBefore: undefined,
    lastGoodAt: cursor,
    recent: [],
    revision,
    scheduleHash,
    scheduleSince: cursor,
    manualTaken: 0,
    backfill: undefined,
    forgotten: undefined,
    leftSince: undefined,
  };
}

/** The row of a job that was deleted from the file. It keeps the values that must never go back. */
export function forgottenRow(row: Row, at: EpochMs): Row {
  const { token, cursor, manualTaken, revision, scheduleHash } = row;
  return { ...newRow(cursor, revision, scheduleHash), token, manualTaken, forgotten: at };
}

/**
 * Whether the row's run ended with an unknown outcome. Its record, `failed` with reason `outcomeUnknown`, is written
 * under the lease of the row's last write; on an available row it exists. Older versions take such a row for a settled
 * one, and do not run it again.
 */
export function isOutcomeUnknown({ run, phase }: Row): boolean {
  return run !== undefined && phase === 'idle';
}

/** Whether no run is in progress. No instance releases a running row before its final record exists. */
export function isAtRest({ phase }: Pick<Row, 'phase'>, lease: string | undefined): boolean {
  return phase === 'idle' || phase === 'settled' || (phase === 'running' && lease === 'available');
}

/**
 * How long the final record of the row's run is kept at least. The file's `keep` may have changed since the claim, so
 * the shorter one counts.
 *
 * @param keepMs the current jobs file's
 */
export function keptForMs({ keepMs: claimed = Infinity }: Row, keepMs: Millis): Millis {
  return Math.min(keepMs, claimed);
}

/**
 * Whether retention may have deleted the final record of the row's run, so that an absent record proves nothing.
 *
 * @param keepMs the current jobs file's
 * @param date the service's time
 */
export function mayRecordBeGone(row: Row, keepMs: Millis, date: EpochMs): boolean {
  return row.run !== undefined && date - row.run.since > keptForMs(row, keepMs);
}

/** The first cursor of a job that is first seen at `date`. An `@at` job that is seen late is still due. */
export function firstCursor({ at }: Pick<JobSpec, 'at'>, date: EpochMs): EpochMs {
  return at === undefined ? date : Math.min(date, at - 1);
}

/** The row as metadata: lowercase keys, printable ASCII. */
export function encodeRow(row: Row): Readonly<Record<string, string>> {
  return encodeFields<Row>(ROW, { ...row, past: row.past.slice(-roomForPast(row)) });
}

/** The attempts of a run that is aside take some of the room, and standstills that of one attempt. */
function roomForPast({ backfill, stood }: Row): number {
  return PAST_ATTEMPTS - (backfill?.aside?.past.length ?? 0) - Math.min(1, stood.length);
}

/** Throws {@link ForeignMetadataError} when the metadata is not a row's. */
export function decodeRow(metadata: Readonly<Record<string, string>>): Row {
  let recent: Row['recent'] | undefined;
  return {
    ...decodeFields<Omit<Row, 'recent'>>(EAGER, metadata, notHere(metadata)),
    get recent() {
      recent ??= RECENT.read(metadata);
      return recent;
    },
  };
}

/** A row's times are in the past, or ahead by at most a back-off or a deadline. */
export const AHEAD_AT_MOST_MS = 366 * 24 * 3_600_000;

/**
 * Rejects a row that would keep its job waiting for years.
 *
 * @param at the service's Date when it showed the row
 * @throws ForeignMetadataError
 */
export function checkAhead(row: Row, at: EpochMs): void {
  const times = { cursor: row.cursor, notbefore: row.notBefore, busyuntil: row.busyUntil };
  for (const [key, instant = 0] of Object.entries(times)) {
    if (instant > at + AHEAD_AT_MOST_MS) {
      throw new ForeignMetadataError(key, isoOrUndefined(instant), 'a time that is at most a year ahead');
    }
  }
}

function storeStretch(stretch: Stretch): unknown {
  const { outcome, reason, from, request } = stretch;
  // A short name, because a row may owe many, and its size is limited.
  return { end: outcome, reason, from, ...extentOf(stretch), request };
}

function readStretch(member: Readonly<Record<string, unknown>>): Stretch | undefined {
  const { from, reason, request } = member;
  const outcome = UNRUN_OUTCOMES.find((candidate) => candidate === member['end']);
  const through = member['through'] ?? from;
  // A stretch without a count may begin and end at one instant; a single due time has no separate `through`.
  const count = member['count'] ?? (member['through'] === undefined ? 1 : 0);
  if (outcome === undefined || typeof reason !== 'string') return undefined;
  if (!isInstant(from) || !isInstant(through)) return undefined;
  if (typeof count !== 'number' || !Number.isSafeInteger(count)) return undefined;
  if (request !== undefined && !isRequestId(request)) return undefined;
  return { outcome, reason: reason as Reason, from, through, count, ...given({ request }) };
}

/** How many standstills of one run a row remembers. */
export const STANDSTILLS = 3;

/** A waiting run's own orchestration has this long to resume it; then a tick does. */
export const RESUME_AFTER_MS: Millis = 10_000;

/** The longest that a holder may be at work, and its lease. */
export interface HolderLimits {
  readonly attemptLimitMs: Millis;
  readonly leaseMs: Millis;
}

/**
 * The instant from which no instance can have been at work on a row's run that is not over: its holder's lease had
 * ended, or its next attempt was overdue. Storage shows neither a renewal nor a death, so the holder counts as alive
 * for as long as an attempt lasts. Undefined: it is settled. Decision 009.
 *
 * @param beat the last beat of its items, if it was read
 */
export function standsFrom(row: Row, limits: HolderLimits, beat?: LastBeat): EpochMs | undefined {
  const { run, phase, notBefore = 0, itemsLeftAt, past } = row;
  if (run === undefined) return undefined;
  const leaseMs = Math.max(limits.leaseMs, row.leaseMs ?? 0);
  const attemptEnds = Math.max(run.since, row.claimedAt ?? 0, row.started ?? 0) + limits.attemptLimitMs;
  switch (phase) {
    case 'idle':
    case 'settled':
      return undefined;
    case 'running':
      return attemptEnds + leaseMs;
    case 'retrying': {
      const last = past.at(-1);
      const ended = last?.attempt === row.attempt ? last.end : undefined;
      return (notBefore === 0 ? (ended ?? attemptEnds) : notBefore) + RESUME_AFTER_MS + leaseMs;
    }
    case 'fanning': {
      const left = itemsLeftAt === undefined ? Infinity : itemsLeftAt + RESUME_AFTER_MS;
      const silent = beat === undefined ? Infinity : silentFrom(beat);
      return Math.min(notBefore + leaseMs, left + leaseMs, silent);
    }
  }
}

/** The row with the time until `now` for which its run stood still, if it did. Of more than a few, the last ones stay. */
export function withStandstill(row: Row, from: EpochMs | undefined, now: EpochMs): Row {
  if (from === undefined || from >= now) return row;
  return { ...row, stood: [...row.stood, { from, until: now }].slice(-STANDSTILLS) };
}

/** The standstill of the row's run in which an instant lies. */
export function standstillAt({ stood }: Pick<Row, 'stood'>, instant: EpochMs): Row['stood'][number] | undefined {
  return stood.find(({ from, until }) => from <= instant && instant < until);
}
