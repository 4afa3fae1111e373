import type { Trigger } from '../core/fate';
import type { LedgerRecord } from '../core/record';
import type { AbortCode } from '../core/run';
import type { StandardSchema } from '../core/standard-schema';
import type { Fence } from '../lease/fence';

/** Writes to the host's log. Callable, as `context.log` is. */
export interface JobLog {
  (...message: unknown[]): void;
  debug(...message: unknown[]): void;
  info(...message: unknown[]): void;
  warn(...message: unknown[]): void;
  error(...message: unknown[]): void;
}

/** What a handler gets to know and to use in one attempt. */
export interface JobContext {
  readonly job: string;
  /** The due time, without spread. For a manual run: when it was asked for. */
  readonly scheduledFor: Date;
  /** When this attempt's handler started. */
  readonly startedAt: Date;
  readonly runId: string;
  /** From 1; grows with every claim of the run. */
  readonly attempt: number;
  /** What started the run; `takeOver` in an attempt that follows a holder's death. */
  readonly trigger: Trigger;
  /** Aborted when the attempt is to end; its `reason` is an {@link AttemptAbortedError}. */
  readonly signal: AbortSignal;
  readonly fence: Fence;
  /** Says that the handler is getting on: with `stallAfter`, silence for that long ends the attempt. */
  progress(note?: string): void;
  readonly log: JobLog;
  /** The newest earlier ledger record of this job that ran. Reads the ledger, each time it is called. */
  previous(): Promise<LedgerRecord | undefined>;
}

/** What a job does. Made by {@link defineJob}. */
export interface JobHandler<Result = unknown> {
  readonly input?: StandardSchema | undefined;
  /** `never`: a registry holds handlers of many input types; each one gets what its own schema put out. */
  readonly run: (context: JobContext, input: never) => Result;
}

/**
 * Defines what a job does.
 *
 * `run` may return up to 32 KB of JSON, which goes into the ledger; what it throws goes there too. An attempt that
 * failed is tried again as the job's `retry` says, unless it threw {@link NonRetryableError}.
 *
 * @param handler.input checks the job's `input` when the app starts (any Standard Schema); `run` gets its output
 */
export function defineJob<Input = unknown, Result = unknown>(handler: {
  readonly input?: StandardSchema<Input>;
  readonly run: (context: JobContext, input: Input) => Result;
}): JobHandler<Result> {
  return handler;
}

/** Thrown by a handler: trying again would not help. */
export class NonRetryableError extends Error {
  readonly code = 'NonRetryable';
  override readonly name = 'NonRetryableError';
}

/** The reason of a handler's aborted signal. */
export class AttemptAbortedError extends Error {
  override readonly name = 'AttemptAbortedError';

  constructor(
    readonly code: AbortCode,
    message: string,
  ) {
    super(message);
  }
}
