import type { EpochMs, Millis } from './brand';
import type { Control, ManualRequest } from './control';
import { currentPause, pendingRequests } from './control';
import type { LastBeat } from './fan-out';
import { isSilent, silentFrom } from './fan-out';
import type { Reason, RunFate, Stretch, Trigger } from './fate';
import { claimTime, fatesOf, outsidePauses } from './verdict';
import type { Fates, FateView } from './verdict';
import type { JobSpec } from './job';
import { actualTime, DATE_BEHIND_MS, nextDue } from './job';
import { recordKey, runIdOf } from './key';
import type { Asked } from './origin';
import { askedOf } from './origin';
import type { Row } from './row';
import {
  firstCursor,
  isOutcomeUnknown,
  lostAttempt,
  mayRecordBeGone,
  newRow,
  OWED_STRETCHES,
  PAST_ATTEMPTS,
} from './row';
import { withGaps, withRun } from './recent';
import { settledRun } from './recent-run';
import { backoff } from './run';

/** A waiting run's own orchestration has this long to resume it; then a tick does. */
export const RESUME_AFTER_MS = 10_000;
/** A tick keeps looking at a held row until this long after its due time. */
export const HELD_WATCH_MS = 2_000;

/** Only a listing younger than this proves that a record is absent. */
const ABSENT_SINCE_MS = 60_000;

/** The inputs of a decision about one job. */
export interface Situation {
  readonly job: JobSpec;
  /** The revision of this deployment's jobs file. */
  readonly revision: number;
  readonly row: Row;
  /** `held` includes a lease that has not been seen broken for long enough. */
  readonly lease: 'available' | 'held' | 'expired';
  readonly control: Control;
  /** The service's Date when it showed the row. */
  readonly listedAt: EpochMs;
  /** The Date of the first listing in which this process saw the row in its present version. */
  readonly firstSeenAt: EpochMs;
  readonly now: EpochMs;
  /** The heartbeat of the run's items, if it was read. `none`: the run has no heartbeat. */
  readonly beat?: LastBeat | 'none' | undefined;
  /** The ledger record of the row's run, if it was read. `unreadable`: it exists, and cronlease cannot read it. */
  readonly record: 'unread' | 'none' | 'open' | 'final' | 'unreadable';
  readonly lookAheadMs: Millis;
  readonly sweepIntervalMs: Millis;
  /** How long the items of a run may take; 0: the job does not fan out. */
  readonly itemsLimitMs: Millis;
}

/** One claim: the row that the attempt writes, except for values that exist only after the acquisition. */
export interface Claim {
  readonly what: 'first' | 'takeOver' | 'resume';
  /** Token, execution, started, incumbent and a term's `since` and `key` are filled in later. */
  readonly row: Row;
  /** `term`: a leader job's term; its `scheduledFor` is the service's time of the acquisition. */
  readonly run:
    | { readonly kind: 'known'; readonly key: string; readonly scheduledFor: EpochMs; readonly asked?: Asked }
    | { readonly kind: 'term' };
  readonly trigger: Trigger;
  /** The run's items have been silent, so it is claimed before their deadline, unless a beat arrives first. */
  readonly isSilent?: true;
  /**
   * The attempt ends the run with this fate instead of calling its handler. With `timedOut`, an attempt that finds all
   * items done gathers them instead.
   */
  readonly end: { readonly fate: RunFate; readonly reason: Reason } | undefined;
}

export type Decision =
  /** Nothing is to be done before `lookAt`, unless the row changes. */
  | { readonly kind: 'nothing'; readonly lookAt: EpochMs | undefined }
  /** The row is held, or the listing is too old to decide on: look again soon, up to `until`. */
  | { readonly kind: 'wait'; readonly until: EpochMs | 'tickEnds' }
  /** Read first whether the ledger has a final record of the row's run. */
  | { readonly kind: 'readRecord' }
  /** Read the heartbeat first: the items may still be at work. */
  | { readonly kind: 'readBeat' }
  | { readonly kind: 'claim'; readonly claim: Claim }
  /** Due times get their fates, and nothing runs. */
  | { readonly kind: 'record'; readonly row: Row }
  /** This deployment's file is older than the one that the row follows. */
  | { readonly kind: 'lowerRevision' };

/** Decides what a tick does about one job. Pure: the same situation gives the same decision. */
export function decide(situation: Situation): Decision {
  const { job, row, revision } = situation;
  if (row.forgotten !== undefined) return decideForgotten(situation);
  if (job.scheduleHash !== row.scheduleHash && revision < row.revision) return { kind: 'lowerRevision' };
  if (situation.lease === 'held') return watchHeld(situation);

  const unfinished = decideUnfinished(situation);
  if (unfinished !== undefined) return unfinished;

  if (adopts(situation)) return { kind: 'record', row: adopt(situation) };
  if (job.kind === 'always') return decideTerm(situation);
  return decideDue(situation);
}

