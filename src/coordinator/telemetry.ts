import type { EpochMs, JobName } from '../core/brand';
import type { Reason, RanOutcome, Trigger } from '../core/outcome';
import type { JobSpec } from '../core/job';
import type { Listing } from '../lease/store';

/** The parts of a run that its trace shows, besides the run itself. */
export type Stage = 'tick' | 'race' | 'handOver' | 'attempt' | 'claim' | 'handler' | 'settle' | 'item';

/** The run to whose trace something belongs. */
export interface TracedRun {
  readonly job: JobSpec;
  /** The key of its record. */
  readonly key: string;
}

/** The call of the host in which something happens. */
export interface Invocation {
  readonly id: string;
  /** The host's own trace of it, as W3C trace context. */
  readonly traceparent?: string | undefined;
}

export interface StageFacts {
  /** How the stage ended, in one word. */
  readonly result?: string;
  /** The stage did not do its work. */
  readonly isError?: boolean;
  readonly attempt?: number;
  readonly token?: number;
  readonly trigger?: Trigger;
  readonly item?: number;
}

export interface StageStart {
  /** When it began, by the service's time. Default: now. */
  readonly at?: EpochMs | undefined;
  /** The trace context of the span that it follows from. Default: the run itself. */
  readonly parent?: string | undefined;
  readonly invocation?: Invocation | undefined;
}

export interface Span {
  /** W3C trace context, for calls that belong to the stage. Undefined: nothing is traced. */
  readonly traceparent: string | undefined;
  begin(stage: Stage, start?: StageStart): Span;
  end(facts?: StageFacts): void;
  /** Calls `work`, whose own spans then belong to this one. */
  within<T>(work: () => T): T;
}

/** The end of a run, whose record is written. */
export interface TracedEnd {
  readonly outcome: RanOutcome | null;
  readonly reason: Reason;
  readonly trigger: Trigger;
  /** When its first lease was acquired. */
  readonly since: EpochMs;
  /** When it ended, by its record. Undefined: now. */
  readonly at?: EpochMs | undefined;
  readonly attempts: number;
}

/** What came of an attempt to get a run. */
export type ClaimResult = 'won' | 'lost' | 'unknown';

/**
 * Receives what events do not show, for metrics and traces. It makes no call to storage, and never throws. The
 * coordinator works the same without it. Decision 111.
 */
export interface Telemetry {
  begin(stage: Stage, run: TracedRun, start?: StageStart): Span;
  /** The run is over: its trace gets the span of all the others. */
  ended(run: TracedRun, end: TracedEnd): void;
  /** @param stage `race`: for a lease. `claim`: for the row under it */
  claimed(job: JobName, stage: 'race' | 'claim', result: ClaimResult): void;
  /** A hand-over has arrived that left its tick at this time. */
  arrived(run: TracedRun, sent: SentAt): void;
  swept(listing: Listing): void;
}

/** When and from where a hand-over left its tick. It travels in the message. */
export interface SentAt {
  readonly parent: string;
  readonly at: EpochMs;
}

export const UNTRACED: Span = {
  traceparent: undefined,
  begin: () => UNTRACED,
  end: () => undefined,
  within: (work) => work(),
};

export const NO_TELEMETRY: Telemetry = {
  begin: () => UNTRACED,
  ended: () => undefined,
  claimed: () => undefined,
  arrived: () => undefined,
  swept: () => undefined,
};
