import type { Command } from './actions';
import { EventType, type HistoryEvent } from './history';

function eventText(event: HistoryEvent): string {
  if (event.EventType === EventType.TaskScheduled) return `the activity '${event.Name}'`;
  return event.EventType === EventType.SubOrchestrationInstanceCreated
    ? `the sub-orchestration '${event.Name}'`
    : 'a timer';
}

function commandText(command: Command): string {
  if (command.kind === 'activity') return `the activity '${command.name}'`;
  return command.kind === 'subOrchestration' ? `the sub-orchestration '${command.name}'` : 'a timer';
}

/** Checks that an orchestrator requests the same tasks in each replay. */
export function checkReplay(event: HistoryEvent, command: Command): void {
  const was = eventText(event);
  const is = commandText(command);
  if (was.toLowerCase() === is.toLowerCase()) return;
  throw new Error(
    `Non-deterministic orchestrator: as its task number ${command.id} it first asked for ${was}, now for ${is}. ` +
      'An orchestrator function must do the same in each replay: no clock, no random numbers, no I/O of its own.',
  );
}
