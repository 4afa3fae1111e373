import type { Millis } from '../core/brand';
import { SILENT_AFTER_MS } from '../core/fan-out';
import type { FanOutHandler } from './define-fan-out';
import type { OrchestrationHandler } from './define-orchestration';
import type { JobHandler, JobContext } from './handler';

/** Handlers by name. A job uses the one named by its `handler` setting, or else by its own name. */
export type Handlers = Readonly<Record<string, JobHandler | FanOutHandler | OrchestrationHandler>>;

/** What a job runs. */
export type AnyHandler = JobHandler | FanOutHandler | OrchestrationHandler | CallHandler;

export function isFanOut(handler: AnyHandler): handler is FanOutHandler {
  return 'plan' in handler;
}

export function isOrchestration(handler: AnyHandler): handler is OrchestrationHandler {
  return 'orchestrator' in handler;
}

export function isCall(handler: AnyHandler): handler is CallHandler {
  return 'call' in handler;
}

/** After this long without a heartbeat, a run that waits may be claimed. */
export function silentAfterMs(handler: AnyHandler): Millis {
  return isOrchestration(handler) ? handler.takeOverAfterMs : SILENT_AFTER_MS;
}

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
