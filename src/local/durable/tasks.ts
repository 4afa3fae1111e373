import { callAt } from '../host/timer';
import type { Command } from './actions';
import { functionOf } from './activities';
import { createEntities, type Entities } from './entities';
import type { EntityRequest, EntityResponse } from './entity';
import { EventType, historyEvent, type HistoryEvent } from './history';
import { hiddenUntil } from './hub-files';
import { type HubState, underWay } from './hub-state';
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

/** The tasks of orchestrators. */
export interface Tasks {
  /** Begins a task at its first request. */
  perform(instance: LiveInstance, command: Command): void;
  readonly entities: Entities;
  /** Continues with the tasks that an earlier host of the deployment left unfinished. */
  resume(instance: LiveInstance): void;
}

export function createTasks(state: HubState, { deliver, wake, fail }: TaskEnds): Tasks {
  const { options, orchestrators, activities, instances } = state;

  const perform = (instance: LiveInstance, command: Command): void => {
    const { id } = command;
    if (command.kind === 'activity' || command.kind === 'http') {
      const Name = command.kind === 'http' ? HTTP_ACTIVITY : command.name;
      if (command.kind === 'http') request(instance, command);
      else runActivity(instance, command);
      instance.history.push(historyEvent({ EventType: EventType.TaskScheduled, EventId: id, Name, IsPlayed: true }));
      return;
    }
    if (command.kind === 'subOrchestration') return startSubOrchestration(instance, command);
    if (command.kind === 'entity') return callEntity(instance, command);
    setTimer(instance, command);
    const FireAt = new Date(command.fireAt).toISOString();
    instance.history.push(historyEvent({ EventType: EventType.TimerCreated, EventId: id, FireAt, IsPlayed: true }));
  };

  const request = (instance: LiveInstance, command: Extract<Command, { kind: 'http' }>): void => {
    const { execution } = instance;
    instance.pending.set(command.id, { command, takenAt: Date.now() });
    void callHttp(command.id, checked(command.request)).then((event) => deliver(instance, execution, event));
  };

  const runActivity = (instance: LiveInstance, command: Extract<Command, { kind: 'activity' }>): void => {
    const { execution } = instance;
    const { id } = command;
    instance.pending.set(id, { command });
    activities.run(instance.id, command, {
      begun: () => {
        if (instance.execution !== execution) return;
        instance.pending.set(id, { command, takenAt: Date.now() });
        options.files.save(instance);
      },
      done: (event) => deliver(instance, execution, event),
    });
  };

  const setTimer = (instance: LiveInstance, command: Extract<Command, { kind: 'timer' }>): void => {
    const { execution } = instance;
    const { id, fireAt } = command;
    const FireAt = new Date(fireAt).toISOString();
    const fired = (): void => {
      instance.timers.delete(id);
      deliver(instance, execution, historyEvent({ EventType: EventType.TimerFired, TimerId: id, FireAt }));
    };
    instance.pending.set(id, { command });
    instance.timers.set(id, callAt(fireAt, fired));
  };

  const startSubOrchestration = (
    parent: LiveInstance,
    { id, name, input, instanceId }: Extract<Command, { kind: 'subOrchestration' }>,
  ): void => {
    const fn = functionOf(orchestrators, name, 'an orchestrator');
    const childId =
      instanceId === undefined ? `${parent.id}:${String(parent.execution)}:${String(id)}` : checkInstanceId(instanceId);
    if (underWay(state, childId) !== undefined) {
      throw new Error(`an orchestration instance with the id '${childId}' is under way already`);
    }
    const by = { id: parent.id, execution: parent.execution, task: id };
    const child = newInstance(childId, fn.name, JSON.stringify(input ?? null), by);
    instances.add(child);
    const created = { EventType: EventType.SubOrchestrationInstanceCreated, Name: fn.name, InstanceId: childId };
    parent.history.push(historyEvent({ ...created, EventId: id, IsPlayed: true }));
    wake(child);
  };

  const runAgain = (instance: LiveInstance, command: Pending['command']): void => {
    try {
      if (command.kind === 'activity') runActivity(instance, command);
      else if (command.kind === 'http') request(instance, command);
      else if (command.kind === 'entity') entities.send(command.entity, requestOf(instance, command));
    } catch (error) {
      fail(instance, (error as Error).message);
    }
  };

  const resume = (instance: LiveInstance): void => {
    const now = Date.now();
    for (const [id, { command, takenAt }] of instance.pending) {
      if (command.kind === 'timer') setTimer(instance, command);
      else if (takenAt === undefined) runAgain(instance, command);
      else {
        const visible = (): void => {
          instance.timers.delete(id);
          runAgain(instance, command);
        };
        instance.timers.set(id, callAt(hiddenUntil(takenAt, options.visibility.workItemMs, now), visible));
      }
    }
  };

  const { entities, callEntity } = createEntityCalls(state, deliver);
  return { perform, resume, entities };
}

type EntityCommand = Extract<Command, { readonly kind: 'entity' }>;

/** The requests of orchestrations to entities, and their answers. */
interface EntityCalls {
  readonly entities: Entities;
  /** Sends a request for the first time. */
  callEntity(instance: LiveInstance, command: EntityCommand): void;
}

function createEntityCalls(state: HubState, deliver: TaskEnds['deliver']): EntityCalls {
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

  return {
    entities,
    callEntity(instance, command) {
      const { id: EventId, entity, operation: op, isSignal: signal } = command;
      const request = requestOf(instance, command);
      const { id, input } = request;
      if (!signal) instance.pending.set(EventId, { command });
      entities.send(entity, request);
      const Input = JSON.stringify({ id, op, parent: instance.id, signal, ...(input !== undefined && { input }) });
      const event = { EventType: EventType.EventSent, EventId, InstanceId: entity, Name: 'op', Input } as const;
      instance.history.push(historyEvent({ ...event, IsPlayed: true }));
    },
  };
}

/** Two executions of one id never send the same request. */
function requestOf(
  { id: instance, createdAt, execution }: LiveInstance,
  { id: task, operation, input, isSignal }: EntityCommand,
): EntityRequest {
  return {
    id: `${instance}:${String(createdAt)}:${String(execution)}:${String(task)}`,
    operation,
    input: input === undefined ? undefined : JSON.stringify(input),
    ...(!isSignal && { from: { instance, task } }),
  };
}
