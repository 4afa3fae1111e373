import type { HubWork } from '../../core/batch';
import type { CallCounts } from '../../core/storage-call';

export type CountedSituation =
  /** A tick with nothing due and nothing in flight, between two sweeps. */
  | 'idleTick'
  /** A sweep: a listing of all rows, once a minute. */
  | 'sweep'
  /** The listing of notices that a sweep adds where a job has `notify`. */
  | 'noticeSweep'
  /** The presence of a deployment, once a minute. */
  | 'presence'
  /** The checks of a tick at whose time something is due, for all jobs together. */
  | 'dueTick'
  /** A due time is won: from the race to the start of the handler. */
  | 'won'
  /** A due time is lost to another deployment that was faster by one call. */
  | 'lost'
  /** One renewal of the lease of a run, every third of the lease. */
  | 'renewed'
  /** A run is settled: from the end of the handler. */
  | 'settled'
  /** A notice to one receiver that takes it at once, besides the run that calls for it. */
  | 'notice'
  /** The run of a dead holder is taken over: until the second start of the handler. */
  | 'takenOver'
  /** A run that fans out, without its items: plan, gathering and settling. */
  | 'fannedOut'
  /** One item of a fan-out. */
  | 'item';

export interface Counted {
  readonly calls: CallCounts;
  /** Executions of the activity function. */
  readonly activities: number;
  /** Executions of the orchestrator. */
  readonly turns: number;
}

export type CountedCalls = Readonly<Record<CountedSituation, Counted>>;

/**
 * Durable's own calls, by its source (docs/explanation/on-azure.md#storage-calls). A message is put, received and
 * deleted, and a poll after it finds nothing; an orchestration has one to start with, and two for each activity. A turn
 * reads the history, adds to it and updates the instance, whose row is looked up, made, and purged with the history.
 */
const DURABLE = { callsOfMessage: 4, tableCallsOfTurn: 3, tableCallsOfOrchestration: 5 };

/** The storage calls that Durable makes for this work: to queues, and to tables. */
export function durableCalls({ orchestrations, activities, turns }: HubWork): { queue: number; table: number } {
  return {
    queue: DURABLE.callsOfMessage * (orchestrations + 2 * activities),
    table: DURABLE.tableCallsOfOrchestration * orchestrations + DURABLE.tableCallsOfTurn * turns,
  };
}
