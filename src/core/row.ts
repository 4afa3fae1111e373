import { given } from './given';
import type { EpochMs, Millis, Token } from './brand';
import { type BackfillProgress, asideKey, readProgress, storeProgress } from './backfill';
import { type Reason, type Stretch, TRIGGERS, type Trigger, UNRUN_OUTCOMES, extentOf } from './outcome';
import { type JobSpec, actualTime } from './job';
import { isRequestId, parseRecordKey } from './key';
import { ForeignMetadataError, isInstant, isoOrUndefined, MetadataReader, writeMetadata } from './metadata';
import { type Asked, askedOf, readAsked } from './origin';
import { notHere } from './layout';
import { type OwedNotice, readOwedNotices, storeOwed } from './owed-notice';
import { type PastAttempt, readPast, storePast } from './past-attempt';
import { type Recent, decodeRecent, encodeRecent } from './recent';

const PHASES = ['idle', 'running', 'settled', 'retrying', 'fanning'] as const;
/** How many past attempts of a run its row remembers. */
export const PAST_ATTEMPTS = 10;
/** How many stretches a row may owe. A blob's metadata is limited to 8 KB. */
export const OWED_STRETCHES = 16;

/**
 * `idle`: nothing has run yet, or, with a run, its outcome is unknown ({@link isOutcomeUnknown}). `running`: an attempt
 * is running, or, with a final record, the run is settled. `settled`: it was, when that record was about to be deleted
 * by retention. `retrying`, `fanning`: the run waits for its not-before time.
 */
export type Phase = (typeof PHASES)[number];

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

/** A job's row: the metadata of `jobs/<job>/lease`, which only the lease holder writes. */
export interface Row {
  readonly token: Token;
  /** The latest due time whose outcome is decided. */
  readonly cursor: EpochMs;
  /** Ledger records still to be written. On an available row they are already written. */
  readonly owed: readonly Stretch[];
  /** Notices still to be created. On an available row they exist. */
  readonly telling: readonly OwedNotice[];
  readonly run: RunRef | undefined;
  /** When the last run ended, if due times passed during it. */
  readonly busyUntil: EpochMs | undefined;
  /**
   * The times in which no instance was at work on that run, long after its holder had died: nothing overlaps with them.
   */
  readonly stood: readonly Standstill[];
  /**
   * Id of the execution that made the last claim. An execution whose answer was lost recognises its own write by it.
   */
  readonly execution: string | undefined;
  readonly phase: Phase;
  /** Number of the run's current attempt, from 1; grows with every claim of the run. */
  readonly attempt: number;
  /**
   * How many attempts do not count: drained ones, those whose items continued without them, and those lost before their
   * mark.
   */
  readonly uncountedAttempts: number;
  /** When the current attempt planned to call its handler: at the due time, or at once. */
  readonly started: EpochMs | undefined;
  /** When the current attempt was claimed. Undefined: no run was claimed yet. */
  readonly claimedAt: EpochMs | undefined;
  readonly past: readonly PastAttempt[];
  /** When a waiting run may be claimed again; 0: at once. */
  readonly notBefore: EpochMs | undefined;
  /**
   * When the last process that worked on the items of a `fanning` run left them in its shutdown: any tick resumes it.
   */
  readonly itemsLeftAt: EpochMs | undefined;
  /** The deployment whose tick won the job last. */
  readonly incumbent: string | undefined;
  /** The lease length of the last claim. Its holder's jobs file may differ from ours. */
  readonly leaseMs: Millis | undefined;
  /** The `keep` of the last claim's jobs file. Undefined: no run was claimed yet. */
  readonly keepMs: Millis | undefined;
  /** Failed runs in a row. */
  readonly failures: number;
  /** The record key of the last run counted in `failures`, so that each run counts once. */
  readonly lastFailedKey: string | undefined;
  /**
   * Failed runs in a row before the current run, if there were any and its success has set `failures` to 0. The last
   * failed key is then gone.
   */
  readonly failedBefore: number | undefined;
  /**
   * When the job last succeeded, was paused or disabled, or was first seen: `alertAfter` counts from here. The ledger
   * may hold a later success.
   */
  readonly lastGoodAt: EpochMs;
  /**
   * The last outcomes, oldest first, as far as writes that were made anyway could note them. For lists, and
   * for the length of the next lease.
   */
  readonly recent: readonly Recent[];
  readonly revision: number;
  readonly scheduleHash: string;
  /**
   * The cursor from which the row has followed this schedule: each due time between the two has its outcome. `recover`
   * finds lost records by it.
   */
  readonly scheduleSince: EpochMs;
  /** Number of the last manual run that was taken. */
  readonly manualTaken: number;
  /** How far the last back-fill is. */
  readonly backfill: BackfillProgress | undefined;
  /** When an operator forgot the job. If the file has it again, the job counts as new. */
  readonly forgotten: EpochMs | undefined;
  /** When a sweep saw that no deployment's file has the job. If one has it again, its due times count from then. */
  readonly leftSince: EpochMs | undefined;
}

/**
 * The instant from which the lateness of a run counts: its actual due time, or when it was asked for. A back-filled run
 * is due when its turn comes.
 */
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

