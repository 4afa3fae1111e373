import type { JobName } from '../../src/core/brand';
import { type Clock, sleep } from '../../src/core/clock';
import type { CoordinatorEvent } from '../../src/core/event';
import type { JobSpec } from '../../src/core/job';
import type { Shard } from '../../src/core/layout';
import { type LedgerRecord, parseRecord } from '../../src/core/record';
import { type Control, NO_CONTROL, decodeControl, encodeControl } from '../../src/core/control';
import { type Row, decodeRow } from '../../src/core/row';
import { dispatch, runTogether } from '../../src/coordinator/attempt/together';
import {
  type Coordinator,
  type Hub,
  type Report,
  type Settings,
  createCoordinator,
} from '../../src/coordinator/coordinator';
import { Load } from '../../src/coordinator/health';
import { drain } from '../../src/coordinator/drain';
import type { Outlet } from '../../src/coordinator/outlet';
import type { JobContext, JobHandler } from '../../src/handler/handler';
import type { AnyHandler } from '../../src/handler/handlers';
import { createConcurrencyLimit } from '../../src/coordinator/concurrency-limit';
import type { ActivityInput, OrchestrationInput } from '../../src/coordinator/message';
import { createTicker, onePokeAtOnce } from '../../src/coordinator/tick/tick';
import type { Poked } from '../../src/core/poked';
import type { LeaseBreaking, LeaseStore } from '../../src/lease/store';
import { type MemoryService, memoryService } from '../../src/stores/memory/store';
import { type HandlerOf, REDELIVERED_AFTER_MS, appHub, gone } from './app-hub';
import { type SettableClock, settableClock } from './clock';
import { playOrchestration } from './orchestrations';

export type SimulatedHandler = (context: JobContext, on: Instance) => unknown;

export interface SimulationOptions {
  readonly jobs: readonly JobSpec[];
  readonly handler?: SimulatedHandler;
  /** Handlers of single jobs, such as those that fan out, by name, created again for each instance. */
  readonly fanOut?: Readonly<Record<string, (on: Instance) => AnyHandler>>;
  readonly deployments?: number;
  readonly start?: number;
  /** The clock of another simulation, of another account. */
  readonly clock?: SettableClock;
  readonly revision?: number;
  readonly sweepIntervalMs?: number;
  /** Other settings of every instance. */
  readonly settings?: Partial<Settings>;
  /** How many handlers each instance runs at once. */
  readonly maxConcurrentRuns?: number | undefined;
  /** The duration of each call to storage. */
  readonly latencyMs?: number | ((call: string) => number);
  /** The tick timer fires this long before its time. */
  readonly ticksEarlyMs?: number;
  /** The random numbers of all instances. Default: 0.5 each time. */
  readonly random?: () => number;
  /** The sender of each instance, if it sends notices. */
  readonly outlet?: (process: Pick<Coordinator, 'store' | 'clock' | 'deployment'>) => Outlet;
  /** Whether instances write the presence of their deployment. */
  readonly presences?: boolean;
  /** Whether the tick timers of all instances are dead, so that only pokes tick. */
  readonly timersDead?: boolean;
}

/** One handler call. */
export interface Call {
  readonly job: string;
  readonly scheduledFor: number;
  readonly at: number;
  readonly attempt: number;
  readonly trigger: string;
  readonly token: number;
  readonly deployment: string;
}

