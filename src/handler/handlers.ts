import type { FanOutHandler } from './define-fan-out';
import type { JobHandler } from './handler';

/** Handlers by name. A job uses the one named by its `handler` setting, or else by its own name. */
export type Handlers = Readonly<Record<string, JobHandler | FanOutHandler>>;

export function isFanOut(handler: JobHandler | FanOutHandler): handler is FanOutHandler {
  return 'plan' in handler;
}
