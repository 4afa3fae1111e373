import type { EpochMs, JobName, Millis } from '../brand';
import { type Control, type Pause, currentPause, pauseAt } from '../control';
import type { Reason, Stretch, Trigger, UnrunOutcome } from '../outcome';
import { type JobSpec, actualTime, nextDue } from '../job';
import { NOTHING_KNOWN, type RequiredJobs, type Requirement, requirementOf } from '../requires';
import { type Row, standstillAt } from '../row';

/** An older due time counts as missed, and `catchUp` decides. */
const ON_TIME_MS = 30_000;
/** From the end of a lease whose hand-over failed to the next claim: a tick, and the wait for the incumbent. */
const CLAIMED_AGAIN_MS = 20_000;
/** The most due times that one decision covers. The next decision takes the rest. Decision 004. */
const DUE_TIMES_AT_ONCE = 10_000;
/** The look-ahead never takes more than this share of the gap since the job's previous due time. */
const LOOK_AHEAD_SHARE = 0.8;

/** The inputs that decide the outcomes of a job's due times. */
export interface OutcomeView {
  readonly job: JobSpec;
  readonly row: Row;
  readonly control: Control;
  readonly required?: RequiredJobs | undefined;
  readonly now: EpochMs;
  /** No due time after this instant is decided. */
  readonly limit: EpochMs;
  readonly lookAheadMs: Millis;
  /** As in `Situation`. */
  readonly handedOver?: EpochMs | undefined;
}

/** What follows the due times that do not run. */
export type NextUp =
  /** Claim this due time. `queued`: it waited for the last run, by `overlap`. */
  | { readonly kind: 'claim'; readonly scheduledFor: EpochMs; readonly trigger: Trigger; readonly queued: boolean }
  /** Nothing is to be claimed before this instant: the claim time of a due time, or the end of a pause. */
  | { readonly kind: 'later'; readonly at: EpochMs; readonly scheduledFor?: EpochMs }
  /** The claim time has come by our clock, but the due time lies beyond the listing's limit. */
  | { readonly kind: 'pastLimit'; readonly scheduledFor: EpochMs }
  /** It waits for jobs that it requires. `isBusy`: one of them may succeed at any moment. */
  | { readonly kind: 'waits'; readonly scheduledFor: EpochMs; readonly until: EpochMs; readonly isBusy: boolean }
  /** It is not known yet whether these required jobs have succeeded. */
  | { readonly kind: 'unread'; readonly jobs: readonly JobName[]; readonly since: EpochMs }
  /** The job is paused or disabled. The rest is decided when that ends. */
  | { readonly kind: 'suspended' }
  /** More due times are undecided than fit into one decision. */
  | { readonly kind: 'more' }
  | { readonly kind: 'never' };

export interface Outcomes {
  /** Stretches of due times that do not run, oldest first. */
  readonly stretches: readonly Stretch[];
  /** The cursor after these due times. */
  readonly cursor: EpochMs;
  readonly next: NextUp;
}

/** Gives each undecided due time its outcome, oldest first, up to the first one that runs. Decision 011. */
export function outcomesOf(view: OutcomeView, room: number): Outcomes {
  const { job, row, control, now } = view;
  const stretches: Stretch[] = [];
  let cursor = row.cursor;
  const end = (next: NextUp): Outcomes => ({ stretches, cursor, next });

  for (let seen = 0; seen < DUE_TIMES_AT_ONCE; seen += 1) {
    const scheduledFor = nextDue(job, cursor, now);
    if (scheduledFor === undefined) return end({ kind: 'never' });
    const claimAt = claimTime(job, scheduledFor, view.lookAheadMs);
    const isHandedOver = scheduledFor === view.handedOver;
    if (claimAt > now && !isHandedOver) return end({ kind: 'later', at: claimAt, scheduledFor });
    if (actualTime(job, scheduledFor) > view.limit && !isHandedOver) return end({ kind: 'pastLimit', scheduledFor });
    const verdict = verdictOn(view, scheduledFor);
    if (verdict.kind === 'run') {
      const pause = currentPause(control, decidedAt(view));
      if (pause !== undefined) return end(suspendedBy(pause));
      return end({ kind: 'claim', scheduledFor, trigger: verdict.trigger, queued: verdict.queued });
    }
    if (verdict.kind === 'suspended') return end(suspendedBy(verdict.pause));
    if (verdict.kind === 'waits') {
      const mayClaim = currentPause(control, decidedAt(view)) === undefined;
      return end({ ...verdict, scheduledFor, isBusy: verdict.isBusy && mayClaim });
    }
    if (verdict.kind === 'unread') return end(verdict);
    if (!extend(stretches, verdict.outcome, verdict.reason, scheduledFor, room)) return end({ kind: 'more' });
    cursor = scheduledFor;
  }
  cursor = leap(view, stretches, cursor);
  return end({ kind: 'more' });
}