export interface Instance {
  readonly deployment: string;
  readonly coordinator: Coordinator;
  readonly report: Report;
  readonly dead: boolean;
  readonly paused: boolean;
  /** The number of calls of its tick. */
  ticks(): number;
  /** The time in ms of its ticks that have ended, each with a second at least, as they are billed. */
  tickingMs(): number;
  /** Starts a tick from outside. */
  poke(): Promise<Poked | undefined>;
  /** The number of calls of each kind to its store. */
  readonly calls: Map<string, number>;
  /** Kills it, as by `kill -9`. */
  kill(): void;
  drain(): Promise<void>;
  /** Puts its machine's clock ahead by this much. */
  skewMs: number;
  /** Pauses it until it is woken. */
  pause(): void;
  wake(): void;
  /** Makes its task hub lose all new orchestrations. */
  hubDead: boolean;
  /** Its hub gives its messages to others. */
  takesNothing: boolean;
  /** Its timer fires no more. A tick that is under way goes on. */
  timerStopped: boolean;
  /** Its task hub begins the app's orchestrations this late. */
  beginsLateMs: number;
  /** Sets the time that its task hub takes to deliver a message. */
  hubLateMs: (input: ActivityInput) => number;
}

/** What the task hubs of a simulation did, probes left out. */
export interface HubLog {
  readonly orchestrations: { readonly id: string; readonly input: OrchestrationInput; readonly at: number }[];
  readonly activities: ActivityInput[];
  turns: number;
  /** How often they have listed the app's orchestrations. */
  listings: number;
}

export interface RivalTicks {
  readonly clock: SettableClock;
  readonly instances: Instance[];
  readonly calls: Call[];
  readonly events: (CoordinatorEvent & { deployment: string })[];
  /** What is logged as a warning or an error. */
  readonly trouble: string[];
  /** What its task hubs did. */
  readonly hubs: HubLog;
  /** A handle for the test itself. */
  readonly store: LeaseStore & LeaseBreaking;
  readonly service: MemoryService;
  startInstance(
    deployment: string,
    changes?: { jobs?: readonly JobSpec[]; revision?: number; place?: Shard },
  ): Instance;
  row(job: string): Promise<Row>;
  records(job: string): Promise<LedgerRecord[]>;
  control(job: string, change: (control: Control) => Control): Promise<void>;
}

const TICK_MS = 15_000;
const TICK_OFFSET_MS = 10_000;

