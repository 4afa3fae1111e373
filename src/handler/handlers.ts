import type { CallHandler } from './call-handler';
import type { FanOutHandler } from './define-fan-out';
import type { JobHandler } from './handler';

/** Handlers by name. A job uses the one named by its `handler` setting, or else by its own name. */
export type Handlers = Readonly<Record<string, JobHandler | FanOutHandler>>;

/** What a job runs. */
export type AnyHandler = JobHandler | FanOutHandler | CallHandler;

export function isFanOut(handler: AnyHandler): handler is FanOutHandler {
  return 'plan' in handler;
}

export function isCall(handler: AnyHandler): handler is CallHandler {
  return 'call' in handler;
}