/** A forgotten job that is back in the file counts as new. Its cursor, token and request number still never go back. */
function decideForgotten({ job, revision, row, lease, listedAt }: Situation): Decision {
  if (revision < row.revision) return { kind: 'lowerRevision' };
  if (lease === 'held') return { kind: 'nothing', lookAt: undefined };
  const cursor = Math.max(row.cursor, firstCursor(job, listedAt));
  const { token, manualTaken } = row;
  return { kind: 'record', row: { ...newRow(cursor, revision, job.scheduleHash), token, manualTaken } };
}

/** Limits the decision by the listing's Date, so that a fast clock cannot run a due time early. */
function fateView(s: Situation): FateView {
  const { job, control, now, lookAheadMs } = s;
  const listedBy = s.listedAt + 1000;
  // The last run was over when the row was listed. Its holder's clock may have been fast.
  const overBy = s.listedAt + DATE_BEHIND_MS;
  const busyUntil = s.row.busyUntil === undefined ? undefined : Math.min(s.row.busyUntil, overBy);
  return { job, row: { ...s.row, busyUntil }, control, now, lookAheadMs, limit: listedBy + lookAheadMs };
}

/** The latest that it can be: the service's Date limits a clock that is fast and not corrected yet. */
function seenBy({ now, listedAt }: Situation): EpochMs {
  return Math.min(now, listedAt + 1000);
}

/** Caps a stored not-before time. Its writer's clock may have been fast, and no wait may outlast its setting. */
function boundedWait({ firstSeenAt }: Situation, until: EpochMs, longest: Millis): EpochMs {
  return Math.min(until, firstSeenAt + 1000 + longest);
}

/** Decides on a run that is not settled: take it over, resume it, end it, or wait. A settled row gives undefined. */
function decideUnfinished(s: Situation): Decision | undefined {
  const { row, job } = s;
  if (row.run === undefined) return undefined;
  if (row.phase === 'idle') {
    return isOutcomeUnknown(row) && s.lease === 'expired' ? { kind: 'record', row: carry(s) } : undefined;
  }
  if (row.phase === 'running') {
    if (s.lease === 'available' || s.record === 'final') return undefined;
    if (s.record === 'unread') return { kind: 'readRecord' };
    // If this machine slept since the listing, retention may have deleted the record meanwhile.
    if (s.record === 'none' && s.now - s.listedAt > ABSENT_SINCE_MS) return { kind: 'wait', until: 'tickEnds' };
    const isLost = s.record === 'none' && mayRecordBeGone(row, job.keepMs, s.listedAt);
    if (isLost || s.record === 'unreadable') return { kind: 'record', row: { ...carry(s), phase: 'idle' } };
    return { kind: 'claim', claim: takeOver(s) };
  }
  const cancel = cancelReason(s);
  if (cancel !== undefined) {
    return { kind: 'claim', claim: nextClaim(s, 'resume', { fate: 'cancelled', reason: cancel }) };
  }
  const notBefore = row.notBefore ?? 0;
  const longest = row.phase === 'fanning' ? s.itemsLimitMs : job.retry.maxBackoffMs;
  const resumeAt = notBefore === 0 ? 0 : boundedWait(s, notBefore, longest) + RESUME_AFTER_MS;
  if (seenBy(s) >= resumeAt) return { kind: 'claim', claim: resume(s) };
  // The time has come by our clock, but not by the service's.
  if (resumeAt <= s.now) return { kind: 'wait', until: resumeAt + HELD_WATCH_MS };
  if (row.phase === 'fanning') {
    if (s.beat === undefined) return { kind: 'readBeat' };
    if (s.beat !== 'none' && isSilent(s.beat)) return { kind: 'claim', claim: goOnFromSilence(s) };
    // Silent by the listing's Date, but not yet by that of the heartbeat, whose storage machine is behind.
    const silentAt = s.beat === 'none' ? Infinity : silentFrom(s.beat.writtenAt);
    if (silentAt <= s.listedAt) return { kind: 'wait', until: silentAt + HELD_WATCH_MS };
  }
  const due = cancellingDueTime(s);
  const dueAt = due === undefined ? Infinity : actualTime(job, due);
  // Due by our clock, but beyond the listing's limit.
  if (dueAt <= s.now) return { kind: 'wait', until: dueAt + HELD_WATCH_MS };
  const lookAt = Math.min(resumeAt, dueAt);
  if (row.phase !== 'fanning') return { kind: 'nothing', lookAt };
  const beatDue = s.beat === undefined || s.beat === 'none' ? undefined : silentFrom(s.beat.writtenAt);
  // Running items keep due times waiting, as a lease does.
  const watched = watchHeld(s);
  return watched.kind === 'nothing' ? { kind: 'nothing', lookAt: earliest(watched.lookAt, lookAt, beatDue) } : watched;
}

