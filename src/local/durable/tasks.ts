import type { HostedFunction } from '../host/functions';
import type { TypedData } from '../host/rpc';
import { callAt } from '../host/timer';
import type { Command } from './actions';
import { createEntities } from './entities';
import { EventType, failure, historyEvent, type HistoryEvent, type NewEvent } from './history';
import { type EntityRequest, type EntityResponse, hiddenUntil } from './hub-files';
import { functionOf, type HubOptions, type HubState, thrown, toJson, underWay } from './hub-state';
import { HTTP_ACTIVITY, callHttp, checked } from './http';
import { checkInstanceId, type LiveInstance, newInstance, type Pending } from './instances';

/** Receives the ends of tasks, and the instances that they start. */
export interface TaskEnds {
  /** Adds an event to an instance's inbox, unless that execution has been started over or terminated. */
  deliver(instance: LiveInstance, execution: number, event: HistoryEvent): void;
  /** Saves an instance, and begins an episode if it has events that none has seen. */
  wake(instance: LiveInstance): void;
  fail(instance: LiveInstance, message: string): void;
}

type CommandOf<Kind extends Command['kind']> = Extract<Command, { readonly kind: Kind }>;

export function createTasks(state: HubState, { deliver, wake, fail }: TaskEnds) {
  const { options, instances } = state;
  const runLimited = activityQueue(state);

  /** Begins a task. Returns the event of its beginning. */
  const begin = (instance: LiveInstance, command: Command): NewEvent => {
    switch (command.kind) {
      case 'activity':
        runActivity(instance, command);
        return { EventType: EventType.TaskScheduled, Name: command.name };
      case 'http':
        request(instance, command);
        return { EventType: EventType.TaskScheduled, Name: HTTP_ACTIVITY };
      case 'timer':
        return { EventType: EventType.TimerCreated, FireAt: setTimer(instance, command) };
      case 'subOrchestration': {
        const child = subOrchestrationOf(state, instance, command);
        instances.add(child);
        wake(child);
        return { EventType: EventType.SubOrchestrationInstanceCreated, Name: child.name, InstanceId: child.id };
      }
      case 'entity':
        return callEntity(instance, command);
    }
  };

  const request = (instance: LiveInstance, command: CommandOf<'http'>): void => {
    const { execution } = instance;
    instance.pending.set(command.id, { command, takenAt: Date.now() });
    void callHttp(command.id, checked(command.request)).then((event) => deliver(instance, execution, event));
  };

  const runActivity = (instance: LiveInstance, command: CommandOf<'activity'>): void => {
    const { execution } = instance;
    const { id, name } = command;
    const fn = functionOf(options, name, 'activity');
    instance.pending.set(id, { command });
    runLimited(async () => {
      if (instance.execution === execution) {
        instance.pending.set(id, { command, takenAt: Date.now() });
        options.files.save(instance);
      }
      deliver(instance, execution, await callActivity(options, fn, instance.id, command));
    });
  };

  const setTimer = (instance: LiveInstance, command: CommandOf<'timer'>): string => {
    const { execution } = instance;
    const { id, fireAt } = command;
    const FireAt = new Date(fireAt).toISOString();
    const fired = (): void => {
      instance.timers.delete(id);
      deliver(instance, execution, historyEvent({ EventType: EventType.TimerFired, TimerId: id, FireAt }));
    };
    instance.pending.set(id, { command });
    instance.timers.set(id, callAt(fireAt, fired));
    return FireAt;
  };

  const answered = ({ id, from }: EntityRequest, response: EntityResponse): void => {
    const instance = from && underWay(state, from.instance);
    const command = from && instance?.pending.get(from.task)?.command;
    // An instance that was started over, or again under this id, waits for another answer.
    if (instance === undefined || command?.kind !== 'entity' || requestOf(instance, command).id !== id) return;
    instance.pending.delete(command.id);
    const event = historyEvent({ EventType: EventType.EventRaised, Name: id, Input: JSON.stringify(response) });
    deliver(instance, instance.execution, event);
  };
  const entities = createEntities(state, answered);

  const callEntity = (instance: LiveInstance, command: CommandOf<'entity'>): NewEvent => {
    const { entity, operation: op, isSignal: signal } = command;
    const sent = requestOf(instance, command);
    const { id, input } = sent;
    if (!signal) instance.pending.set(command.id, { command });
    entities.send(entity, sent);
    const Input = JSON.stringify({ id, op, parent: instance.id, signal, ...(input !== undefined && { input }) });
    return { EventType: EventType.EventSent, InstanceId: entity, Name: 'op', Input };
  };

  const beginAgain = (instance: LiveInstance, command: Pending['command']): void => {
    try {
      begin(instance, command);
    } catch (error) {
      fail(instance, (error as Error).message);
    }
  };

  return {
    entities,
    /** Begins a task at its first request. */
    perform(instance: LiveInstance, command: Command): void {
      const event = begin(instance, command);
      instance.history.push(historyEvent({ ...event, EventId: command.id, IsPlayed: true }));
    },
    /** Continues with the tasks that an earlier host of the deployment left unfinished. */
    resume(instance: LiveInstance): void {
      for (const [id, { command, takenAt }] of instance.pending) {
        const visible = (): void => {
          instance.timers.delete(id);
          beginAgain(instance, command);
        };
        if (takenAt === undefined) beginAgain(instance, command);
        else instance.timers.set(id, callAt(hiddenUntil(takenAt, options.visibility.workItemMs), visible));
      }
    },
  };
}