/** Several deployments over one in-memory store, on one clock that the test moves. */
export function rivalTicks(options: SimulationOptions): RivalTicks {
  const clock = options.clock ?? settableClock(options.start ?? Date.UTC(2026, 0, 1, 0, 0, 0));
  const service = memoryService(clock);
  const store = service.open();
  const calls: Call[] = [];
  const events: RivalTicks['events'] = [];
  const trouble: string[] = [];
  const instances: Instance[] = [];
  let ids = 0;

  const hubLog: HubLog = { orchestrations: [], activities: [], turns: 0, listings: 0 };
  const hubs = new Map<string, (instance: Instance) => Hub>();
  const hubFor = (instance: Instance): Hub => {
    const { deployment } = instance;
    const hub =
      hubs.get(deployment) ??
      hubOf(clock, { log: hubLog, handlerOf: (job, on) => options.fanOut?.[job]?.(on) }, () =>
        instances.filter((other) => other.deployment === deployment),
      );
    hubs.set(deployment, hub);
    return hub(instance);
  };

  const startInstance: RivalTicks['startInstance'] = (deployment, changes = {}) => {
    const specs = changes.jobs ?? options.jobs;
    const life = { dead: false, paused: undefined as undefined | (() => void)[] };
    const instanceClock = clockOf(clock, life, () => instance.skewMs);
    const counted = new Map<string, number>();
    const fanOut = (name: string): AnyHandler | undefined => options.fanOut?.[name]?.(instance);
    const single: JobHandler = {
      run: (context: JobContext) => {
        calls.push({
          job: context.job,
          scheduledFor: context.scheduledFor.getTime(),
          at: clock.now(),
          attempt: context.attempt,
          trigger: context.trigger,
          token: context.fence.token,
          deployment,
        });
        return options.handler?.(context, instance);
      },
    };
    const ownStore = storeOf(
      service.open(),
      life,
      counted,
      (delay) => sleep(instanceClock, delay),
      options.latencyMs ?? 0,
    );
    const coordinator = createCoordinator(
      {
        store: ownStore,
        clock: instanceClock,
        random: options.random ?? (() => 0.5),
        newId: () => {
          ids += 1;
          return `${String(ids).padStart(8, '0')}-0000-4000-8000-000000000000`;
        },
        deployment,
        ...(options.presences === true && {
          presence: {
            instance: `i${String(instances.length)}`,
            version: '0',
            hubAccount: undefined,
            tickEveryMs: TICK_MS,
          },
        }),
        ...(changes.place !== undefined && { place: changes.place }),
        revision: changes.revision ?? options.revision ?? 0,
        jobs: new Map(
          specs.map((spec) => [
            spec.name,
            {
              spec,
              input: spec.input,
              get handler() {
                return fanOut(spec.name) ?? single;
              },
            },
          ]),
        ),
        settings: {
          lookAheadMs: 5_000,
          sweepIntervalMs: options.sweepIntervalMs ?? 60_000,
          functionTimeoutMs: 30 * 60_000,
          ...options.settings,
        },
        ...(options.maxConcurrentRuns !== undefined && {
          concurrencyLimit: createConcurrencyLimit(instanceClock, options.maxConcurrentRuns),
        }),
      },
      new Load(() => 0),
    );
    coordinator.outlet = options.outlet?.(coordinator);
    const report: Report = {
      event: (event) => events.push({ ...event, deployment }),
      log: (level, ...message) => {
        if (level === 'warn' || level === 'error') trouble.push(message.map(String).join(' '));
      },
    };
    let ticks = 0;
    let tickingMs = 0;
    const ticker = createTicker(coordinator);
    const poke = onePokeAtOnce(coordinator, ticker);
    const instance: Instance = {
      ticks: () => ticks,
      tickingMs: () => tickingMs,
      poke: () => poke(hubFor(instance), report),
      deployment,
      coordinator,
      report,
      get dead() {
        return life.dead;
      },
      get paused() {
        return life.paused !== undefined;
      },
      calls: counted,
      skewMs: 0,
      hubDead: false,
      takesNothing: false,
      timerStopped: false,
      beginsLateMs: 0,
      hubLateMs: () => 5,
      kill: () => {
        life.dead = true;
      },
      drain: () => drain(coordinator),
      pause: () => {
        life.paused ??= [];
      },
      wake: () => {
        const held = life.paused ?? [];
        life.paused = undefined;
        for (const run of held) run();
      },
    };
    instances.push(instance);
    const onTick = (): void => {
      ticks += 1;
    };
    if (options.timersDead !== true) {
      const tick = async (nextFire: (after: number) => number): Promise<void> => {
        if (instance.timerStopped) return;
        onTick();
        const from = clock.now();
        await ticker.tick(hubFor(instance), nextFire, report);
        tickingMs += Math.max(1_000, clock.now() - from);
      };
      void tickLoop(coordinator, tick, options.ticksEarlyMs ?? 0);
    }
    return instance;
  };
  for (let index = 0; index < (options.deployments ?? 1); index += 1) startInstance(`d${String(index + 1)}`);

  return {
    clock,
    instances,
    calls,
    events,
    trouble,
    hubs: hubLog,
    store,
    service,
    startInstance,
    row: async (job) => {
      const found = await store.readRow(job as JobName);
      if (found === undefined) throw new Error(`no row of ${job}`);
      return decodeRow(found.metadata);
    },
    records: async (job) => {
      const { records } = await store.listRecords(job as JobName, { limit: 5000 });
      return Promise.all(
        records.map(async ({ key }) => {
          const found = await store.readRecord(job as JobName, key);
          if (found === undefined) throw new Error(`no record ${key}`);
          return parseRecord(job as JobName, key, found.body);
        }),
      );
    },
    control: async (job, change) => {
      const { control } = await store.readControl(job as JobName);
      const current = control === undefined ? NO_CONTROL : decodeControl(control.metadata);
      await store.writeControl(job as JobName, encodeControl(change(current)), control?.etag);
    },
  };
}

