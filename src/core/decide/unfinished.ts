import type { EpochMs } from '../brand';
import { currentPause, pendingManualRuns } from '../control';
import { isSilent, silentFrom } from '../fan-out';
import type { Reason } from '../outcome';
import { actualTime, type JobSpec, nextDue } from '../job';
import { runIdOf } from '../key';
import { withRecordedEnd } from '../recorded-end';
import {
  type Row,
  PAST_ATTEMPTS,
  isOutcomeUnknown,
  lostAttempt,
  mayRecordBeGone,
  RESUME_AFTER_MS,
  standsFrom,
  standstillAt,
  withStandstill,
} from '../row';
import { longestBackoff } from '../run';
import { givesWay, hasBacklog, withAside } from './backfill';
import { decideFirst } from './due';
import { adopt, adopts, carry } from './next-row';
import { type Claim, type Decision, HELD_WATCH_MS, type Situation, boundedWait, earliest, seenBy } from './situation';
import { claimTime, outsidePauses } from './verdict';

/** Only a listing younger than this proves that a record is absent. */
const ABSENT_SINCE_MS = 60_000;

/** Decides on a run that is not settled: take it over, resume it, end it, or wait. A settled row gives undefined. */
export function decideUnfinished(s: Situation): Decision | undefined {
  const { row, job } = s;
  if (row.run === undefined) return undefined;
  if (row.phase === 'idle') {
    return isOutcomeUnknown(row) && s.lease === 'expired' ? { kind: 'record', row: carry(s) } : undefined;
  }
  if (row.phase === 'settled') return undefined;
  if (row.phase === 'running') {
    if (s.lease === 'available' || s.record === 'final') return undefined;
    if (s.record === 'unread') return { kind: 'readRecord' };
    // If this machine slept since the listing, retention may have deleted the record meanwhile.
    if (s.record === 'none' && s.now - s.listedAt > ABSENT_SINCE_MS) return { kind: 'wait', until: 'tickEnds' };
    const isLost = s.record === 'none' && mayRecordBeGone(row, job.keepMs, s.listedAt);
    if (isLost || s.record === 'unreadable') return { kind: 'record', row: withUnknownEnd(s) };
    return { kind: 'claim', claim: takeOver(s) };
  }
  const cancel = cancelReason(s);
  if (cancel !== undefined) {
    return { kind: 'claim', claim: nextClaim(s, 'resume', { outcome: 'cancelled', reason: cancel }) };
  }
  const first = givesWay(s) && !adopts(s) ? decideFirst(s).decision : undefined;
  if (first?.kind === 'claim') return { kind: 'claim', claim: withAside(first.claim, s) };
  if (first?.kind === 'readRequired') return first;
  const notBefore = row.notBefore ?? 0;
  const longest = row.phase === 'fanning' ? s.itemsLimitMs : longestBackoff(job);
  const resumeAt = notBefore === 0 ? 0 : boundedWait(s, notBefore, longest) + RESUME_AFTER_MS;
  if (seenBy(s) >= resumeAt) return { kind: 'claim', claim: resume(s) };
  // The time has come by our clock, but not by the service's.
  if (resumeAt <= s.now) return { kind: 'wait', until: resumeAt + HELD_WATCH_MS };
  if (row.phase === 'fanning') {
    if (row.itemsLeftAt !== undefined) return { kind: 'claim', claim: resumeEarly(s) };
    if (s.beat === undefined) return { kind: 'readBeat' };
    if (isSilent(s.beat)) return { kind: 'claim', claim: { ...resumeEarly(s), isSilent: true } };
    // Silent by the listing's Date, but not yet by that of the heartbeat, whose storage machine is behind.
    const silentAt = silentFrom(s.beat);
    if (silentAt <= s.listedAt) return { kind: 'wait', until: silentAt + HELD_WATCH_MS };
  }
  const due = cancellingDueTime(s);
  const dueAt = due === undefined ? Infinity : actualTime(job, due);
  // Due by our clock, but beyond the listing's limit.
  if (dueAt <= s.now) return { kind: 'wait', until: dueAt + HELD_WATCH_MS };
  const checkAt = Math.min(resumeAt, dueAt);
  if (first?.kind === 'wait') return first;
  const firstAt = first?.kind === 'nothing' || first?.kind === 'await' ? first.checkAt : undefined;
  if (row.phase !== 'fanning') return { kind: 'nothing', checkAt: Math.min(checkAt, firstAt ?? Infinity) };
  const beatDue = s.beat && silentFrom(s.beat);
  // Running items keep due times waiting, as a lease does.
  const watched = watchHeld(s);
  return watched.kind === 'nothing'
    ? { kind: 'nothing', checkAt: earliest(watched.checkAt, checkAt, beatDue) }
    : watched;
}

