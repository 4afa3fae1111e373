import type { JobName, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { Observer } from '../core/event';
import type { JobSpec } from '../core/job';
import type { ServiceTime } from '../lease/service-time';
import type { LeaseStore } from '../lease/store';
import type { RunningCall } from './bounded';
import type { FanOutHandler } from './define-fan-out';
import type { JobHandler } from './handler';
import type { AttemptInput } from './message';

/** A job as this process can run it. */
export interface RunnableJob {
  readonly spec: JobSpec;
  readonly handler: JobHandler | FanOutHandler;
  /** What the handler's schema made of the job's input. */
  readonly input: unknown;
}

export interface Settings {
  /** How long before its due time an occurrence may be claimed. */
  readonly lookAheadMs: Millis;
  /** How old the last listing may be. */
  readonly sweepIntervalMs: Millis;
  /** No attempt lasts longer than this: the host would kill it, and its neighbours. */
  readonly functionTimeoutMs: Millis;
}

/** What the use cases share: one for each process. */
export interface Coordinator {
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly serviceTime: ServiceTime;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A new GUID. */
  readonly newId: () => string;
  /** The function app that this process belongs to: a region, a slot, a blue or green side. */
  readonly deployment: string;
  /** Of the jobs file. */
  readonly revision: number;
  readonly jobs: ReadonlyMap<JobName, RunnableJob>;
  readonly settings: Settings;
  /** What this process says of itself in storage; undefined: nothing. */
  readonly presence?: PresenceFacts;
  readonly health: Health;
  /** The attempts and items that run in this process. */
  readonly running: Set<RunningCall>;
  /** The ticks that go on in this process. */
  readonly ticks: Set<RunningTick>;
  /** Set for good once the instance is being shut down: nothing more is claimed. */
  stopping: boolean;
  /** Monotonic: when a tick was here last. */
  tickedAt?: Millis;
}

/** A tick, as a shutdown sees it. */
export interface RunningTick {
  /** It may be waiting: it is to look at `stopping`. */
  wake(): void;
  readonly done: Promise<void>;
}

/** What only the place where things are put together knows of this process. */
export interface PresenceFacts {
  /** Of this start. */
  readonly instance: string;
  readonly version: string;
  /** Whose storage account the task hub is in, without secrets. */
  readonly hubAccount: string | undefined;
}

/** Durable, as the tick needs it: one task hub. */
export interface Hub {
  /** Where it is known. */
  readonly name?: string;
  /** Starts the orchestration, or finds it started already under this id. */
  start(orchestration: string, input: AttemptInput): Promise<void>;
  status(orchestration: string): Promise<'pending' | 'completed' | 'failed' | 'unknown'>;
  /** Drops the histories of orchestrations that were created in this span and have finished. */
  purge(span: { readonly from: Date; readonly to: Date }): Promise<void>;
}

/** Where one invocation writes. */
export interface Report {
  readonly event: Observer;
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', ...message: unknown[]) => void;
}

/** Why this instance is not well. Empty: healthy. */
export class Health {
  readonly #troubles = new Map<string, string>();

  /** Returns whether this is news. */
  trouble(what: string, message: string): boolean {
    const news = !this.#troubles.has(what);
    this.#troubles.set(what, message);
    return news;
  }

  /** Returns whether this is news. */
  over(what: string): boolean {
    return this.#troubles.delete(what);
  }

  get healthy(): boolean {
    return this.#troubles.size === 0;
  }

  get troubles(): ReadonlyMap<string, string> {
    return this.#troubles;
  }
}
