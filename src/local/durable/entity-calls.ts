import type { Command } from './actions';
import { type Entities, createEntities } from './entities';
import type { EntityRequest, EntityResponse } from './entity';
import { EventType, type HistoryEvent, historyEvent } from './history';
import { type HubState, underWay } from './hub-state';
import type { LiveInstance } from './instances';

type EntityCommand = Extract<Command, { readonly kind: 'entity' }>;

type Deliver = (instance: LiveInstance, execution: number, event: HistoryEvent) => void;

/** The requests of orchestrations to entities, and their answers. */
interface EntityCalls {
  readonly entities: Entities;
  /** Sends a request for the first time. */
  callEntity(instance: LiveInstance, command: EntityCommand): void;
  /** Sends it again, after a restart. */
  callAgain(instance: LiveInstance, command: EntityCommand): void;
}

export function createEntityCalls(state: HubState, deliver: Deliver): EntityCalls {
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
    callAgain(instance, command) {
      entities.send(command.entity, requestOf(instance, command));
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
