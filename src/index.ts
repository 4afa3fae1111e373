/**
 * cronlease turns a function app into a coordinator of scheduled jobs.
 *
 * @packageDocumentation
 */
export { registerCoordinator } from './functions/register';
export type { CoordinatorOptions } from './functions/coordinators';
export { defineJob, NonRetryableError, AttemptAbortedError, InvalidProgressError } from './handler/handler';
export { defineFanOut, InvalidFanOutError } from './handler/define-fan-out';
export type { FanOutHandler, FanOutOptions, ItemContext, ItemOutcome } from './handler/define-fan-out';
export { defineOrchestration, InvalidOrchestrationError } from './handler/define-orchestration';
export type { OrchestrationHandler, OrchestrationOptions } from './handler/define-orchestration';
export { fenceOf, FenceOfError } from './functions/fence-of';
export type { OrchestrationRun } from './core/orchestration';
export type { JobContext, JobHandler, JobLog } from './handler/handler';
export type { Handlers } from './handler/handlers';
export { LeaderElection } from './election/election';
export type { LeaderElectionEvents } from './election/election';
export { ElectionStoppedError } from './election/elector';
export { LeadershipEndedError, TaskNotEndedError } from './election/leadership';
export type { Leader, Leadership, TermEnd } from './election/leadership';
export { ElectionOptionsError } from './election/options';
export type { CampaignOptions, Duration, ElectionPlace, LeaderElectionOptions } from './election/options';
export { BlobChangedError, FenceConflictError, StaleLeaderError } from './lease/fence';
export type { Fence, FencedBlob, FencedWriteOptions, OrchestrationFence } from './lease/fence';
export type { AttemptRecord, LedgerRecord, RecordLog } from './core/record';
export type { RecordedError } from './core/recorded-error';
export type { LogEntry, LogGap, LogLevel, LogLine, LogProgress, Progress } from './core/log-entry';
export type { AttemptOutcome, Outcome, Reason, Trigger } from './core/outcome';
export type { AbortCode } from './core/run';
export type { StandardSchema } from './core/standard-schema';
