import type { JobName, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { Observer } from '../core/event';
import type { JobSpec } from '../core/job';
import type { FanOutHandler } from '../handler/define-fan-out';
import type { JobHandler } from '../handler/handler';
import type { ServiceTime } from '../lease/service-time';
import type { LeaseStore } from '../lease/store';
import type { RunningCall } from './bounded';
import type { HandOver } from './give-back';
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
  /** Leases that this process has handed over, by job, until their claim is seen. */
  readonly handOvers: Map<JobName, HandOver>;
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

/** Why this instance is not well, in words. */
export interface Trouble {
  readonly reason: string;
  /** The job that it is about, if it is one. */
  readonly job?: JobName;
}

interface LastingTrouble extends Trouble {
  /** Without their numbers, the reasons that were said since `saidAt`. */
  readonly said: ReadonlySet<string>;
  /** Monotonic: when it was first said, or said again. */
  readonly saidAt: Millis;
}

/** Why this instance is not well. Empty: healthy. */
export class Health {
  readonly #troubles = new Map<string, LastingTrouble>();

  /**
   * @param now monotonic
   * @returns whether to say so: the trouble is new, or its reason is
   */
  trouble(what: string, trouble: Trouble, now: Millis): boolean {
    const { said, saidAt } = this.#troubles.get(what) ?? { said: new Set<string>(), saidAt: now };
    const gist = gistOf(trouble);
    this.#troubles.set(what, { ...trouble, said: new Set([...said, gist]), saidAt });
    return !said.has(gist);
  }

  /** Returns whether this is news. */
  over(what: string): boolean {
    return this.#troubles.delete(what);
  }

  /**
   * The troubles that were last said `ageMs` ago or earlier, each reason once. They count as said again.
   *
   * @param now monotonic
   */
  sayAgain(now: Millis, ageMs: Millis): readonly Trouble[] {
    const again = new Map<string, Trouble>();
    for (const [what, trouble] of this.#troubles) {
      if (now - trouble.saidAt < ageMs) continue;
      const gist = gistOf(trouble);
      again.set(gist, trouble);
      this.#troubles.set(what, { ...trouble, said: new Set([gist]), saidAt: now });
    }
    return [...again.values()];
  }

  get healthy(): boolean {
    return this.#troubles.size === 0;
  }

  get troubles(): ReadonlyMap<string, string> {
    return new Map([...this.#troubles].map(([what, { reason }]) => [what, reason]));
  }
}

/** Reasons that differ by a duration or a count are one. */
function gistOf({ reason }: Trouble): string {
  return reason.replaceAll(/\d+/g, '#');
}
