import type { HubWork } from '../../core/batch';

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