/**
 * The nominal instant after which a due time falls into the row's run. A due time that passed before the run began
 * waits its turn, and does not end the run.
 */
export function waitingSince(job: JobSpec, row: Row): EpochMs {
  return row.run === undefined ? row.cursor : Math.max(row.cursor, row.run.since - job.offsetMs - 1);
}

/** The next due time that ends a waiting run of a job with overlap `cancel`. A due time in a pause does not. */
function cancellingDueTime(s: Situation): EpochMs | undefined {
  const { job, row, control, now } = s;
  if (job.overlap !== 'cancel' || !job.enabled || currentPause(control, now) !== undefined) return undefined;
  // A schedule that the row has not adopted yet counts from now.
  const due = job.timetable.next(adopts(s) ? Math.max(row.cursor, seenBy(s)) : waitingSince(job, row));
  return due !== undefined && actualTime(job, due) <= now ? outsidePauses(job, control, due) : due;
}

/** The reason to end a run that waits between attempts or whose holder has died, if there is one. */
function cancelReason(s: Situation): Reason | undefined {
  const { job, row, control } = s;
  if (row.run === undefined) return undefined;
  if (control.cancel === runIdOf(job.name, row.run.key)) return 'cancelRequested';
  if (job.overlap !== 'cancel') return undefined;
  if (pendingRequests(control, row.manualTaken).length > 0) return 'overlapCancel';
  const due = cancellingDueTime(s);
  return due !== undefined && actualTime(job, due) <= seenBy(s) ? 'overlapCancel' : undefined;
}

function takeOver(s: Situation): Claim {
  // A handler that would be aborted at once is not called.
  const reason = cancelReason(s);
  if (reason !== undefined) return nextClaim(s, 'takeOver', { fate: 'cancelled', reason });
  const usedUp = s.row.attempt - s.row.uncountedAttempts >= s.job.retry.attempts;
  return nextClaim(s, 'takeOver', usedUp ? { fate: 'failed', reason: 'holderLost' } : undefined);
}

/**
 * A plan alone does not count as an attempt; items that missed their deadline do. If no attempt is left, the run ends.
 * Its last claim is uncounted, and gathers if all items turn out to be done.
 */
function resume(s: Situation): Claim {
  const { row, job } = s;
  if (row.phase !== 'fanning') return nextClaim(s, 'resume', undefined);
  const uncountedAttempts = Math.max(0, row.uncountedAttempts - 1);
  if (row.attempt - uncountedAttempts >= job.retry.attempts) {
    return nextClaim(s, 'resume', { fate: 'timedOut', reason: 'timeout' });
  }
  return nextClaim({ ...s, row: { ...row, uncountedAttempts } }, 'resume', undefined);
}

/**
 * The items have been silent for too long: their hub or their host is gone. The claim does not use up an attempt, and
 * the deadline stays, so that a run whose items kill every host still comes to an end.
 */
function goOnFromSilence(s: Situation): Claim {
  const claim = nextClaim(s, 'resume', undefined);
  return { ...claim, isSilent: true, row: { ...claim.row, notBefore: s.row.notBefore } };
}

/** The next claim of the row's own run. It also adopts the schedule of a higher revision. */
function nextClaim(s: Situation, what: 'takeOver' | 'resume', end: Claim['end']): Claim {
  const { row, job } = s;
  if (row.run === undefined) throw new Error(`the row of job "${job.name}" has no run to go on with`);
  const base = adopts(s) ? adopt(s) : carry(s);
  const past = what === 'takeOver' ? [...row.past, lostAttempt(row)].slice(-PAST_ATTEMPTS) : row.past;
  return {
    what,
    run: { kind: 'known', key: row.run.key, scheduledFor: row.run.scheduledFor },
    trigger: what === 'takeOver' ? 'takeOver' : row.run.trigger,
    end,
    row: { ...base, phase: 'running', attempt: row.attempt + 1, past, notBefore: undefined },
  };
}

