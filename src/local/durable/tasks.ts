import { callAt } from '../host/timer';
import type { Command } from './actions';
import { unknownFunction } from './activities';
import type { Entities } from './entities';
import { createEntityCalls } from './entity-calls';
import { EventType, historyEvent, type HistoryEvent } from './history';
import { hiddenUntil } from './hub-files';
import { type HubState, underWay } from './hub-state';
import { HTTP_ACTIVITY, callHttp, checked } from './http';
import type { LiveInstance, Pending } from './instances';
import { checkInstanceId, newInstance } from './new-instance';

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
    if (command.kind === 'subOrchestration') {
      startSubOrchestration(instance, command);
      return;
    }
    if (command.kind === 'entity') {
      callEntity(instance, command);
      return;
    }
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
    const fn = orchestrators.get(name.toLowerCase());
    if (fn === undefined) throw new Error(unknownFunction(name, 'an orchestrator', orchestrators.values()));
    const childId =
      instanceId === undefined ? `${parent.id}:${String(parent.execution)}:${String(id)}` : checkInstanceId(instanceId);
    if (underWay(state, childId) !== undefined) {
      throw new Error(`an orchestration instance with the id '${childId}' is under way already`);
    }
    const child = newInstance(childId, fn.name, JSON.stringify(input ?? null), {
      id: parent.id,
      execution: parent.execution,
      task: id,
    });
    instances.add(child);
    parent.history.push(
      historyEvent({
        EventType: EventType.SubOrchestrationInstanceCreated,
        EventId: id,
        Name: fn.name,
        InstanceId: childId,
        IsPlayed: true,
      }),
    );
    wake(child);
  };

  const runAgain = (instance: LiveInstance, command: Pending['command']): void => {
    try {
      if (command.kind === 'activity') runActivity(instance, command);
      else if (command.kind === 'http') request(instance, command);
      else if (command.kind === 'entity') callAgain(instance, command);
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

  const { entities, callEntity, callAgain } = createEntityCalls(state, deliver);
  return { perform, resume, entities };
}
