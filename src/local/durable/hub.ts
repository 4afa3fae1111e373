import { randomUUID } from 'node:crypto';
import { schedulerId } from './entities';
import { createEpisodes } from './episodes';
import { EventType, historyEvent } from './history';
import { createHubState, functionOf, type HubOptions, underWay } from './hub-state';
import {
  cancelTimers,
  checkInstanceId,
  type Instance,
  type Instances,
  InvalidRequestError,
  newInstance,
} from './instances';

/** An orchestration with this id has not ended yet. */
export class InstanceExistsError extends Error {
  readonly code = 'InstanceExists';
  override readonly name = 'InstanceExistsError';
}

/**
 * A Durable task hub in this process, in place of the Durable extension. It keeps unfinished instances in files, and
 * the deployment's next host continues with them. Messages that a dead host had taken stay hidden for a while.
 */
export interface Hub extends Pick<Instances, 'purge'> {
  /**
   * Starts an orchestration. The id of an ended instance may be used again; the id of a running one is an error. This
   * is the extension's default (`overridableExistingInstanceStates: NonRunningStates`).
   * @param input - JSON
   * @throws {@link InvalidRequestError}, {@link InstanceExistsError}
   */
  start(functionName: string, instanceId: string | undefined, input: string): Instance;
  get(instanceId: string): Instance | undefined;
  list(): Iterable<Instance>;
  /** Has no effect if the instance has ended. */
  raiseEvent(instanceId: string, eventName: string, input: string): void;
  /** Has no effect if the instance has ended. */
  terminate(instanceId: string, reason: string): void;
  /** @throws {@link InvalidRequestError} */
  signalEntity(entity: { readonly name: string; readonly key: string }, operation: string, input: string): void;
  /** The state as JSON; undefined: there is no such entity. */
  readEntity(entity: { readonly name: string; readonly key: string }): string | undefined;
  /**
   * Called when the host shuts down. The hub still accepts orchestrations, which stay pending. No new episode and no
   * new activity begins; running ones continue.
   */
  stop(): void;
}

export function createHub(options: HubOptions): Hub {
  const state = createHubState(options);
  const { instances } = state;
  const episodes = createEpisodes(state);

  for (const instance of options.files.load()) episodes.resume(instance);

  return {
    start(functionName, instanceId, input) {
      const fn = functionOf(options, functionName, 'orchestration', InvalidRequestError);
      const id = checkInstanceId(instanceId ?? randomUUID().replaceAll('-', ''));
      const existing = underWay(state, id);
      if (existing !== undefined) {
        throw new InstanceExistsError(`An Orchestration instance with the status ${existing.status} already exists.`);
      }
      const instance = newInstance(id, fn.name, input, undefined);
      instances.add(instance);
      episodes.wake(instance);
      return instance;
    },
    get: instances.get,
    list: instances.list,
    raiseEvent(instanceId, eventName, input) {
      const instance = underWay(state, instanceId);
      const event = historyEvent({ EventType: EventType.EventRaised, Name: eventName, Input: input });
      if (instance !== undefined) episodes.deliver(instance, instance.execution, event);
    },
    terminate(instanceId, reason) {
      const instance = underWay(state, instanceId);
      if (instance !== undefined) episodes.finish(instance, 'Terminated', JSON.stringify(reason));
    },
    signalEntity(entity, operation, input) {
      try {
        const request = { id: randomUUID(), operation, input: input === '' ? undefined : input };
        episodes.entities.send(schedulerId(entity), request);
      } catch (cause) {
        throw new InvalidRequestError((cause as Error).message, { cause });
      }
    },
    readEntity: (entity) => episodes.entities.read(schedulerId(entity)),
    purge: instances.purge,
    stop() {
      state.stopped = true;
      for (const instance of instances.list()) cancelTimers(instance);
    },
  };
}
