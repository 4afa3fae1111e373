import type { AttemptLoss } from '../core/past-attempt';
import type { JobName, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { Cordon } from '../core/fleet';
import type { JobSpec } from '../core/job';
import type { Allowance, Shard } from '../core/layout';
import type { Redact } from '../core/redact';
import type { RecentRun } from '../core/recent';
import type { AnyHandler } from '../handler/handlers';
import { type ServiceTime, serviceTime } from '../lease/service-time';
import type { LeaseStore } from '../lease/store';
import type { RunningCall } from './bounded';
import { HandOvers } from './hand-overs';
import { Health, Load } from './health';
import type { Outlet } from './outlet';
import type { ConcurrencyLimit } from './concurrency-limit';
import type { Telemetry } from './telemetry';

export type { Hub } from './hub';
export type { Report, Speaker } from './outlet';

/** A job as this process can run it. */
export interface RunnableJob {
  readonly spec: JobSpec;
  readonly handler: AnyHandler;
  /** The job's input, parsed by the handler's schema. */
  readonly input: unknown;
}

export interface Settings {
  /** How early a due time may be claimed, where little is due at once. */
  readonly lookAheadMs: Millis;
  /** The longest that this time may become before a burst of due times. Absent: it does not grow. */
  readonly longestLookAheadMs?: Millis;
  /** How many claims this process makes every second, until it has measured that. */
  readonly claimsPerSecond?: number;
  /** How many attempts the host runs at the same time in this process. Absent: no limit is known. */
  readonly attemptsAtOnce?: number;
  /** The longest time between two listings. */
  readonly sweepIntervalMs: Millis;
  /** No attempt lasts longer than this: the host would kill it, and every other call in its process. */
  readonly functionTimeoutMs: Millis;
}

/** What a process needs to coordinate the jobs of one storage account. Nothing of it changes while the process runs. */
export interface Env {
  readonly store: LeaseStore;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A new GUID. */
  readonly newId: () => string;
  /** The function app that this process belongs to: a region, a slot, a blue or green side. */
  readonly deployment: string;
  readonly revision: number;
  readonly jobs: ReadonlyMap<JobName, RunnableJob>;
  readonly settings: Settings;
  /** Hides secrets in what handlers say before it is stored; undefined: nothing is secret. */
  readonly redact?: Redact;
  /** The facts about itself that this process stores; undefined: it stores none. */
  readonly presence?: PresenceFacts;
  /** The handlers that may run at once; undefined: as many as the host runs activities. */
  readonly concurrencyLimit?: ConcurrencyLimit;
  /**
   * The accounts over which the jobs are dealt, and which of them this one is; undefined: the store is the only one.
   */
  readonly place?: Shard;
}

/** What a process has seen and begun since its start. Ticks and attempts share it. */
export interface ProcessState {
  readonly serviceTime: ServiceTime;
  /** The notices and pings that are being sent, each with its job. */
  readonly sends: Map<Promise<void>, JobName | ''>;
  readonly health: Health;
  readonly load: Load;
  readonly running: Set<RunningCall>;
  readonly ticks: Set<RunningTick>;
  readonly handOvers: HandOvers;
  /** The last run of each job that ended in this process. */
  readonly ended: Map<JobName, RecentRun>;
  /**
   * Of each job, the last attempt of this process that lost its lease, with the reason, which only this process knows.
   */
  readonly losses: Map<JobName, { readonly token: number; readonly loss: AttemptLoss }>;
  /** Sends notices and pings; undefined: other deployments send them. */
  outlet?: Outlet | undefined;
  /** Keeps this deployment from new claims, as the last sweep read it. */
  cordon?: Cordon | undefined;
  /** What the account's layout allows this deployment, as the last sweep read it. */
  allowance?: Allowance;
  /** Receives metrics and spans; undefined: they are not wanted, or they cannot be received yet. */
  telemetry?: Telemetry | undefined;
  /** Set permanently once a shutdown has begun: this process claims nothing more. */
  stopping: boolean;
  /** Monotonic: when a tick last ran in this process. */
  tickedAt?: Millis;
}

/** One for each process and storage account. Decision 044. */
export interface Coordinator extends Env, ProcessState {}

export function createCoordinator(env: Env, load = new Load()): Coordinator {
  return {
    ...env,
    serviceTime: serviceTime(env.clock),
    sends: new Map(),
    health: new Health(),
    load,
    running: new Set(),
    ticks: new Set(),
    handOvers: new HandOvers(),
    ended: new Map(),
    losses: new Map(),
    stopping: false,
  };
}

/** Where handlers must not write: the coordination containers. */
export function keptFromHandlers({
  place,
  store,
}: {
  readonly place?: Shard;
  readonly store: Pick<LeaseStore, 'location'>;
}): readonly string[] {
  return place?.accounts ?? [store.location];
}

/** A tick, as a shutdown sees it. */
export interface RunningTick {
  /** Ends a wait of the tick, so that it checks `stopping`. */
  wake(): void;
  readonly done: Promise<void>;
}

/** Facts about this process that only the composition root can supply. */
export interface PresenceFacts {
  /** A new id for each start of the process. */
  readonly instance: string;
  readonly version: string;
  /** The storage account of the task hub, without secrets. */
  readonly hubAccount: string | undefined;
  /** The longest time between two fires of its timer. */
  readonly tickEveryMs: Millis;
}