/** A run whose outcome cannot be known. Its holder may have counted a success, and died before its record. */
function withUnknownEnd(s: Situation): Row {
  const counted = withRecordedEnd(carry(s), { at: undefined, outcome: 'failed' }, s.job);
  return { ...counted, phase: 'idle' };
}

/** The nominal instant after which a due time falls into the row's run. Earlier ones wait their turn. */
export function waitingSince(job: JobSpec, row: Row): EpochMs {
  return row.run === undefined ? row.cursor : Math.max(row.cursor, row.run.since - job.offsetMs - 1);
}

/** Whether a due time or a manual run ends the run. A back-filled one never gives way permanently. */
function mayBeCancelled({ job, row }: Situation): boolean {
  return job.overlap === 'cancel' && row.run?.trigger !== 'backfill';
}

/** The next due time, outside of pauses, that ends a waiting run with overlap `cancel`. Decision 010. */
function cancellingDueTime(s: Situation): EpochMs | undefined {
  const { job, row, control, now } = s;
  if (!mayBeCancelled(s) || !job.enabled || currentPause(control, now) !== undefined) return undefined;
  // A schedule that the row has not adopted yet counts from now.
  let due = job.timetable.next(adopts(s) ? Math.max(row.cursor, seenBy(s)) : waitingSince(job, row));
  // One that came while no instance was at work is missed. If missed ones never run, the run does not give way to it.
  const stands = job.catchUp === 'none' ? runStandsFrom(s) : undefined;
  if (due !== undefined && stands !== undefined && stands <= actualTime(job, due)) {
    due = job.timetable.next(Math.max(due - 1, seenBy(s) - job.offsetMs));
  }
  return due !== undefined && actualTime(job, due) <= now ? outsidePauses(job, control, due) : due;
}

/** The reason to end a run that waits between attempts or whose holder has died, if there is one. */
function cancelReason(s: Situation): Reason | undefined {
  const { job, row, control } = s;
  if (row.run === undefined) return undefined;
  if (control.cancel === runIdOf(job.name, row.run.key)) return 'cancelRequested';
  if (!mayBeCancelled(s)) return undefined;
  // A leader job takes no manual runs.
  if (job.kind !== 'always' && pendingManualRuns(control, row.manualTaken).length > 0) return 'overlapCancel';
  const due = cancellingDueTime(s);
  return due !== undefined && actualTime(job, due) <= seenBy(s) ? 'overlapCancel' : undefined;
}

function takeOver(s: Situation): Claim {
  const row = counts(s)
    ? { ...s.row, past: [...s.row.past, lostAttempt(s.row)].slice(-PAST_ATTEMPTS) }
    : { ...s.row, uncountedAttempts: s.row.uncountedAttempts + 1 };
  const left = { ...s, row };
  // A handler that would be aborted at once is not called.
  const reason = cancelReason(s);
  if (reason !== undefined) return nextClaim(left, 'takeOver', { outcome: 'cancelled', reason });
  const usedUp = row.attempt - row.uncountedAttempts >= s.job.retry.attempts;
  return nextClaim(left, 'takeOver', usedUp ? { outcome: 'failed', reason: 'holderLost' } : undefined);
}

/**
 * Whether the lost attempt counts: it may have called its handler. Each one but the first writes its mark before,
 * within its trust, which is over. Without a mark, storage refused it, or the holder died before. Items that missed
 * their deadline count, whatever became of the claim after them.
 */