/** Keeps the records that an expired row owes. Those of an available row are already written. */
function carry(s: Situation): Row {
  const { row, job } = s;
  const sameHash = job.scheduleHash === row.scheduleHash;
  return {
    ...row,
    owed: s.lease === 'expired' ? row.owed : [],
    revision: sameHash ? Math.max(row.revision, s.revision) : row.revision,
  };
}

/** Whether this deployment's file has a schedule that the row must adopt. */
function adopts({ job, row, revision }: Situation): boolean {
  return job.scheduleHash !== row.scheduleHash && revision > row.revision;
}

/**
 * A higher revision's schedule counts from now. Of the old one the row has only a hash, so the due times since the
 * cursor are unknown: one stretch without a count records that none of them ran.
 */
function adopt(s: Situation): Row {
  const base = carry(s);
  const from = lastTime(base) + 1;
  const through = Math.max(base.cursor, seenBy(s));
  const change = { fate: 'disabled', reason: 'scheduleChanged', from, through, count: 0 } as const;
  return {
    ...base,
    cursor: through,
    owed: from > through ? base.owed : [...base.owed, change],
    revision: s.revision,
    scheduleHash: s.job.scheduleHash,
    scheduleSince: through,
  };
}

/** The newest instant that has its own record. The terms of a leader job have theirs after the cursor. */
function lastTime({ cursor, run }: Row): EpochMs {
  const isTerm = run !== undefined && run.scheduledFor > cursor && run.key === recordKey(run.scheduledFor);
  return isTerm ? run.scheduledFor : cursor;
}

/** A leader job's term is due whenever the row is free. After a failure it waits for the back-off. */
function decideTerm(s: Situation): Decision {
  const { job, row, control, now } = s;
  const pause = currentPause(control, seenBy(s));
  if (!job.enabled || pause !== undefined) return settle(s, job.enabled ? pause?.until : undefined);
  if (row.failures > 0 && row.busyUntil !== undefined) {
    const wait = backoff(job.retry, row.failures, 1);
    const from = boundedWait(s, row.busyUntil + wait, wait);
    if (now < from) return { kind: 'nothing', lookAt: from };
    if (seenBy(s) < from) return { kind: 'wait', until: from + HELD_WATCH_MS };
  }
  const base = carry(s);
  return {
    kind: 'claim',
    claim: {
      what: 'first',
      run: { kind: 'term' },
      trigger: 'schedule',
      end: undefined,
      row: freshRun({ ...base, recent: recentOf(s, []) }),
    },
  };
}

/** Requests and due times of a settled row. */
function decideDue(s: Situation): Decision {
  const manual = takeRequests(s);
  const room = OWED_STRETCHES - carry(s).owed.length - manual.stretches.length;
  const fates = fatesOf(fateView(s), Math.max(0, room));
  const { next } = fates;
  const dueFirst = next.kind === 'claim' && (manual.next === undefined || next.queued);

  if (!dueFirst && manual.next !== undefined && next.kind !== 'more') {
    return { kind: 'claim', claim: manualClaim(s, fates, manual, manual.next) };
  }
  if (next.kind === 'claim') {
    const base = decided(s, fates, manual);
    return {
      kind: 'claim',
      claim: {
        what: 'first',
        run: { kind: 'known', key: recordKey(next.scheduledFor), scheduledFor: next.scheduledFor },
        trigger: next.trigger,
        end: undefined,
        row: freshRun({ ...base, cursor: Math.max(base.cursor, next.scheduledFor) }),
      },
    };
  }
  if (mustRecordNow(s, fates, manual)) return record(s, fates, manual);

  const newest = fates.stretches.at(-1);
  const recordAt = newest === undefined ? undefined : actualTime(s.job, newest.through) + s.sweepIntervalMs;
  if (next.kind === 'pastLimit') {
    return { kind: 'wait', until: actualTime(s.job, next.scheduledFor) + HELD_WATCH_MS };
  }
  const lookAt = earliest(next.kind === 'later' ? next.at : undefined, recordAt);
  return isLeftBehind(s) ? record(s, fates, manual) : { kind: 'nothing', lookAt };
}

interface TakenRequests {
  /** Requests that are too old to run. */
  readonly stretches: readonly Stretch[];
  readonly manualTaken: number;
  readonly next: ManualRequest | undefined;
}

