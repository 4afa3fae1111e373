/** The outcomes of a due time that ran. */
export const RAN_OUTCOMES = ['succeeded', 'failed', 'timedOut', 'stalled', 'cancelled'] as const;
/** The outcomes of a due time that did not run. */
export const UNRUN_OUTCOMES = ['overlapped', 'collapsed', 'expired', 'paused', 'disabled'] as const;

export type RanOutcome = (typeof RAN_OUTCOMES)[number];
export type UnrunOutcome = (typeof UNRUN_OUTCOMES)[number];
/** The outcomes of a due time that was claimed, and whose handler was not called. */
export type NotRunOutcome = Extract<UnrunOutcome, 'paused' | 'expired'>;
/** The outcomes of a due time that was claimed. */
export type ClaimedOutcome = RanOutcome | NotRunOutcome;
/** Every due time gets exactly one of these. */
export type Outcome = RanOutcome | UnrunOutcome;

/** Why a due time has its outcome, or an attempt its end: docs/reference/outcomes.md explains each. */
export type Reason =
  | 'completed'
  | 'termEnded'
  | 'handlerError'
  | 'nonRetryable'
  | 'invalidInput'
  | 'invalidResult'
  | 'itemFailed'
  | 'holderLost'
  | 'failedOver'
  | 'outcomeUnknown'
  | 'timeout'
  | 'stallAfter'
  | 'instanceStopped'
  | 'leaseLost'
  | 'storageRefused'
  | 'eventLoopBlocked'
  | 'cancelRequested'
  | 'overlapCancel'
  | 'overlapSkip'
  | 'overlapNewer'
  | 'catchUpLatest'
  | 'catchUpWindow'
  | 'catchUpNone'
  | 'requirementNotMet'
  | 'concurrencyLimit'
  | 'groupFull'
  | 'paused'
  | 'disabled'
  | 'scheduleChanged'
  | 'notInFile';

/** The states of an instant that has no outcome. */
export type OpenStanding = 'running' | 'retrying' | 'pending' | 'future' | 'notDue';
/** The state of one instant: a due time's outcome, or its state before it has one. */
export type Standing = Outcome | OpenStanding;

/** The reason: the ledger's, or one of these if the ledger has none. */
export type StandingReason =
  | Reason
  | 'attemptRunning'
  | 'waitsForGroup'
  | 'claimed'
  | 'fanningOut'
  | 'takeOverDue'
  | 'backOff'
  | 'resumeDue'
  | 'claimDue'
  | 'catchUp'
  | 'queued'
  | 'waitsForRun'
  | 'waitsForOlder'
  | 'waitsForRequired'
  | 'requested'
  | 'notYetDue'
  | 'notInSchedule'
  | 'excluded'
  | 'manualOnly'
  | 'leaderJob'
  | 'beforeFirstSeen'
  | 'recordGone'
  | 'otherSchedule';

export function hasRun(outcome: Outcome | null): outcome is RanOutcome {
  return RAN_OUTCOMES.some((one) => one === outcome);
}

/** What starts a run, as its record has it. A take-over continues a run, and keeps its trigger. */
export const RUN_TRIGGERS = ['schedule', 'catchUp', 'manual', 'backfill'] as const;

export const TRIGGERS = ['schedule', 'catchUp', 'takeOver', 'manual', 'backfill'] as const;

/** What started a run. `ctx.trigger` is `takeOver` in an attempt that follows a holder's death. */
export type Trigger = (typeof TRIGGERS)[number];

export const ATTEMPT_OUTCOMES = [...RAN_OUTCOMES, 'holderLost', 'draining', 'planned'] as const;

/** The outcome of one attempt, as the row and the ledger hold it. */
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** A stretch of due times that did not run, all with one outcome for one reason. */
export interface Stretch {
  readonly outcome: UnrunOutcome;
  readonly reason: Reason;
  /** Its oldest due time: the record's `scheduledFor`. */
  readonly from: number;
  /** Its newest due time. */
  readonly through: number;
  /** 0: unknown, because the schedule that had them was replaced. */
  readonly count: number;
  /** The id of a manual run, if the stretch is one instead of due times. */
  readonly request?: string;
}

/** The extent of a stretch of more than one due time: the newest one and, if known, their number. */
export function extentOf({ through, count }: Stretch): { readonly through?: number; readonly count?: number } {
  if (count === 1) return {};
  return count === 0 ? { through } : { through, count };
}
