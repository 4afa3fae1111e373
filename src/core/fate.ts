/** What a due time ends in when it ran. */
export const RUN_FATES = ['succeeded', 'failed', 'timedOut', 'stalled', 'cancelled'] as const;
/** What a due time ends in when it did not run. */
export const UNRUN_FATES = ['overlapped', 'collapsed', 'expired', 'paused', 'disabled'] as const;

export type RunFate = (typeof RUN_FATES)[number];
export type UnrunFate = (typeof UNRUN_FATES)[number];
/** Every due time ends in exactly one of these. */
export type Fate = RunFate | UnrunFate;

/** Why a due time has its fate. */
export type Reason =
  /** The handler returned. */
  | 'completed'
  /** A leader job's term came to its end and handed over. */
  | 'termEnded'
  /** The handler threw in its last attempt. */
  | 'handlerError'
  /** The handler threw `NonRetryableError`. */
  | 'nonRetryable'
  /** The handler returned what the ledger cannot hold. */
  | 'invalidResult'
  /** An item of a job that fans out failed for good. */
  | 'itemFailed'
  /** The attempts were used up by holders that died. */
  | 'holderLost'
  /** The storage account failed over, and what became of it was lost. */
  | 'failedOver'
  /** Its record was deleted by retention or cannot be read, so nobody can tell whether it ran to its end. */
  | 'outcomeUnknown'
  /** The handler took longer than `timeout`. */
  | 'timeout'
  /** No progress for longer than `stallAfter`. */
  | 'stallAfter'
  /** The attempt's instance was shut down. */
  | 'instanceStopped'
  /** The lease could not be kept. */
  | 'leaseLost'
  /** An operator cancelled the run. */
  | 'cancelRequested'
  /** `overlap` is `cancel` and a newer due time, or a request, came. */
  | 'overlapCancel'
  /** `overlap` is `skip` and the last run was going on. */
  | 'overlapSkip'
  /** `overlap` is `queue` or `cancel`, and a newer due time came during the same run. */
  | 'overlapNewer'
  /** `catchUp` is `latest` and a newer due time has passed. */
  | 'catchUpLatest'
  /** Older than `catchUpWindow`. */
  | 'catchUpWindow'
  /** `catchUp` is `none` and nobody was there in time. */
  | 'catchUpNone'
  /** The job was paused. */
  | 'paused'
  /** The job was disabled in the file. */
  | 'disabled'
  /** The schedule was not yet this one. */
  | 'scheduleChanged';

/** What started a run. `ctx.trigger` is `takeOver` in an attempt that follows a holder's death. */
export type Trigger = 'schedule' | 'catchUp' | 'takeOver' | 'manual' | 'backfill';

/** What one attempt ended in, as the row and the ledger tell it. */
export type AttemptOutcome = RunFate | 'holderLost' | 'draining' | 'planned';

/** A stretch of due times that did not run, all with one fate for one reason. */
export interface Stretch {
  readonly fate: UnrunFate;
  readonly reason: Reason;
  /** Its oldest due time: the record's `scheduledFor`. */
  readonly from: number;
  /** Its newest due time. */
  readonly through: number;
  /** 0: not known, since they were due by a schedule that nobody has any more. */
  readonly count: number;
  /** A manual request instead of a due time: its id. */
  readonly request?: string;
}

/** How far a stretch goes, where it is more than one due time: its newest one and, where that is known, how many. */
export function extentOf({ through, count }: Stretch): { readonly through?: number; readonly count?: number } {
  if (count === 1) return {};
  return count === 0 ? { through } : { through, count };
}