function suspendedBy(pause: Pause | undefined): NextUp {
  return pause?.until === undefined ? { kind: 'suspended' } : { kind: 'later', at: pause.until };
}

/**
 * Extends the last stretch of a full decision over all due times that certainly share its outcome. Without that, an old
 * cursor on a job of every second would cause 35 records a second for many minutes. The number of skipped due times is
 * estimated from the counted ones.
 */
function leap(view: OutcomeView, stretches: Stretch[], cursor: EpochMs): EpochMs {
  const { job } = view;
  const stretch = stretches.at(-1);
  if (stretch === undefined || stretch.count < 2 || stretch.through !== cursor) return cursor;
  const last = job.timetable.previous(sameOutcomeUntil(view, stretch.reason, actualTime(job, cursor)) - job.offsetMs);
  if (last === undefined || last <= cursor) return cursor;
  const gap = (cursor - stretch.from) / (stretch.count - 1);
  const count = stretch.count + Math.max(1, Math.round((last - cursor) / gap));
  stretches[stretches.length - 1] = { ...stretch, through: last, count };
  return last;
}

/** All due times from `actual` on, and before the returned instant, have the outcome of the one at `actual`. */
function sameOutcomeUntil(view: OutcomeView, reason: Reason, actual: EpochMs): EpochMs {
  const { pauses } = view.control;
  if (reason === 'paused') return pauseAt(view.control, actual)?.until ?? actual;
  if (reason !== 'catchUpWindow') return actual;
  const nextPause = Math.min(...pauses.map(({ since }) => since).filter((since) => since > actual));
  return Math.min(nextPause, decidedAt(view) - view.job.catchUpWindowMs);
}

/** Limits the age of due times by the listing's Date, because this machine's clock may be fast. */
function decidedAt({ now, limit, lookAheadMs }: OutcomeView): EpochMs {
  return Math.min(now, limit - lookAheadMs);
}

/** When a due time may be claimed: its actual time minus the look-ahead, or minus {@link mostAhead} if that is less. */
export function claimTime(job: JobSpec, scheduledFor: EpochMs, lookAheadMs: Millis): EpochMs {
  return actualTime(job, scheduledFor) - Math.min(lookAheadMs, mostAhead(job, scheduledFor));
}

/** The longest look-ahead of a due time: 0.8 of the gap since the job's previous one. */
export function mostAhead(job: JobSpec, scheduledFor: EpochMs): Millis {
  const previous = job.timetable.previous(scheduledFor);
  return previous === undefined ? Infinity : (scheduledFor - previous) * LOOK_AHEAD_SHARE;
}

export type Verdict =
  | { readonly kind: 'run'; readonly trigger: Trigger; readonly queued: boolean }
  | { readonly kind: 'unrun'; readonly outcome: UnrunOutcome; readonly reason: Reason }
  /** It waits for jobs that it requires, or it is not known yet whether it does. */
  | Extract<Requirement, { readonly kind: 'waits' | 'unread' }>
  /** Its outcome is decided when the pause ends, or when the job is enabled again. */
  | { readonly kind: 'suspended'; readonly outcome: 'paused' | 'disabled'; readonly pause?: Pause };

/**
 * Decides one due time once the last run is over. The first rule that applies counts. Decision 002. Decision 075.
 * Decision 081.
 */
