import { callAt } from '../host/timer';
import { type Action, type Command, planActions } from './actions';
import { EventType, failure, type HistoryEvent, historyEvent, orchestratorPayload } from './history';
import { HTTP_ACTIVITY } from './http';
import { hiddenUntil } from './hub-files';
import { functionOf, type HubState, toJson } from './hub-state';
import { cancelTimers, executionStarted, isFinished, type LiveInstance } from './instances';
import { createTasks } from './tasks';

interface OrchestratorState {
  readonly isDone?: boolean;
  readonly actions?: readonly (readonly Action[])[];
  readonly output?: unknown;
  readonly error?: string;
  readonly customStatus?: unknown;
}

/** Precedes the state that `durable-functions` hides in the message of an orchestrator function's error. */
const STATE_LABEL = '\n\n$OutOfProcData$:';

function stateOf(error: unknown): OrchestratorState {
  const message = error instanceof Error ? error.message : String(error);
  const at = message.indexOf(STATE_LABEL);
  if (at < 0) return { error: message };
  const state = JSON.parse(message.slice(at + STATE_LABEL.length)) as OrchestratorState;
  return { ...state, error: state.error ?? 'Unknown error' };
}

type EndStatus = 'Completed' | 'Failed' | 'Terminated';

/** Plays orchestrator functions: an episode is one call over the whole history. */
export function createEpisodes(state: HubState) {
  const { options, instances } = state;

  const fail = (instance: LiveInstance, message: string): void => {
    const reason = `Orchestrator function '${instance.name}' failed: ${message}`;
    options.onError(instance.name, reason);
    finish(instance, 'Failed', JSON.stringify(reason));
  };

  /** Ends an instance, and informs its parent. */
  const finish = (instance: LiveInstance, status: EndStatus, output: string): void => {
    instances.finish(instance, status, output);
    tellParent(instance, status, output);
    options.files.remove(instance.id);
  };

  const tellParent = (child: LiveInstance, status: EndStatus, output: string): void => {
    const { parent } = child;
    const waiting = parent === undefined ? undefined : instances.get(parent.id);
    if (parent === undefined || waiting === undefined) return;
    deliver(waiting, parent.execution, endEvent(child, parent.task, status, output));
  };

  const deliver = (instance: LiveInstance, execution: number, event: HistoryEvent): void => {
    if (instance.execution !== execution) return;
    if (event.EventType === EventType.TaskCompleted || event.EventType === EventType.TaskFailed) {
      instance.pending.delete(event.TaskScheduledId);
    } else if (event.EventType === EventType.TimerFired) instance.pending.delete(event.TimerId);
    instance.inbox.push(event);
    wake(instance);
  };

  const wake = (instance: LiveInstance): void => {
    if (isFinished(instance.status)) return;
    const wakes = !instance.busy && instance.inbox.length > 0 && !state.stopped;
    if (wakes) {
      instance.busy = true;
      instance.episodeAt = Date.now();
    }
    options.files.save(instance);
    if (wakes) setImmediate(() => void runEpisode(instance));
  };

  const runEpisode = async (instance: LiveInstance): Promise<void> => {
    const { execution } = instance;
    instance.status = 'Running';
    instance.updatedAt = Date.now();
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorStarted }), ...instance.inbox.splice(0));
    const outcome = await play(state, instance);
    instance.busy = false;
    instance.episodeAt = undefined;
    // An instance that was terminated meanwhile drops the outcome.
    if (instance.execution === execution) {
      try {
        apply(instance, outcome);
      } catch (error) {
        fail(instance, (error as Error).message);
      }
    }
    wake(instance);
  };

  const apply = (instance: LiveInstance, outcome: OrchestratorState): void => {
    if (outcome.customStatus !== undefined) instance.customStatus = JSON.stringify(outcome.customStatus);
    const plan = planActions(outcome.actions?.flat() ?? [], instance.history);
    const known = new Map(instance.history.map((event) => [event.EventId, event]));
    const isOver = outcome.error !== undefined || plan.continueAsNew !== undefined || outcome.isDone === true;
    if (isOver) {
      // Signals of the last episode leave too.
      const signals = plan.commands.filter((command) => command.kind === 'entity' && command.isSignal);
      for (const signal of signals) if (!known.has(signal.id)) tasks.perform(instance, signal);
    }
    if (outcome.error !== undefined) return fail(instance, outcome.error);
    if (plan.continueAsNew !== undefined) return startOver(instance, plan.continueAsNew.input, plan.unseen);
    if (outcome.isDone === true) return finish(instance, 'Completed', JSON.stringify(outcome.output ?? null));
    for (const event of instance.history) event.IsPlayed = true;
    for (const command of plan.commands) {
      const event = known.get(command.id);
      if (event === undefined) tasks.perform(instance, command);
      else checkReplay(event, command);
      if (command.kind === 'timer' && command.canceled) {
        instance.timers.get(command.id)?.();
        instance.timers.delete(command.id);
        instance.pending.delete(command.id);
      }
    }
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorCompleted }));
  };

  const startOver = (instance: LiveInstance, input: unknown, unseen: readonly HistoryEvent[]): void => {
    cancelTimers(instance);
    instance.pending.clear();
    instance.execution++;
    instance.input = typeof input === 'string' ? input : JSON.stringify(input ?? null);
    instance.history = [];
    instance.inbox.unshift(executionStarted(instance), ...unseen);
  };

  /** Continues an instance that an earlier host of the deployment left unfinished. */
  const resume = (instance: LiveInstance): void => {
    instances.add(instance);
    tasks.resume(instance);
    if (instance.episodeAt === undefined) return wake(instance);
    instance.busy = true;
    callAt(hiddenUntil(instance.episodeAt, options.visibility.controlMs), () => {
      if (!state.stopped && !isFinished(instance.status)) void runEpisode(instance);
    });
  };

  const tasks = createTasks(state, { deliver, wake, fail });
  return { deliver, wake, finish, resume, entities: tasks.entities };
}

