import type { Visibility } from '../host/app-folder';
import type { HostedFunction } from '../host/functions';
import type { Invoke } from '../host/invoke';
import type { TypedData } from '../host/rpc';
import type { HubFiles } from './hub-files';
import { createInstances, type Instances, isFinished, type LiveInstance } from './instances';

export interface HubOptions {
  readonly functions: readonly HostedFunction[];
  readonly invoke: Invoke;
  readonly maxConcurrentActivities: number;
  /** How long an activity's message takes to arrive, in ms, as queues that are polled take. Default: 0. */
  readonly handOverDelayMs?: number | undefined;
  readonly files: HubFiles;
  readonly visibility: Visibility;
  readonly onError: (functionName: string, message: string) => void;
}

export interface HubState {
  readonly options: HubOptions;
  readonly instances: Instances;
  /** Set permanently once the host is shutting down. */
  stopped: boolean;
}

export function createHubState(options: HubOptions): HubState {
  return { options, instances: createInstances(), stopped: false };
}

export function underWay({ instances }: HubState, instanceId: string): LiveInstance | undefined {
  const instance = instances.get(instanceId);
  return instance === undefined || isFinished(instance.status) ? undefined : instance;
}

const KINDS = { orchestration: 'an orchestrator', activity: 'an activity', entity: 'an entity' } as const;

/** @throws an error of this class, which names the functions of the kind, if none has the name */
export function functionOf(
  { functions }: HubOptions,
  name: string,
  kind: keyof typeof KINDS,
  Refusal: new (message: string) => Error = Error,
): HostedFunction {
  const all = functions.filter((fn) => fn.kind === kind);
  const found = all.find((fn) => fn.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  throw new Refusal(
    `The function '${name}' doesn't exist, is disabled, or is not ${KINDS[kind]} function. Those there are: ` +
      (all.length === 0 ? 'none.' : `'${all.map((fn) => fn.name).join("', '")}'.`),
  );
}

/** A function's return value as JSON. */
export function toJson(data: TypedData | null | undefined): string | null {
  if (data === null || data === undefined) return null;
  if (typeof data.string === 'string') return JSON.stringify(data.string);
  if (typeof data.json === 'string') return data.json;
  if (data.bytes) return JSON.stringify(Buffer.from(data.bytes).toString('base64'));
  const number = data.int ?? data.double;
  return number === null || number === undefined ? null : JSON.stringify(number);
}

export function thrown(error: unknown): { readonly message: string; readonly stack: string } {
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
  return { message, stack };
}