async function tickLoop(
  coordinator: Coordinator,
  tick: (nextFire: (after: number) => number) => Promise<void>,
  earlyMs: number,
): Promise<void> {
  const { clock } = coordinator;
  const nextFire = (after: number): number =>
    Math.floor((after - TICK_OFFSET_MS) / TICK_MS + 1) * TICK_MS + TICK_OFFSET_MS;
  while (!coordinator.stopping) {
    await sleep(clock, nextFire(clock.now() + earlyMs) - earlyMs - clock.now());
    await tick(nextFire);
  }
}

/** One deployment's task hub in memory: its instances take turns at its activities. */
function hubOf(
  clock: Clock,
  { log, handlerOf }: { readonly log: HubLog; readonly handlerOf: HandlerOf },
  workers: () => readonly Instance[],
): (instance: Instance) => Hub {
  const orchestrations = new Map<string, 'pending' | 'completed' | 'failed'>();
  const app = appHub(clock, { handlerOf, log }, workers);
  let turn = 0;
  const deliver = async (input: ActivityInput, lateMs: number): Promise<unknown> => {
    await sleep(clock, lateMs);
    for (;;) {
      const able = workers().filter(
        (worker) => !worker.dead && !worker.hubDead && !worker.takesNothing && !worker.coordinator.stopping,
      );
      turn += 1;
      const worker = able[turn % Math.max(1, able.length)];
      if (worker !== undefined) {
        const answer =
          input.kind === 'together'
            ? runTogether(input, () => worker, hubFor(worker))
            : dispatch(worker.coordinator, input, worker.report);
        const result = await Promise.race([answer, gone(clock, worker)]);
        if (result !== undefined) return result;
      }
      await sleep(clock, REDELIVERED_AFTER_MS);
    }
  };
  const hubFor = (instance: Instance): Hub => ({
    start: async (id, input) => {
      if (orchestrations.has(id)) return;
      orchestrations.set(id, 'pending');
      if (instance.hubDead) return;
      const isLogged = input.kind !== 'probe';
      if (isLogged) log.orchestrations.push({ id, input, at: clock.now() });
      const durable = {
        activity: (next: ActivityInput) => {
          if (isLogged) log.activities.push(next);
          return deliver(next, instance.hubLateMs(next));
        },
        app: app.begin,
        onTurn: () => {
          if (isLogged) log.turns += 1;
        },
        timer: (at: Date) => sleep(clock, at.getTime() - clock.now()),
      };
      playOrchestration(durable, input).then(
        () => orchestrations.set(id, 'completed'),
        () => orchestrations.set(id, 'failed'),
      );
    },
    status: async (id) => orchestrations.get(id) ?? 'unknown',
    purge: async () => 0,
    orchestrations: app,
  });
  return hubFor;
}

interface Life {
  dead: boolean;
  paused: (() => void)[] | undefined;
}

function clockOf(clock: Clock, life: Life, skew: () => number): Clock {
  return {
    now: () => clock.now() + skew(),
    monotonic: () => clock.monotonic(),
    after: (delay, run) =>
      clock.after(delay, () => {
        if (life.dead) return;
        if (life.paused === undefined) run();
        else life.paused.push(run);
      }),
  };
}

/** A store that counts its calls, and never answers a dead instance. */
function storeOf(
  store: LeaseStore,
  life: Life,
  counted: Map<string, number>,
  wait: (ms: number) => Promise<void>,
  latency: number | ((call: string) => number),
): LeaseStore {
  return new Proxy(store, {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return async (...parameters: unknown[]) => {
        if (life.dead) return new Promise(() => undefined);
        counted.set(property, (counted.get(property) ?? 0) + 1);
        const latencyMs = typeof latency === 'number' ? latency : latency(property);
        if (latencyMs > 0) await wait(latencyMs / 2);
        const answer: unknown = await Reflect.apply(member, target, parameters);
        if (latencyMs > 0) await wait(latencyMs / 2);
        if (life.dead) return new Promise(() => undefined);
        return answer;
      };
    },
  });
}
