import type { EpochMs, ETag, LeaseId, Millis } from '../../core/brand';
import { type Decision, HELD_WATCH_MS } from '../../core/decide/situation';
import { mostAhead } from '../../core/decide/verdict';
import { type JobSpec, actualTime } from '../../core/job';
import type { RowVersion } from '../decide-row';

/** How long other deployments let the incumbent go first. */
export const HOLD_BACK_MS: Millis = 350;
/** In an overload it takes longer: that time doubles with each acquisition that was lost to it, so many times at most. */
const LOST_AT_MOST = 3;
export const WATCH_FIRST_MS: Millis = 100;
export const WATCH_AT_MOST_MS: Millis = 2_000;

/**
 * When this process checks a job next, which is to list its row and to decide, and what it waits for until then.
 *
 * ```text
 *   sweep, rest, watch ── due, and others go first ──▶ holdBack ── over ──▶ ready ──▶ acting ── over ──▶ rest
 *      ▲      │      └─── due, and this deployment goes first ───────────────▶│
 *      └──────┘ not due                                                       └──▶ waitsForHub ── proven ──▶ holdBack
 *
 *   rest, watch ── due, and a required job is idle ──▶ awaits ── its row changes ──▶ watch ── it succeeded ──▶ as due
 * ```
 */
export type NextCheck =
  /** Check with the next sweep, or with the next tick if something is in flight. */
  | { readonly kind: 'sweep' }
  /** Nothing is to be done before `at`, unless the row changes. */
  | { readonly kind: 'rest'; readonly at: EpochMs }
  /** An instance holds the row. The check after the next one follows it by `delayMs`. */
  | { readonly kind: 'watch'; readonly at: EpochMs; readonly delayMs: Millis }
  /** Required jobs have not succeeded. Nothing is to be done before `at`, unless one of their rows changes. */
  | { readonly kind: 'awaits'; readonly at: EpochMs }
  /** Others go first. At `until` this deployment may act at once. */
  | { readonly kind: 'holdBack'; readonly until: EpochMs }
  /** A claim, a record or a leader job's term is due, and this process may write it. A term waits for the next tick. */
  | { readonly kind: 'ready' }
  /** A claim is due and may be made as soon as the task hub is proven. */
  | { readonly kind: 'waitsForHub' }
  /** This process writes a claim or a record. The next check is set at its end. */
  | { readonly kind: 'acting' };

export const SWEEP: NextCheck = { kind: 'sweep' };
export const READY: NextCheck = { kind: 'ready' };

export interface Upcoming {
  /** The actual due time. */
  readonly at: EpochMs;
  readonly mostAheadMs: Millis;
}

export function upcomingAt(job: JobSpec, scheduledFor: EpochMs | undefined): Upcoming | undefined {
  if (scheduledFor === undefined) return undefined;
  return { at: actualTime(job, scheduledFor), mostAheadMs: mostAhead(job, scheduledFor) };
}

/**
 * An acquisition without an answer, with the row's version and lease before it. It may take effect late, and no other
 * process has the id of that lease.
 */
export interface Unanswered {
  readonly etag: ETag;
  readonly lease: 'available' | 'expired';
  readonly leaseId: LeaseId;
  readonly leaseMs: Millis;
}

/** What this process remembers of one job between checks, so that an idle tick makes no call. */
export interface JobNotes {
  readonly next: NextCheck;
  /** Whether the job may need a check before the next sweep. If so, the first check of each tick includes it. */
  readonly inFlight: boolean;
  /** The due time that this process expects to claim next, as of the last check. */
  readonly upcoming: Upcoming | undefined;
  /** How long before that due time it may be claimed. Undefined: as long as the settings say. */
  readonly lookAheadMs: Millis | undefined;
  /** ETags and lease at the last decision. */
  readonly decidedOn: string | undefined;
  readonly version: RowVersion | undefined;
  readonly unanswered: Unanswered | undefined;
  /** The fire in which this process last claimed a term of a leader job. */
  readonly termOfFire: number | undefined;
  /** The number of acquisitions in a row that others won, from the last time when nothing was due. */
  readonly lost: number;
  /** The last warning about this job, so that it is logged once. */
  readonly warned: string | undefined;
}

export const NEW_NOTES: JobNotes = {
  next: SWEEP,
  inFlight: false,
  upcoming: undefined,
  lookAheadMs: undefined,
  decidedOn: undefined,
  version: undefined,
  unanswered: undefined,
  termOfFire: undefined,
  lost: 0,
  warned: undefined,
};

interface Now {
  readonly now: EpochMs;
}

