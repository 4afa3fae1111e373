import type { BackfillLedger } from '../backfill';
import type { EpochMs, JobName, Millis } from '../brand';
import type { Control } from '../control';
import type { LastBeat } from '../fan-out';
import type { Reason, RanOutcome, Trigger } from '../outcome';
import type { JobSpec } from '../job';
import type { Asked } from '../origin';
import type { RequiredJobs } from '../requires';
import type { Row } from '../row';

/** A tick keeps checking a held row until this long after its due time. */
export const HELD_WATCH_MS = 2_000;

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
  /** The last beat of the run's items, if it was read. */
  readonly beat?: LastBeat | undefined;
  /**
   * The ledger record of the row's run, if it was read. `marked`: open, and written by the row's last claim; `open`: by an
   * earlier one. `unreadable`: it exists, and cronlease cannot read it.
   */
  readonly record: 'unread' | 'none' | 'open' | 'marked' | 'final' | 'unreadable';
  /** What this process knows of the jobs that this one requires. Undefined: nothing. */
  readonly required?: RequiredJobs | undefined;
  /** What this process has read of the ledger for the back-fill, as far as it holds for this row. */
  readonly backfillLedger?: BackfillLedger | undefined;
  readonly lookAheadMs: Millis;
  /** A due time that was early enough to be claimed by the clock of the instance that has handed it over. */
  readonly handedOver?: EpochMs | undefined;
  readonly sweepIntervalMs: Millis;
  /** How long the items of a run may take; 0: the job does not fan out. */
  readonly itemsLimitMs: Millis;
  /** How long an attempt may last, with its wait for a turn. */
  readonly attemptLimitMs: Millis;
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
  /** The attempt ends the run so, without its handler. With `timedOut` it gathers instead if all items are done. */
  readonly end: { readonly outcome: RanOutcome; readonly reason: Reason } | undefined;
  /** A back-fill continues once this run is over. */
  readonly hasBacklog?: true;
}

export type Decision =
  /** Nothing is to be done before `checkAt`, unless the row changes. */
  | {
      readonly kind: 'nothing';
      readonly checkAt: EpochMs | undefined;
      /** The due time whose claim time `checkAt` is, or may be. */
      readonly upcoming?: EpochMs | undefined;
    }
  /** A due time waits for required jobs. Nothing is to be done before `checkAt`, unless their rows change. */
  | { readonly kind: 'await'; readonly checkAt: EpochMs }
  /** The row is held, a required job is busy, or the listing is too old to decide on: check again soon, up to `until`. */
  | { readonly kind: 'wait'; readonly until: EpochMs | 'tickEnds' }
  /** Read first whether the ledger has a final record of the row's run. */
  | { readonly kind: 'readRecord' }
  /** Read the heartbeat first: the items may still be at work. */
  | { readonly kind: 'readBeat' }
  /** Read first whether these required jobs have a success that was due after `since`. */
  | { readonly kind: 'readRequired'; readonly jobs: readonly JobName[]; readonly since: EpochMs }
  /** Read first which records this due time of the back-fill has. */
  | { readonly kind: 'readBackfill'; readonly due: EpochMs }
  | { readonly kind: 'claim'; readonly claim: Claim }
  /** Due times get their outcomes, and nothing runs. */
  | { readonly kind: 'record'; readonly row: Row }
  /** This deployment's file is older than the one that the row follows. */
  | { readonly kind: 'lowerRevision' };

/** The latest that it can be: the service's Date limits a clock that is fast and not corrected yet. */
export function seenBy({ now, listedAt }: Situation): EpochMs {
  return Math.min(now, listedAt + 1000);
}

/** Caps a stored not-before time: its writer's clock may have been fast. Decision 066. */
export function boundedWait({ firstSeenAt }: Situation, until: EpochMs, longest: Millis): EpochMs {
  return Math.min(until, firstSeenAt + 1000 + longest);
}

export function earliest(...instants: readonly (EpochMs | undefined)[]): EpochMs | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Whether a claim is one of a back-filled run. */
export function isBackfilled({ what, trigger, row }: Claim): boolean {
  return (what === 'first' ? trigger : row.run?.trigger) === 'backfill';
}
