import type { Millis } from '../core/brand';
import { SILENT_AFTER_MS } from '../core/fan-out';
import type { CallHandler } from './call-handler';
import type { FanOutHandler } from './define-fan-out';
import type { OrchestrationHandler } from './define-orchestration';
import type { JobHandler } from './handler';

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