export function verdictOn(view: OutcomeView, scheduledFor: EpochMs): Verdict {
  const { job, control } = view;
  const now = decidedAt(view);
  if (!job.enabled) return { kind: 'suspended', outcome: 'disabled' };
  const actual = actualTime(job, scheduledFor);
  const age = now - actual;
  const pause = pauseAt(control, actual);
  if (pause !== undefined) {
    // One record at the end of the pause covers all of its due times.
    const lasts = pause.until === undefined || pause.until > now;
    return lasts ? { kind: 'suspended', outcome: 'paused', pause } : unrun('paused', 'paused');
  }
  if (age > job.catchUpWindowMs) return unrun('expired', 'catchUpWindow');
  const requirement = requirementAt(view, scheduledFor);
  if (requirement.kind === 'missed') return unrun('expired', 'requirementNotMet');
  if (requirement.kind !== 'met') return requirement;
  if (waitedForBackfill(view.row, actual)) return afterBackfill(view, scheduledFor);
  if (duringLastRun(view.row, actual)) {
    if (job.overlap === 'skip') return unrun('overlapped', 'overlapSkip');
    return insteadOfNewer(view, waitsNewer(view, scheduledFor), {
      newer: unrun('overlapped', 'overlapNewer'),
      own: { kind: 'run', trigger: 'schedule', queued: true },
    });
  }
  const isMissed = age > onTimeMs(job);
  if (isMissed && job.catchUp === 'none') return unrun('expired', 'catchUpNone');
  const own: Verdict = { kind: 'run', trigger: isMissed ? 'catchUp' : 'schedule', queued: false };
  if (job.catchUp !== 'latest' || age <= ON_TIME_MS) return own;
  // One that the last run overlapped does not run, so it takes no other's place.
  const newer = outside(job, job.timetable.next(scheduledFor), (at) => pauseAt(control, at) ?? skippedAt(view, at));
  const passed = newer !== undefined && actualTime(job, newer) <= now ? newer : undefined;
  return insteadOfNewer(view, passed, { newer: unrun('collapsed', 'catchUpLatest'), own });
}

/** A due time that came during a back-filled run waits for it. The newest one runs; all do if `catchUp` is `all`. */
function afterBackfill(view: OutcomeView, scheduledFor: EpochMs): Verdict {
  const { job, row, control } = view;
  const own: Verdict = { kind: 'run', trigger: 'schedule', queued: true };
  if (job.catchUp === 'all') return own;
  const next = outsidePauses(job, control, job.timetable.next(scheduledFor));
  const at = next === undefined ? Infinity : actualTime(job, next);
  const newer = at <= decidedAt(view) && waitedForBackfill(row, at) ? next : undefined;
  return insteadOfNewer(view, newer, { newer: unrun('collapsed', 'catchUpLatest'), own });
}

function requirementAt(view: OutcomeView, scheduledFor: EpochMs): Requirement {
  return requirementOf(view.job, view.required ?? NOTHING_KNOWN, scheduledFor, decidedAt(view));
}

/** A newer due time that waits itself takes no older one's place: a job delayed each time would never run. */
function insteadOfNewer(
  view: OutcomeView,
  newer: EpochMs | undefined,
  verdicts: { readonly newer: Verdict; readonly own: Verdict },
): Verdict {
  if (newer === undefined) return verdicts.own;
  const requirement = requirementAt(view, newer);
  if (requirement.kind === 'unread') return requirement;
  return requirement.kind === 'met' ? verdicts.newer : verdicts.own;
}

/**
 * The age up to which a due time is not missed. With `catchUp` `none` a missed due time never runs, so the limit covers
 * one failed hand-over, whose lease must end first. A due time that waited for required jobs is not missed.
 * Decision 008. Decision 078.
 */
export function onTimeMs({ catchUp, leaseMs, requires, requireWithinMs }: TimedBy): Millis {
  const onTime = catchUp === 'none' ? Math.max(ON_TIME_MS, reclaimMs(leaseMs)) : ON_TIME_MS;
  return requires.length === 0 ? onTime : requireWithinMs + onTime;
}