interface Decided extends Now, Pick<JobNotes, 'decidedOn' | 'upcoming' | 'inFlight'> {
  /** The state in which the check found it. */
  readonly before: NextCheck;
  readonly decision: Decision;
  readonly isForeign: boolean;
  /** Required rows changed during the check. */
  readonly wasMoved: boolean;
}

interface ActionOver extends Pick<JobNotes, 'upcoming'> {
  /** Undefined if there was no answer. */
  readonly won: boolean | undefined;
  readonly nextCheckAt: EpochMs;
}

/** What happens to a job in this process, with the facts that its notes need. The notes change in only these ways. */
const TRANSITIONS = {
  /** A listing lacks its row: it was removed. The next sweep creates it again. */
  rowGone: () => ({ next: SWEEP }),
  /** This process has created its row. */
  rowCreated: (_: JobNotes, { next, upcoming }: Pick<JobNotes, 'next' | 'upcoming'>) => ({ next, upcoming }),
  /** A required job was claimed, or its row has changed. */
  requiredChanged: ({ next }: JobNotes, { now }: Now) => ({ next: requiredMoved(next, now) }),
  checkStarted: ({ next }: JobNotes, { now }: Now) => ({ next: checkStarted(next, now) }),
  /** A check has read something about a version of its row. */
  learned: (_: JobNotes, { version }: { readonly version: RowVersion }) => ({ version }),
  /** Row or control are not cronlease's. */
  leftAlone: (_: JobNotes, { decidedOn }: Pick<JobNotes, 'decidedOn'>) => ({ decidedOn, next: SWEEP, inFlight: false }),
  decided: ({ lost: lostBefore }: JobNotes, { before, decision, isForeign, now, wasMoved, ...facts }: Decided) => {
    const lost = decision.kind === 'nothing' ? 0 : lostBefore;
    const next = afterCheck(before, decision, { isForeign, now, holdBackMs: HOLD_BACK_MS * 2 ** lost });
    return { ...facts, lost, next: wasMoved ? requiredMoved(next, now) : next };
  },
  warned: (_: JobNotes, { warned }: Pick<JobNotes, 'warned'>) => ({ warned }),
  silenceTold: ({ version }: JobNotes) => (version === undefined ? {} : { version: { ...version, silenceTold: true } }),
  /** What is due is not written now. The check after the next state decides again. */
  putOff: (_: JobNotes, { next }: Pick<JobNotes, 'next'>) => ({ next, decidedOn: undefined }),
  /** A term is due once a tick, so that a handler that returns at once is not called without end. */
  termDue: (_: JobNotes, { fire }: { readonly fire: number }) => ({ inFlight: true, termOfFire: fire }),
  actionStarted: () => ({ next: { kind: 'acting' } }),
  /** While its action waited, others were faster with other jobs. It has held back for others already. */
  actionOutdated: (_: JobNotes, { now }: Now) => ({ decidedOn: undefined, next: { kind: 'holdBack', until: now } }),
  acquires: (_: JobNotes, { unanswered }: { readonly unanswered: Unanswered }) => ({ unanswered }),
  /** Its lease is released, or an orchestration may have started under it: the id is not used again. */
  leaseUsed: () => ({ unanswered: undefined }),
  actionOver: ({ version, unanswered, lost }: JobNotes, { won, nextCheckAt, upcoming }: ActionOver) => ({
    unanswered: won === undefined ? unanswered : undefined,
    lost: won === true ? 0 : Math.min(LOST_AT_MOST, lost + Number(won === false)),
    version: version && { ...version, beat: undefined },
    decidedOn: undefined,
    inFlight: true,
    next: { kind: 'rest', at: nextCheckAt },
    upcoming,
  }),
  /** It rests, and the look-ahead of its due time is known. */
  aheadPlanned: (
    _: JobNotes,
    { lookAheadMs, checkAt }: { readonly lookAheadMs: Millis; readonly checkAt: EpochMs },
  ) => ({
    lookAheadMs,
    next: { kind: 'rest', at: checkAt },
  }),
  clockCorrected: ({ next }: JobNotes) => ({ decidedOn: undefined, next: clockCorrected(next) }),
  /** The hold-back was over before. */
  hubProven: ({ next }: JobNotes, { now }: Now) =>
    next.kind === 'waitsForHub' ? { next: { kind: 'holdBack', until: now } } : {},
} satisfies Readonly<Record<string, (notes: JobNotes, event: never) => Partial<JobNotes>>>;

/** The facts of each event; null: it has none. */
export type NoteEvents = {
  readonly [Kind in keyof typeof TRANSITIONS]: Parameters<(typeof TRANSITIONS)[Kind]> extends [JobNotes, infer Event]
    ? Event
    : null;
};

