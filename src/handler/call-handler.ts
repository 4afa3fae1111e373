import type { Millis } from '../core/brand';
import type { JobContext } from './handler';

/** One text of a run, which a later attempt of it can read: after a take-over, or after a shutdown. */
export interface Kept {
  /** Undefined: nothing is kept. */
  read(): Promise<string | undefined>;
  /** Replaces what is kept. An empty text: nothing is kept any more. */
  keep(text: string): Promise<void>;
}

/** What a job with a `call` has in place of a handler. Made by the library. */
export interface CallHandler {
  readonly input?: undefined;
  readonly call: (context: JobContext, input: unknown, kept: Kept) => Promise<unknown>;
}

/** The end of a call, which says itself whether and when another attempt may help. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(
    readonly code: string,
    message: string,
    readonly retryable: boolean,
    /** Another attempt must not come sooner. */
    readonly retryAfterMs: Millis = 0,
  ) {
    super(message);
  }
}