function counts(s: Situation): boolean {
  const { row, record } = s;
  return row.attempt === 1 || record === 'marked' || (row.notBefore ?? Infinity) <= seenBy(s);
}

/**
 * A plan by itself does not count as an attempt; items that missed their deadline do. If no attempt is left, the run
 * ends. Its last claim is uncounted, and gathers if all items turn out to be done. Decision 083.
 */
function resume(s: Situation): Claim {
  const { row, job } = s;
  if (row.phase !== 'fanning') return nextClaim(s, 'resume', undefined);
  const uncountedAttempts = Math.max(0, row.uncountedAttempts - 1);
  if (row.attempt - uncountedAttempts >= job.retry.attempts) {
    return keepingDeadline(nextClaim(s, 'resume', { outcome: 'timedOut', reason: 'timeout' }), s);
  }
  return nextClaim({ ...s, row: { ...row, uncountedAttempts } }, 'resume', undefined);
}

/** Uses up no attempt, and keeps the deadline, so that a run whose items kill every host comes to an end. */
function resumeEarly(s: Situation): Claim {
  return keepingDeadline(nextClaim(s, 'resume', undefined), s);
}

/** The row still shows the deadline of the items. */
function keepingDeadline(claim: Claim, { row: { notBefore } }: Situation): Claim {
  return { ...claim, row: { ...claim.row, notBefore } };
}

function runStandsFrom({ row, job: { leaseMs }, attemptLimitMs, beat }: Situation): EpochMs | undefined {
  return standsFrom(row, { attemptLimitMs, leaseMs }, beat);
}

/** The next claim of the row's own run. It also adopts the schedule of a higher revision. */
function nextClaim(s: Situation, what: 'takeOver' | 'resume', end: Claim['end']): Claim {
  const { row, job } = s;
  if (row.run === undefined) throw new Error(`the row of job "${job.name}" has no run to continue`);
  const base = withStandstill(adopts(s) ? adopt(s) : carry(s), runStandsFrom(s), seenBy(s));
  return {
    what,
    run: { kind: 'known', key: row.run.key, scheduledFor: row.run.scheduledFor },
    trigger: what === 'takeOver' ? 'takeOver' : row.run.trigger,
    end,
    row: { ...base, phase: 'running', attempt: row.attempt + 1, notBefore: undefined, itemsLeftAt: undefined },
  };
}

/** The row is held: decides when to check again, by the due times that a free row would give. */
export function watchHeld(s: Situation): Decision {
  const { job, row, now } = s;
  const manualRuns = job.kind === 'always' ? [] : pendingManualRuns(s.control, row.manualTaken);
  if (manualRuns.length > 0) return { kind: 'wait', until: 'tickEnds' };
  // Another deployment may keep claiming with its older file, so the newer schedule takes the first moment between two
  // runs.
  if (adopts(s)) return { kind: 'wait', until: 'tickEnds' };
  if (!job.enabled) return { kind: 'nothing', checkAt: undefined };
  const pause = currentPause(s.control, now);
  if (pause !== undefined) return { kind: 'nothing', checkAt: pause.until };
  if (hasBacklog(s)) return { kind: 'wait', until: 'tickEnds' };
  const oldest = nextDue(job, row.cursor, now);
  if (oldest === undefined) return { kind: 'nothing', checkAt: undefined };
  const watchFrom = now - HELD_WATCH_MS;
  if (actualTime(job, oldest) < watchFrom) {
    const at = actualTime(job, oldest);
    const behind = row.run === undefined || at < row.run.since || standstillAt(row, at) !== undefined;
    if (behind || job.overlap !== 'skip' || row.run?.trigger === 'backfill') return { kind: 'wait', until: 'tickEnds' };
  }
  const upcoming = job.timetable.next(Math.max(row.cursor, watchFrom - job.offsetMs - 1));
  if (upcoming === undefined) return { kind: 'nothing', checkAt: undefined };
  const claimAt = claimTime(job, upcoming, s.lookAheadMs);
  if (claimAt > now) return { kind: 'nothing', checkAt: claimAt, upcoming };
  return { kind: 'wait', until: actualTime(job, upcoming) + HELD_WATCH_MS };
}