/** Takes requests oldest first. Each is either too old or claimed; no other rule applies. */
function takeRequests(s: Situation): TakenRequests {
  const stretches: Stretch[] = [];
  let { manualTaken } = s.row;
  for (const request of pendingRequests(s.control, manualTaken)) {
    if (seenBy(s) - request.time <= s.job.catchUpWindowMs) {
      return { stretches, manualTaken, next: request };
    }
    if (stretches.length >= OWED_STRETCHES / 2) break;
    const at = { from: request.time, through: request.time, count: 1, request: request.id };
    stretches.push({ fate: 'expired', reason: 'catchUpWindow', ...at });
    manualTaken = request.number;
  }
  return { stretches, manualTaken, next: undefined };
}

function manualClaim(s: Situation, fates: Fates, manual: TakenRequests, request: ManualRequest): Claim {
  return {
    what: 'first',
    run: {
      ...{ kind: 'known', key: recordKey(request.time, request.id), scheduledFor: request.time },
      asked: askedOf(request),
    },
    trigger: 'manual',
    end: undefined,
    row: freshRun({ ...decided(s, fates, manual), manualTaken: request.number }),
  };
}

/** Whether the decided fates must be recorded before the next claim. */
function mustRecordNow(s: Situation, fates: Fates, manual: TakenRequests): boolean {
  if (manual.stretches.length > 0 || fates.next.kind === 'more') return true;
  const newest = fates.stretches.at(-1);
  if (newest === undefined) return false;
  if (fates.stretches.some((stretch) => stretch.fate === 'paused')) return true;
  return s.now - actualTime(s.job, newest.through) >= s.sweepIntervalMs;
}

function record(s: Situation, fates: Fates, manual: TakenRequests): Decision {
  return { kind: 'record', row: decided(s, fates, manual) };
}

/** Finishes the work of a dead holder; nothing else is due before `lookAt`. */
function settle(s: Situation, lookAt: EpochMs | undefined): Decision {
  return isLeftBehind(s) ? { kind: 'record', row: carry(s) } : { kind: 'nothing', lookAt };
}

/**
 * Whether an expired row owes records, or its holder died between the final record and the release. Once retention
 * deletes that record, nobody can tell that the run is settled.
 */
function isLeftBehind({ lease, row, record }: Situation): boolean {
  return lease === 'expired' && (row.owed.length > 0 || (row.phase === 'running' && record === 'final'));
}

function decided(s: Situation, fates: Fates, manual: TakenRequests): Row {
  const base = carry(s);
  return {
    ...base,
    cursor: Math.max(base.cursor, fates.cursor),
    owed: [...base.owed, ...manual.stretches, ...fates.stretches],
    recent: recentOf(s, fates.stretches),
    manualTaken: manual.manualTaken,
  };
}

/** The last outcomes of a settled row, with its run and with what is decided now. */
function recentOf({ row, job, control }: Situation, stretches: readonly Stretch[]): Row['recent'] {
  return withGaps(withRun(row.recent, settledRun(job, row, control.cancel)), stretches);
}

function freshRun(row: Row): Row {
  return {
    ...row,
    busyUntil: undefined,
    phase: 'running',
    attempt: 1,
    uncountedAttempts: 0,
    past: [],
    notBefore: undefined,
  };
}

/** The row is held: decides until when to look again, by the due times that a free row would give. */
function watchHeld(s: Situation): Decision {
  const { job, row, now } = s;
  if (pendingRequests(s.control, row.manualTaken).length > 0) return { kind: 'wait', until: 'tickEnds' };
  // Another deployment may keep claiming with its older file, so the newer schedule takes the first moment between two
  // runs.
  if (adopts(s)) return { kind: 'wait', until: 'tickEnds' };
  if (!job.enabled) return { kind: 'nothing', lookAt: undefined };
  const pause = currentPause(s.control, now);
  if (pause !== undefined) return { kind: 'nothing', lookAt: pause.until };
  const oldest = nextDue(job, row.cursor, now);
  if (oldest === undefined) return { kind: 'nothing', lookAt: undefined };
  const watchFrom = now - HELD_WATCH_MS;
  if (actualTime(job, oldest) < watchFrom) {
    const behind = row.run === undefined || actualTime(job, oldest) < row.run.since;
    if (behind || job.overlap !== 'skip') return { kind: 'wait', until: 'tickEnds' };
  }
  const upcoming = job.timetable.next(Math.max(row.cursor, watchFrom - job.offsetMs - 1));
  if (upcoming === undefined) return { kind: 'nothing', lookAt: undefined };
  const claimAt = claimTime(job, upcoming, s.lookAheadMs);
  if (claimAt > now) return { kind: 'nothing', lookAt: claimAt };
  return { kind: 'wait', until: actualTime(job, upcoming) + HELD_WATCH_MS };
}

function earliest(...instants: readonly (EpochMs | undefined)[]): EpochMs | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