type TimedBy = Pick<JobSpec, 'catchUp' | 'leaseMs' | 'requires' | 'requireWithinMs'>;

/** The age from which on a due time never runs that the schedule starts, or that was missed. */
export function windowMs(job: TimedBy & Pick<JobSpec, 'catchUpWindowMs'>): Millis {
  return job.catchUp === 'none' ? Math.min(job.catchUpWindowMs, onTimeMs(job)) : job.catchUpWindowMs;
}

/** The longest time from a due time to the claim that follows a failed hand-over. */
export function reclaimMs(leaseMs: Millis): Millis {
  return leaseMs + CLAIMED_AGAIN_MS;
}

/**
 * A newer due time that came during the last run too, outside of pauses. One that has not come yet came after the run,
 * even if the row has a later end, by the fast clock of its holder.
 */
function waitsNewer(view: OutcomeView, scheduledFor: EpochMs): EpochMs | undefined {
  const { job, row, control } = view;
  const newer = outside(job, job.timetable.next(scheduledFor), (at) => pauseAt(control, at) ?? standstillAt(row, at));
  const at = newer === undefined ? Infinity : actualTime(job, newer);
  return at <= decidedAt(view) && duringLastRun(row, at) ? newer : undefined;
}

/** The first due time from this one on that lies in no pause. */
export function outsidePauses(job: JobSpec, control: Control, due: EpochMs | undefined): EpochMs | undefined {
  return outside(job, due, (at) => pauseAt(control, at));
}

/** A span of time; without an end, if `until` is undefined. */
type Span = Pick<Pause, 'until'>;

/** The first due time from this one on that lies in no such span. Takes one step for each span, however long. */
function outside(
  job: JobSpec,
  due: EpochMs | undefined,
  spanAt: (instant: EpochMs) => Span | undefined,
): EpochMs | undefined {
  let found = due;
  while (found !== undefined) {
    const span = spanAt(actualTime(job, found));
    if (span === undefined) return found;
    if (span.until === undefined) return undefined;
    found = job.timetable.next(span.until - job.offsetMs - 1);
  }
  return undefined;
}

/** The span around an instant whose due times the last run overlaps, and `overlap` skips. */
function skippedAt({ job, row }: OutcomeView, instant: EpochMs): Span | undefined {
  if (job.overlap !== 'skip' || row.busyUntil === undefined || !duringLastRun(row, instant)) return undefined;
  return { until: Math.min(row.busyUntil, ...row.stood.map(({ from }) => from).filter((from) => from > instant)) };
}

function unrun(outcome: UnrunOutcome, reason: Reason): Verdict {
  return { kind: 'unrun', outcome, reason };
}

/** Whether the last run, which is over, was still running at this instant. While it stood still, it was not. */
function duringLastRun(row: Row, instant: EpochMs): boolean {
  const { run, busyUntil } = row;
  // The Date is cut to the second: what came at it was there before the run began.
  if (run === undefined || busyUntil === undefined || instant <= run.since || instant >= busyUntil) return false;
  return standstillAt(row, instant) === undefined;
}

/** Whether the last run, or the one that waits for its next attempt, is a back-filled one and went on at this instant. */
function waitedForBackfill({ run, busyUntil, phase }: Row, instant: EpochMs): boolean {
  if (run?.trigger !== 'backfill' || instant < run.since) return false;
  return phase === 'retrying' || (busyUntil !== undefined && instant < busyUntil);
}

/** Adds a due time to the last stretch, or begins a new one. Returns false if there is no room for one. */
function extend(stretches: Stretch[], outcome: UnrunOutcome, reason: Reason, at: EpochMs, room: number): boolean {
  const last = stretches.at(-1);
  if (last !== undefined && last.outcome === outcome && last.reason === reason) {
    stretches[stretches.length - 1] = { ...last, through: at, count: last.count + 1 };
    return true;
  }
  if (stretches.length >= room) return false;
  stretches.push({ outcome, reason, from: at, through: at, count: 1 });
  return true;
}
