/**
 * cronlease without Azure Functions: the same coordinator in any Node process.
 *
 * @packageDocumentation
 */
export { createRunner, RunnerError } from './runner';
export type { Duration, Runner, RunnerHealth, RunnerLog, RunnerOptions } from './runner';
export { defineJob, NonRetryableError, AttemptAbortedError, InvalidProgressError } from '../handler/handler';
export { defineFanOut, InvalidFanOutError } from '../handler/define-fan-out';
