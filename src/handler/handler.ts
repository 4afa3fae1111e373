import { given } from '../core/given';
import type { Trigger } from '../core/outcome';
import type { Progress } from '../core/log-entry';
import type { Origin } from '../core/origin';
import type { LedgerRecord } from '../core/record';
import type { AbortCode } from '../core/run';
import type { StandardSchema } from '../core/standard-schema';
import type { Fence } from '../lease/fence';

/** Writes to the host's log, and to the log of the run, which is kept. It can be called itself, like `context.log`. */
export interface JobLog {
  (...message: unknown[]): void;
  debug(...message: unknown[]): void;
  info(...message: unknown[]): void;
  warn(...message: unknown[]): void;
  error(...message: unknown[]): void;
}

/** The context of one call of a handler. */
export interface JobContext {
  readonly job: string;
  /**
   * The due time, without spread. For a manual run: the time at which it was asked for, or, if it repeats an earlier
   * run, the due time of that run.
   */
  readonly scheduledFor: Date;
  /** When this attempt's handler started. */
  readonly startedAt: Date;
  readonly runId: string;
  /** The number of the attempt, from 1. It grows with every claim of the run. */
  readonly attempt: number;
  /** The cause of the run; `takeOver` in an attempt that follows a holder's death. */
  readonly trigger: Trigger;
  /** Who or what started the run, from where and why. */
  readonly origin: Origin;
  /** Aborted when the attempt must end; its `reason` is an {@link AttemptAbortedError}. */
  readonly signal: AbortSignal;
  readonly fence: Fence;
  /**
   * Reports progress, the last of which is kept. With `stallAfter`, an attempt that reports none for that long is
   * aborted.
   *
   * @param fraction how much of the work is done, from 0 to 1
   * @throws InvalidProgressError
   */
  progress(note?: string, fraction?: number): void;
  readonly log: JobLog;
  /**
   * W3C trace context of this call of the handler, for the header `traceparent` of the handler's own calls: then they
   * belong to the trace of the run. Undefined unless the app exports traces.
   */
  readonly traceparent?: string;
  /** The newest earlier ledger record of a run of this job. Each call reads the ledger. */
  previous(): Promise<LedgerRecord | undefined>;
}

/** A job's handler. Made by {@link defineJob}. */
export interface JobHandler<Result = unknown> {
  readonly input?: StandardSchema | undefined;
  /** `never`, because a registry holds handlers of many input types. Each one receives the output of its schema. */
  readonly run: (context: JobContext, input: never) => Result;
}

/**
 * Defines a job's handler.
 *
 * `run` may return up to 32 KB of JSON, which the ledger keeps, as it keeps an error that `run` throws. A failed
 * attempt is retried by the job's `retry`, unless it threw {@link NonRetryableError}.
 *
 * @param handler.input checks the job's `input` when the app starts (any Standard Schema); `run` receives its output
 */
export function defineJob<Input = unknown, Result = unknown>(handler: {
  readonly input?: StandardSchema<Input>;
  readonly run: (context: JobContext, input: Input) => Result;
}): JobHandler<Result> {
  return handler;
}

/** A handler throws this if a retry would not help. */
export class NonRetryableError extends Error {
  readonly code = 'NonRetryable';
  override readonly name = 'NonRetryableError';
}

/** `progress` was called with an invalid value. */
export class InvalidProgressError extends Error {
  readonly code = 'InvalidProgress';
  override readonly name = 'InvalidProgressError';
}

/**
 * The progress that a handler reports.
 *
 * @returns undefined if the call says only that the handler is at work
 * @throws InvalidProgressError
 */
export function checkProgress(note: unknown, fraction: unknown): Progress | undefined {
  if (note !== undefined && typeof note !== 'string') {
    throw new InvalidProgressError(`ctx.progress: the note is ${typeOf(note)}: pass text, or undefined for none`);
  }
  if (fraction !== undefined && !(typeof fraction === 'number' && fraction >= 0 && fraction <= 1)) {
    const value = typeof fraction === 'number' ? String(fraction) : typeOf(fraction);
    throw new InvalidProgressError(
      `ctx.progress: the fraction is ${value}: pass a number from 0 to 1, such as done / total, or undefined for none`,
    );
  }
  if (note === undefined && fraction === undefined) return undefined;
  return { ...given({ note, fraction }) };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The reason of an aborted signal. */
export class AttemptAbortedError extends Error {
  override readonly name = 'AttemptAbortedError';

  constructor(
    readonly code: AbortCode,
    message: string,
  ) {
    super(message);
  }
}
