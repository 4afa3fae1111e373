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

/**
 * Why a due time has its outcome. Each comment begins with the outcomes that the reason explains, or with `attempt` where
 * it explains the end of an attempt alone: docs/reference/outcomes.md is made from them.
 */
export type Reason =
  /** succeeded: The handler returned. */
  | 'completed'
  /** succeeded: The term of a leader job ended, and the next one follows. */
  | 'termEnded'
  /** failed: The handler threw in its last attempt. */
  | 'handlerError'
  /** failed: The handler threw `NonRetryableError`. */
  | 'nonRetryable'
  /** failed: The handler's schema refuses the input of the request, or the input is gone. The run is not retried. */
  | 'invalidInput'
  /** failed: The handler returned something that is not JSON, or more than 32 KB of it. The run is not retried. */
  | 'invalidResult'
  /** failed: An item of a job that fans out failed for good, and `onItemFailure` is `failFast`. */
  | 'itemFailed'
  /** failed: The attempts were used up by instances that died or lost their lease. */
  | 'holderLost'
  /**
   * failed, expired: The storage failed over. A run in progress is `failed`, since its end is lost; a due time
   * that may have run is `expired`.
   */
  | 'failedOver'
  /**
   * failed: The record was deleted by retention or cannot be read, so the end of the run is unknown. It is not run
   * again.
   */
  | 'outcomeUnknown'
  /** timedOut: The last attempt took longer than `timeout`, or the items of a fan-out took longer than `deadline`. */
  | 'timeout'
  /** stalled: The last attempt reported no progress for longer than `stallAfter`. */
  | 'stallAfter'
  /** attempt: The instance of the attempt was shut down. Another instance resumes the run. */
  | 'instanceStopped'
  /** attempt: The attempt could not keep its lease. */
  | 'leaseLost'
  /** attempt: Storage refused the app until the lease of the attempt had ended. */
  | 'storageRefused'
  /** attempt: A handler blocked the event loop past the lease of the attempt, so that it could not be renewed. */
  | 'eventLoopBlocked'
  /** cancelled: An operator cancelled the run. */
  | 'cancelRequested'
  /** cancelled: A newer due time or a request came, and `overlap` is `cancel`. */
  | 'overlapCancel'
  /** overlapped: The last run was still in progress, and `overlap` is `skip`. */
  | 'overlapSkip'
  /** overlapped: A newer due time came during the same run and runs instead: `overlap` is `queue` or `cancel`. */
  | 'overlapNewer'
  /**
   * collapsed: It was missed, or had waited by `requires` or for a back-filled run, and a newer due time may run. Missed
   * due times collapse only where `catchUp` is `latest`, those that waited also where it is `none`.
   */
  | 'catchUpLatest'
  /** expired: It is older than `catchUpWindow`. */
  | 'catchUpWindow'
  /** expired: It was missed, and `catchUp` is `none`. */
  | 'catchUpNone'
  /** expired: A job that it requires had not succeeded by the end of `requireWithin`. */
  | 'requirementNotMet'
  /**
   * expired, attempt: Its instance ran as many handlers as it may (`CRONLEASE_MAX_CONCURRENT_RUNS`) until the due time was
   * older than its window. As the end of an attempt: until the host's `functionTimeout` left no time for the handler, and
   * the run continues with another attempt.
   */
  | 'noFreeSlot'
  /**
   * expired, attempt: Other runs of the job's `group`, as many as its `maxParallel`, were at work until the due time was
   * older than its window. As the end of an attempt: until the host's `functionTimeout` left no time for the handler, and the run
   * continues with another attempt.
   */
  | 'groupFull'
  /** paused: The job was paused. */
  | 'paused'
  /** disabled: The job was disabled in the jobs file. */
  | 'disabled'
  /** disabled: The schedule was replaced before the due time was decided, or was not yet this one. */
  | 'scheduleChanged'
  /** disabled: No deployment's jobs file had the job before the due time was decided. */
  | 'notInFile';

export function hasRun(outcome: Outcome | null): outcome is RanOutcome {
  return RAN_OUTCOMES.some((one) => one === outcome);
}

/** What starts a run, as its record has it. A take-over continues a run, and keeps its trigger. */
export const RUN_TRIGGERS = ['schedule', 'catchUp', 'manual', 'backfill'] as const;

export const TRIGGERS = ['schedule', 'catchUp', 'takeOver', 'manual', 'backfill'] as const;

/** What started a run. `ctx.trigger` is `takeOver` in an attempt that follows a holder's death. */
export type Trigger = (typeof TRIGGERS)[number];

/** The outcome of one attempt, as the row and the ledger hold it. */
export type AttemptOutcome = RanOutcome | 'holderLost' | 'draining' | 'planned';

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
  /** The id of a manual request, where the stretch is one instead of due times. */
  readonly request?: string;
}

/** The extent of a stretch of more than one due time: the newest one and, if known, their number. */
export function extentOf({ through, count }: Stretch): { readonly through?: number; readonly count?: number } {
  if (count === 1) return {};
  return count === 0 ? { through } : { through, count };
}
