import type { EntityFunction, OrchestrationFunction } from '../host/functions';
import { type Activities, type ActivityOptions, createActivities } from './activities';
import { type HubFiles, type Visibility } from './hub-files';
import { createInstances, type Instances, isFinished, type LiveInstance } from './instances';

export interface HubOptions extends ActivityOptions {
  readonly orchestrators: readonly OrchestrationFunction[];
  readonly entities: readonly EntityFunction[];
  readonly files: HubFiles;
  readonly visibility: Visibility;
}

/** The state that the parts of one hub share. */
export interface HubState {
  readonly options: HubOptions;
  /** By name in lower case. */
  readonly orchestrators: ReadonlyMap<string, OrchestrationFunction>;
  readonly activities: Activities;
  readonly instances: Instances;
  /** Set permanently once the host is shutting down. */
  stopped: boolean;
}

export function createHubState(options: HubOptions): HubState {
  return {
    options,
    orchestrators: new Map(options.orchestrators.map((fn) => [fn.name.toLowerCase(), fn])),
    activities: createActivities(options),
    instances: createInstances(),
    stopped: false,
  };
}

/** The instance with this id, if it has not ended. */
export function underWay({ instances }: HubState, instanceId: string): LiveInstance | undefined {
  const instance = instances.get(instanceId);
  return instance === undefined || isFinished(instance.status) ? undefined : instance;
}
