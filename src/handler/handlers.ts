import type { FanOutHandler } from './define-fan-out';
import type { JobHandler } from './handler';

/** Handlers by name: the names that `handler` in the jobs file, or a job's own name, may take. */
export type Handlers = Readonly<Record<string, JobHandler | FanOutHandler>>;

export function isFanOut(handler: JobHandler | FanOutHandler): handler is FanOutHandler {
  return 'plan' in handler;
}