async function play({ options }: HubState, instance: LiveInstance): Promise<OrchestratorState> {
  try {
    const fn = functionOf(options, instance.name, 'orchestration');
    const trigger = { string: orchestratorPayload(instance, instance.history) };
    const { returnValue } = await options.invoke(fn, { trigger });
    return JSON.parse(toJson(returnValue) ?? '{}') as OrchestratorState;
  } catch (error) {
    return stateOf(error);
  }
}

function endEvent({ name }: LiveInstance, TaskScheduledId: number, status: EndStatus, output: string): HistoryEvent {
  if (status === 'Completed') {
    return historyEvent({ EventType: EventType.SubOrchestrationInstanceCompleted, TaskScheduledId, Result: output });
  }
  const reason = `Sub-orchestration '${name}' ended as ${status}`;
  return failure(EventType.SubOrchestrationInstanceFailed, TaskScheduledId, reason, output);
}

function eventText(event: HistoryEvent): string {
  if (event.EventType === EventType.TaskScheduled) return `the activity '${event.Name}'`;
  if (event.EventType === EventType.SubOrchestrationInstanceCreated) return `the sub-orchestration '${event.Name}'`;
  return event.EventType === EventType.EventSent ? `the entity ${event.InstanceId}` : 'a timer';
}

function commandText(command: Command): string {
  switch (command.kind) {
    case 'activity':
      return `the activity '${command.name}'`;
    case 'http':
      return `the activity '${HTTP_ACTIVITY}'`;
    case 'entity':
      return `the entity ${command.entity}`;
    case 'subOrchestration':
      return `the sub-orchestration '${command.name}'`;
    case 'timer':
      return 'a timer';
  }
}

/** Checks that an orchestrator requests the same tasks in each replay. */
function checkReplay(event: HistoryEvent, command: Command): void {
  const was = eventText(event);
  const is = commandText(command);
  if (was.toLowerCase() === is.toLowerCase()) return;
  throw new Error(
    `Non-deterministic orchestrator: as its task number ${command.id} it first asked for ${was}, now for ${is}. ` +
      'An orchestrator function must do the same in each replay: no clock, no random numbers, no I/O by itself.',
  );
}