export function after<Kind extends keyof NoteEvents>(notes: JobNotes, kind: Kind, event: NoteEvents[Kind]): JobNotes {
  const transition: (notes: JobNotes, event: never) => Partial<JobNotes> = TRANSITIONS[kind];
  return { ...notes, ...transition(notes, event as never) };
}

/** The time of the next check; undefined if the state has none. */
export function checkTime(next: NextCheck): EpochMs | undefined {
  switch (next.kind) {
    case 'rest':
    case 'watch':
    case 'awaits':
      return next.at;
    case 'holdBack':
      return next.until;
    case 'sweep':
    case 'ready':
    case 'waitsForHub':
    case 'acting':
      return undefined;
  }
}

/** The state during a check. If the check fails, the next step begins with this job and does not wait for a sweep. */
export function checkStarted(next: NextCheck, now: EpochMs): NextCheck {
  return (checkTime(next) ?? Infinity) <= now ? next : { kind: 'rest', at: now };
}

/** Discards the noted instant: one that was noted by a wrong clock may be too early, or much too late. */
export function clockCorrected(next: NextCheck): NextCheck {
  return checkTime(next) === undefined ? next : { kind: 'rest', at: 0 };
}

/** A required job was claimed, or its row has changed. Decision 077. */
export function requiredMoved(next: NextCheck, now: EpochMs): NextCheck {
  return next.kind === 'awaits' ? { kind: 'awaits', at: Math.min(next.at, now) } : next;
}

/**
 * @param before the state in which the check found the job
 * @param isForeign another deployment is the job's incumbent
 * @param holdBackMs how long this one lets it go first
 */
export function afterCheck(
  before: NextCheck,
  decision: Decision,
  {
    isForeign,
    now,
    holdBackMs = HOLD_BACK_MS,
  }: { readonly isForeign: boolean; readonly now: EpochMs; readonly holdBackMs?: Millis },
): NextCheck {
  switch (decision.kind) {
    case 'nothing':
      if (decision.checkAt === undefined) return SWEEP;
      return isForeign
        ? { kind: 'holdBack', until: decision.checkAt + holdBackMs }
        : { kind: 'rest', at: decision.checkAt };
    case 'await':
      return { kind: 'awaits', at: decision.checkAt + (isForeign ? holdBackMs : 0) };
    case 'wait':
      return watchAgain(before, now, decision.until);
    case 'readRequired':
    case 'readBackfill':
      // Their rows changed while they were read, or more is to be read.
      return watchAgain(before, now, 'tickEnds');
    case 'claim':
    case 'record': {
      // If the items of a run are silent, the incumbent is in doubt, so the others go first.
      const goesFirst = isSilent(decision) ? isForeign : !isForeign;
      return goesFirst ? READY : heldBack(before, now, holdBackMs);
    }
    case 'readRecord':
    case 'readBeat':
    case 'lowerRevision':
      return SWEEP;
  }
}

/** A hold-back that was noted for a later due time does not delay an earlier claim. Decision 015. */
function heldBack(before: NextCheck, now: EpochMs, holdBackMs: Millis): NextCheck {
  if (before.kind === 'ready' || before.kind === 'waitsForHub') return READY;
  const until = Math.min(before.kind === 'holdBack' ? before.until : Infinity, now + holdBackMs);
  return until > now ? { kind: 'holdBack', until } : READY;
}

/** Checks of a held row become more frequent as its due time approaches, and less frequent after it. Decision 014. */
function watchAgain(before: NextCheck, now: EpochMs, until: EpochMs | 'tickEnds'): NextCheck {
  const beforeDue = until === 'tickEnds' ? 0 : until - HELD_WATCH_MS - now;
  if (beforeDue > 0) {
    const at = now + Math.min(WATCH_AT_MOST_MS, Math.max(WATCH_FIRST_MS, beforeDue / 6));
    return { kind: 'watch', at, delayMs: WATCH_FIRST_MS };
  }
  const delay = before.kind === 'watch' ? before.delayMs : WATCH_FIRST_MS;
  const at = until === 'tickEnds' ? now + delay : Math.min(now + delay, Math.max(now + WATCH_FIRST_MS, until));
  return { kind: 'watch', at, delayMs: Math.min(WATCH_AT_MOST_MS, delay * 2) };
}

/** Whether the decision claims a run before the deadline of its items, because they are silent. */
export function isSilent(decision: Decision): boolean {
  return decision.kind === 'claim' && decision.claim.isSilent === true;
}
