/**
 * Runs handlers in tests, without storage and host, on a clock that the test sets.
 *
 * @packageDocumentation
 */
export { runJob } from './run-job';
export type { FencedWrite, JobTest, JobTestOptions, JobTestSettings, RunningJob, Stored } from './run-job';
export type { CallJob, CallTestOptions } from './run-call';
export type { OrchestrationTestOptions, OrchestrationCall } from './run-orchestration';
export { settableClock } from './clock';
export type { SettableClock } from './clock';
export { runFanOut } from './run-fan-out';
export type { FanOutTest, FanOutTestOptions } from './run-fan-out';
