import { randomUUID } from 'node:crypto';
import { unknownFunction } from './activities';
import { createEpisodes } from './episodes';
import { EventType, historyEvent } from './history';
import { createHubState, type HubOptions, underWay } from './hub-state';
import { cancelTimers, type Instance } from './instances';
import { checkInstanceId, InvalidRequestError, newInstance } from './new-instance';

/** An orchestration with that id is under way. */
export class InstanceExistsError extends Error {
  readonly code = 'InstanceExists';
  override readonly name = 'InstanceExistsError';
}

/**
 * A Durable task hub in this process: what the Durable extension is to a function app. What has not ended is kept in
 * files. The next host of the deployment continues with it; what a host had taken when it died stays hidden for a while.
 */
export interface Hub {
  /**
   * Starts an orchestration. An id whose instance has ended is used again, one that is under way is an error: the
   * extension's default (`overridableExistingInstanceStates: NonRunningStates`).
   * @param input - JSON
   * @throws {@link InvalidRequestError}, {@link InstanceExistsError}
   */
  start(functionName: string, instanceId: string | undefined, input: string): Instance;
  get(instanceId: string): Instance | undefined;
  list(): Iterable<Instance>;
  /** Nothing happens if the instance has ended. */
  raiseEvent(instanceId: string, eventName: string, input: string): void;
  /** Nothing happens if the instance has ended. */
  terminate(instanceId: string, reason: string): void;
  /** Forgets an instance that has ended; false if there is none. */
  purge(instanceId: string): boolean;
  /**
   * The host is shutting down: orchestrations are still taken, and stay pending. No episode and no activity begins any
   * more; those under way continue.
   */
  stop(): void;
}

export function createHub(options: HubOptions): Hub {
  const state = createHubState(options);
  const { orchestrators, activities, instances } = state;
  const episodes = createEpisodes(state);

  for (const instance of options.files.load()) episodes.resume(instance);

  return {
    start(functionName, instanceId, input) {
      const fn = orchestrators.get(functionName.toLowerCase());
      if (fn === undefined) {
        throw new InvalidRequestError(unknownFunction(functionName, 'an orchestrator', orchestrators.values()));
      }
      const id = checkInstanceId(instanceId ?? randomUUID().replaceAll('-', ''));
      const existing = underWay(state, id);
      if (existing !== undefined) {
        throw new InstanceExistsError(`An Orchestration instance with the status ${existing.status} already exists.`);
      }
      const instance = newInstance(id, fn.name, input, undefined);
      instances.add(instance);
      options.files.save(instance);
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
    purge: instances.purge,
    stop() {
      state.stopped = true;
      activities.stop();
      for (const instance of instances.list()) cancelTimers(instance);
    },
  };
}