function subOrchestrationOf(
  state: HubState,
  parent: LiveInstance,
  { id, name, input, instanceId }: CommandOf<'subOrchestration'>,
): LiveInstance {
  const fn = functionOf(state.options, name, 'orchestration');
  const childId =
    instanceId === undefined ? `${parent.id}:${String(parent.execution)}:${String(id)}` : checkInstanceId(instanceId);
  if (underWay(state, childId) !== undefined) {
    throw new Error(`an orchestration instance with the id '${childId}' is under way already`);
  }
  const by = { id: parent.id, execution: parent.execution, task: id };
  return newInstance(childId, fn.name, JSON.stringify(input ?? null), by);
}

/** Runs activities in order, with a limit on how many run at once, until the hub stops. */
function activityQueue(state: HubState): (run: () => Promise<void>) => void {
  const { maxConcurrentActivities, handOverDelayMs: delayMs = 0 } = state.options;
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  const begin = (): void => {
    while (running < maxConcurrentActivities && !state.stopped) {
      const next = waiting.shift();
      if (next === undefined) return;
      running++;
      void next().finally(() => {
        running--;
        begin();
      });
    }
  };
  return (run) => {
    const arrive = (): void => {
      waiting.push(run);
      begin();
    };
    if (delayMs === 0) arrive();
    else setTimeout(arrive, delayMs);
  };
}

/** An activity's call and its outcome, as the extension reports it to the orchestrator. */
async function callActivity(
  { invoke, onError }: HubOptions,
  fn: HostedFunction,
  instanceId: string,
  { id, input }: CommandOf<'activity'>,
): Promise<HistoryEvent> {
  // durable-functions turns strings into JSON itself, and leaves everything else as it is.
  const trigger: TypedData =
    input === undefined || input === null ? {} : { string: typeof input === 'string' ? input : JSON.stringify(input) };
  try {
    const { returnValue } = await invoke(fn, { trigger, triggerMetadata: { instanceId: { string: instanceId } } });
    return historyEvent({ EventType: EventType.TaskCompleted, TaskScheduledId: id, Result: toJson(returnValue) });
  } catch (error) {
    const { message, stack } = thrown(error);
    onError(fn.name, stack);
    const details = JSON.stringify({ Message: message, StackTraceString: stack });
    return failure(EventType.TaskFailed, id, `Activity function '${fn.name}' failed: ${message}`, details);
  }
}

/** Two executions of one id never send the same request. */
function requestOf(
  { id: instance, createdAt, execution }: LiveInstance,
  { id: task, operation, input, isSignal }: CommandOf<'entity'>,
): EntityRequest {
  return {
    id: `${instance}:${String(createdAt)}:${String(execution)}:${String(task)}`,
    operation,
    input: input === undefined ? undefined : JSON.stringify(input),
    ...(!isSignal && { from: { instance, task } }),
  };
}