/**
 * Whether no run of the row is in progress, as far as the row and its lease show. No instance releases a running row
 * before its final record exists.
 */
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
  return writeMetadata({
    token: row.token,
    cursor: isoOrUndefined(row.cursor),
    owed: row.owed.map((stretch) => ({
      // A short name, because a row may owe many, and its size is limited.
      end: stretch.outcome,
      reason: stretch.reason,
      from: stretch.from,
      ...extentOf(stretch),
      ...given({ request: stretch.request }),
    })),
    notices: storeOwed(row.telling),
    run: row.run?.key,
    trigger: row.run?.trigger,
    since: isoOrUndefined(row.run?.since),
    asked: row.run === undefined ? undefined : askedMember(row.run),
    busyuntil: isoOrUndefined(row.busyUntil),
    stood: row.stood,
    execution: row.execution,
    phase: row.phase,
    attempt: row.attempt,
    drained: row.uncountedAttempts,
    started: isoOrUndefined(row.started),
    claimedat: isoOrUndefined(row.claimedAt),
    past: storePast(row.past.slice(-roomForPast(row))),
    notbefore: isoOrUndefined(row.notBefore),
    itemsleft: isoOrUndefined(row.itemsLeftAt),
    incumbent: row.incumbent,
    leasems: row.leaseMs,
    keepms: row.keepMs,
    failures: row.failures,
    failed: row.lastFailedKey,
    failedbefore: row.failedBefore,
    succeeded: isoOrUndefined(row.lastGoodAt),
    recent: encodeRecent(row.recent),
    revision: row.revision,
    hash: row.scheduleHash,
    hashsince: isoOrUndefined(row.scheduleSince),
    manualtaken: row.manualTaken,
    backfill: storeProgress(row.backfill),
    forgotten: isoOrUndefined(row.forgotten),
    leftsince: isoOrUndefined(row.leftSince),
  });
}

/** The attempts of a run that is aside take some of the room, and standstills that of one attempt. */
function roomForPast({ backfill, stood }: Row): number {
  return PAST_ATTEMPTS - (backfill?.aside?.past.length ?? 0) - Math.min(1, stood.length);
}

/** What the run's request has, as a list of one, or of none. */
function askedMember(run: RunRef): readonly Asked[] {
  const asked = askedOf(run);
  return Object.keys(asked).length === 0 ? [] : [asked];
}

/** Throws {@link ForeignMetadataError} when the metadata is not a row's. */
export function decodeRow(metadata: Readonly<Record<string, string>>): Row {
  const read = new MetadataReader(metadata, notHere(metadata));
  let recent: Row['recent'] | undefined;
  return {
    token: read.whole('token') as Token,
    cursor: read.instant('cursor'),
    owed: read.list('owed', readStretch),
    telling: readOwedNotices(read.optionalText('notices')),
    run: readRun(read),
    busyUntil: read.optionalInstant('busyuntil'),
    stood: read.list('stood', readStandstill),
    execution: read.optionalText('execution'),
    phase: read.oneOf('phase', PHASES),
    attempt: read.whole('attempt'),
    uncountedAttempts: read.whole('drained'),
    started: read.optionalInstant('started'),
    claimedAt: read.optionalInstant('claimedat'),
    past: read.list('past', readPast),
    notBefore: read.optionalInstant('notbefore'),
    itemsLeftAt: read.optionalInstant('itemsleft'),
    incumbent: read.optionalText('incumbent'),
    leaseMs: read.optionalWhole('leasems'),
    keepMs: read.optionalWhole('keepms'),
    failures: read.whole('failures'),
    lastFailedKey: read.optionalText('failed'),
    failedBefore: read.optionalWhole('failedbefore'),
    lastGoodAt: read.instant('succeeded'),
    // Most readers of a row do not need it, and it is the largest part.
    get recent() {
      recent ??= decodeRecent(read.optionalText('recent'));
      return recent;
    },
    revision: read.whole('revision'),
    scheduleHash: read.text('hash'),
    scheduleSince: read.instant('hashsince'),
    manualTaken: read.whole('manualtaken'),
    backfill: readProgress(read.optionalText('backfill')),
    forgotten: read.optionalInstant('forgotten'),
    leftSince: read.optionalInstant('leftsince'),
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

function readRun(read: MetadataReader): RunRef | undefined {
  const key = read.optionalText('run');
  if (key === undefined) return undefined;
  const parts = parseRecordKey(key);
  if (parts === undefined) throw new ForeignMetadataError('run', key, "a ledger record's key");
  return {
    key,
    scheduledFor: parts.scheduledFor,
    trigger: read.oneOf('trigger', TRIGGERS),
    since: read.instant('since'),
    ...read.list('asked', readAsked)[0],
  };
}

function readStandstill({ from, until }: Readonly<Record<string, unknown>>): Standstill | undefined {
  return isInstant(from) && isInstant(until) ? { from, until } : undefined;
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
  return {
    outcome,
    reason: reason as Reason,
    from,
    through,
    count,
    ...given({ request }),
  };
}
