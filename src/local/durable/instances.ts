import type { Command } from './actions';
import { EventType, type HistoryEvent, historyEvent } from './history';

/** The extension's names. `Canceled`, `ContinuedAsNew` and `Suspended` do not occur here. */
export type RuntimeStatus = 'Pending' | 'Running' | 'Completed' | 'Failed' | 'Terminated';

/** One orchestration instance. Payloads are JSON texts. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  readonly status: RuntimeStatus;
  readonly input: string;
  /** The parent of a sub-orchestration, and the parent's task. */
  readonly parent: { readonly id: string; readonly execution: number; readonly task: number } | undefined;
  readonly output: string | undefined;
  readonly customStatus: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Empty once the instance has ended. */
  readonly history: readonly HistoryEvent[];
}

/** The hub's own view of an instance. */
export type LiveInstance = { -readonly [K in keyof Instance]: Instance[K] } & {
  history: HistoryEvent[];
  /** Events that no episode has seen yet. */
  inbox: HistoryEvent[];
  /** Grows with each new start, and at the end: the outcome of an earlier execution is dropped. */
  execution: number;
  /** Running timers, by number: a call of the function cancels the timer. */
  readonly timers: Map<number, () => void>;
  /** Tasks that have not ended, by number; sub-orchestrations continue by themselves. */
  readonly pending: Map<number, Pending>;
  /** An episode is running, or about to. */
  busy: boolean;
  /** When the host took the messages of the episode that is running. */
  episodeAt: number | undefined;
};

/** A task that an orchestration waits for, and that its hub must continue after a restart. */
export interface Pending {
  readonly command: Exclude<Command, { readonly kind: 'subOrchestration' }>;
  /** When a host took the message of the activity, or of the request. */
  readonly takenAt?: number;
}

/** The newest ended instances are kept, up to this number and size. */
const KEEP_FINISHED = 1000;
const KEEP_FINISHED_CHARACTERS = 8 * 1024 * 1024;

export function isFinished(status: RuntimeStatus): boolean {
  return status === 'Completed' || status === 'Failed' || status === 'Terminated';
}

export function cancelTimers(instance: LiveInstance): void {
  for (const cancel of instance.timers.values()) cancel();
  instance.timers.clear();
}

/** All instances of a hub. */
export type Instances = ReturnType<typeof createInstances>;

export function createInstances() {
  const instances = new Map<string, LiveInstance>();
  /** The ended instances, oldest first, with their sizes. */
  const finished = new Map<string, number>();
  let characters = 0;

  /** Forgets an instance that has ended; false if there is none. */
  const purge = (id: string): boolean => {
    const size = finished.get(id);
    if (size === undefined) return false;
    characters -= size;
    finished.delete(id);
    return instances.delete(id);
  };
  return {
    get: (id: string): LiveInstance | undefined => instances.get(id),
    list: (): Iterable<LiveInstance> => instances.values(),
    /** Adds an instance, in place of one with the same id. */
    add(instance: LiveInstance): void {
      purge(instance.id);
      instances.set(instance.id, instance);
    },
    /** Ends an instance. This may forget the oldest ended ones. */
    finish(instance: LiveInstance, status: RuntimeStatus, output: string): void {
      cancelTimers(instance);
      instance.execution++;
      instance.status = status;
      instance.output = output;
      instance.updatedAt = Date.now();
      instance.history = [];
      instance.inbox = [];
      instance.pending.clear();
      instance.episodeAt = undefined;
      const size = instance.input.length + output.length + (instance.customStatus?.length ?? 0);
      finished.set(instance.id, size);
      characters += size;
      for (const id of finished.keys()) {
        if ((finished.size <= KEEP_FINISHED && characters <= KEEP_FINISHED_CHARACTERS) || id === instance.id) break;
        purge(id);
      }
    },
    purge,
  };
}

/** The request is not valid: an unknown function, or an id that is not allowed. */
export class InvalidRequestError extends Error {
  readonly code = 'InvalidRequest';
  override readonly name = 'InvalidRequestError';
}

export function newInstance(id: string, name: string, input: string, parent: Instance['parent']): LiveInstance {
  const now = Date.now();
  return {
    id,
    name,
    input,
    parent,
    status: 'Pending',
    output: undefined,
    customStatus: undefined,
    createdAt: now,
    updatedAt: now,
    history: [],
    inbox: [executionStarted({ name, input })],
    execution: 0,
    timers: new Map(),
    pending: new Map(),
    busy: false,
    episodeAt: undefined,
  };
}

export function executionStarted({ name, input }: Pick<Instance, 'name' | 'input'>): HistoryEvent {
  return historyEvent({ EventType: EventType.ExecutionStarted, Name: name, Input: input });
}

/** The extension's own rules. */
export function checkInstanceId(id: string): string {
  if (id.startsWith('@')) throw new InvalidRequestError('Orchestration instance ids must not start with @.');
  if (/[/\\#?\p{Cc}]/u.test(id)) {
    throw new InvalidRequestError('Orchestration instance ids must not contain /, \\, #, ?, or control characters.');
  }
  if (id.length > 100) throw new InvalidRequestError('Instance ID lengths must not exceed 100 characters.');
  return id;
}
