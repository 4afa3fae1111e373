import type { JobName } from '../../../src/core/brand';
import type { JobContext } from '../../../src/handler/handler';
import type { RunnableJob } from '../../../src/coordinator/coordinator';
import type { FencedBlob } from '../../../src/lease/fence';
import type { LeaseStore } from '../../../src/lease/store';
import { type MemoryService, memoryService } from '../../../src/stores/memory/store';
import { type FixedLengths, type Gone, openAccount } from './account';
import { type TargetBlob, blobOver, createTarget } from './blob';
import type { Election } from './candidates';
import { type CallMeter, callMeter } from './call-meter';
import { type CallTarget, createCallTarget, simulatedCall } from './call-target';
import { type Actor, FIRST_STORE, NEXT_STORE } from './facts';
import { type Faults, createFaults } from '../faults/faults';
import { longestWait } from '../../../src/core/early-claim';
import { STORE_LIMITS } from '../../../src/stores/limits';
import { behave, fanOutHandler } from './handlers';
import { type App, createTaskHub } from './hub';
import { orchestrationHandler, simulatedActivity, simulatedApp } from './orchestrations';
import { type Deployment, type Instance, LOOK_AHEAD_MS, startInstance } from './instance';
import { type Network, type Outage, callOver, storeOver } from './network';
import { type Observer, createObserver } from './observer';
import type { Plan, PlannedInstance } from '../faults/plan';
import { firstSpec } from '../faults/plan-job';
import { createProcess } from './process';
import { seededBy, seededAt, seedOf } from '../faults/random';
import { specFor } from '../faults/schedules';
import { type Timeline, createTimeline } from './timeline';
import { type Trace, createTrace } from './trace';

/** The history's first instant. */
export const START = Date.UTC(2026, 0, 1);
/** A clock with a smaller error than this counts as right. */
const CLOCK_IS_RIGHT_MS = 50;
/** The host's timer lock passes on from an instance that is stuck. */
const TIMER_PASSES_ON_MS = 60_000;

/** The world of a history. */
export interface World {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly trace: Trace | undefined;
  readonly observer: Observer;
  readonly faults: Faults;
  readonly service: MemoryService;
  /** The service at a location. There is a second one if jobs move. */
  readonly serviceAt: (location: string) => MemoryService;
  readonly fixedLengths: FixedLengths | undefined;
  /** Storage for operators whose calls do not fail. */
  readonly storeAt: (location: string) => LeaseStore;
  readonly deployments: readonly Deployment[];
  /** The instance in each place, by the place's index: a dead one until its successor starts. */
  readonly places: Map<number, Instance>;
  readonly targets: ReadonlyMap<string, TargetBlob>;
  /** The target of jobs that are calls. */
  readonly callTarget: CallTarget;
  readonly counts: { calls: number; handlers: number; events: number };
  /** The number of starts in each place. */
  readonly starts: Map<number, number>;
  /** Until when the service refuses the process in a place. */
  readonly deniedUntil: Map<number, number>;
  /** How many operators there were. */
  operators: number;
  election: Election | undefined;
  outage: Outage | undefined;
  /** How calls to the storage account fail after its loss, until it has failed over. */
  gone: Gone | undefined;
  /** People have stopped every deployment. */
  stopped: boolean;
  /** The storage account fails over, and not everyone is back yet. */
  failingOver: boolean;
  /** The jobs move to another store, once those of a lost account are recovered, or have moved. */
  migration: 'waiting' | 'moving' | 'over' | undefined;
  /** The number of times the account has failed over. */
  failovers: number;
  troubled: boolean;
}

export function createWorld(plan: Plan, traced: boolean): World {
  const timeline = createTimeline();
  const trace = traced ? createTrace(timeline.now) : undefined;
  const faults = createFaults(plan.seed, plan.faults);
  const observer = createObserver(
    new Map(plan.jobs.map((job) => [firstSpec(job).name, [...job.specs, ...(job.rival ? [job.rival] : [])]])),
    timeline,
    START,
    { trace, limit: plan.maxConcurrentRuns },
  );
  const serviceOf = (location?: string): MemoryService =>
    memoryService({ now: serviceDates(plan, timeline), monotonic: timeline.now, after: timeline.after }, location);
  const service = serviceOf();
  const next = plan.disturbances.some(({ kind }) => kind === 'migrate') ? serviceOf(NEXT_STORE) : undefined;
  const serviceAt = (location: string): MemoryService => (location === FIRST_STORE ? service : (next ?? service));
  for (const { orchestration, ...job } of plan.jobs) {
    if (orchestration !== undefined)
      observer.orchestration(firstSpec({ orchestration, ...job }).name, orchestration.takeOverAfterMs);
  }
  const app = simulatedApp(() => world);
  const world: World = {
    plan,
    timeline,
    trace,
    observer,
    faults,
    service,
    serviceAt,
    fixedLengths: fixedLengths(plan, trace),
    storeAt: (location) =>
      observer.watch(
        openAccount(serviceAt(location), () => world.gone),
        OPERATOR,
      ),
    deployments: Array.from({ length: plan.deployments }, (_, index) =>
      createDeployment(`d${String(index)}`, timeline, trace, { faults, hubLateMs: plan.hubLateMs ?? 0, app }),
    ),
    places: new Map(),
    targets: new Map(
      plan.jobs.map((job) => {
        const { name } = firstSpec(job);
        return [
          name,
          createTarget((token) => {
            observer.fencedWrite(name, token);
          }),
        ];
      }),
    ),
    callTarget: createCallTarget(),
    counts: { calls: 0, handlers: 0, events: 0 },
    starts: new Map(),
    deniedUntil: new Map(),
    operators: 0,
    election: undefined,
    outage: undefined,
    gone: undefined,
    stopped: false,
    failingOver: false,
    migration: undefined,
    failovers: 0,
    troubled: true,
  };
  return world;
}

/** A quarter of the histories have a service that refuses to change the length of a lease. */
function fixedLengths({ seed }: Plan, trace: Trace | undefined): FixedLengths | undefined {
  if (!seededBy(seed, 'lengths').chance(0.25)) return undefined;
  trace?.add('store', 'the lengths of leases stay as they are');
  return new Map();
}

/** The machines of a storage service do not agree about the time. */
function serviceDates({ seed, dateJitterMs = 0 }: Plan, timeline: Timeline): () => number {
  const random = seededBy(seed, 'dates');
  return () => START + Math.floor(timeline.now()) - random.whole(0, dateJitterMs);
}

/** People. */
export const OPERATOR: Actor = {
  id: 'operator',
  deployment: '',
  revision: 0,
  spec: () => undefined,
  error: () => 0,
  mostError: () => 0,
  largestErrorSent: new Map(),
  skewed: () => false,
  hubDeadSince: () => undefined,
  lookAheadMs: 0,
  unread: new Set(),
  views: new Map(),
};

function createDeployment(
  name: string,
  timeline: Timeline,
  trace: Trace | undefined,
  { faults, hubLateMs, app }: { readonly faults: Faults; readonly hubLateMs: number; readonly app: App },
): Deployment {
  const instances: Instance[] = [];
  const hub = createTaskHub({
    name,
    timeline,
    trace,
    messages: faults.stream(name),
    start: START,
    app,
    workers: () => instances.filter(({ process }) => !process.dead),
  });
  hub.lateMs = hubLateMs;
  return { name, hub, instances, ticking: undefined, revision: 0, home: FIRST_STORE, deadSince: undefined };
}

/** Starts an instance in its place, with the newest jobs file that its deployment has. */
export function start(world: World, place: PlannedInstance): void {
  const { plan, timeline, trace, observer } = world;
  const deployment = world.deployments[place.deployment];
  if (deployment === undefined || world.stopped) return;
  const times = (world.starts.get(place.index) ?? 0) + 1;
  world.starts.set(place.index, times);
  const id = `${deployment.name}.${String(place.index)}#${String(times)}`;
  const process = createProcess(id, timeline, START, place.clock);
  const meter = callMeter(timeline.now, plan.jobs.length, (calls) => {
    observer.report('loopsHot', 'all', `${id} makes ${String(calls)} calls in a minute`);
  });
  const network = networkOf(world, place, id, meter);
  const specs = plan.jobs.flatMap((job) => specFor(job, deployment.revision, place.deployment) ?? []);
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  let mostError = 0;
  const actor: Actor = {
    id,
    deployment: deployment.name,
    revision: deployment.revision,
    spec: (job) => byName.get(job),
    lookAheadMs: plan.claimsPerSecond === undefined ? LOOK_AHEAD_MS : longestWait(STORE_LIMITS.leaseMs.most),
    unread: new Set(),
    error: () => {
      const error = instance.coordinator.serviceTime.now() - (START + timeline.now());
      mostError = Math.max(mostError, error);
      return error;
    },
    mostError: () => mostError,
    largestErrorSent: new Map(),
    skewed: () => Math.abs(process.clock.now() - (START + timeline.now())) > CLOCK_IS_RIGHT_MS,
    hubDeadSince: () => deployment.deadSince,
    views: new Map(),
  };
  const passing = {
    sent: (method: string, parameters: readonly unknown[]) => {
      observer.sent(actor, method, parameters);
    },
    listed: (listing: Parameters<Observer['listed']>[1]) => {
      observer.listed(actor, listing);
    },
  };
  const instance = startInstance({
    process,
    deployment,
    specs,
    presences: plan.presences === true,
    store: storeOver(
      network,
      process,
      observer.watch(
        openAccount(world.serviceAt(deployment.home), () => world.gone, world.fixedLengths),
        actor,
      ),
      passing,
    ),
    random: seededAt(seedOf(plan.seed, 'process', place.index), times),
    trace,
    ...{ claimsPerSecond: plan.claimsPerSecond, maxConcurrentRuns: plan.maxConcurrentRuns },
    controlUnread: (job) => {
      actor.unread.add(job);
    },
    activity: (input, on) =>
      simulatedActivity(
        world,
        input,
        on,
        targetOf(world, input.cronlease.job, on, { actor, network, meter }, () => undefined),
      ),
    handlerOf: (job, on) => handlerOf(world, job, on, { actor, network, meter }),
    said: (event) => {
      observer.event(actor, event);
    },
    handedOver: (job, leaseId) => {
      observer.handedOver(actor, job, leaseId);
    },
    broken: (kind, what) => {
      observer.report(kind, 'all', `${id}: ${what}`);
    },
    mayTick: (asking) => mayTick(asking, timeline.now()),
  });
  world.places.set(place.index, instance);
  trace?.add(id, 'started');
}

/** A deployment's tick timer fires on one of its instances, as long as that one is well. */
function mayTick(asking: Instance, now: number): boolean {
  const { deployment } = asking;
  const { ticking } = deployment;
  const gone = ticking === undefined || ticking.process.dead || ticking.leaving;
  const stuck = ticking?.pausedSince !== undefined && now - ticking.pausedSince > TIMER_PASSES_ON_MS;
  if (gone || stuck) {
    deployment.ticking = asking;
    asking.ticksSince = now;
  }
  return deployment.ticking === asking;
}

function networkOf(world: World, place: PlannedInstance, id: string, meter: CallMeter): Network {
  const { timeline, trace, counts, faults } = world;
  return {
    timeline,
    trace,
    calls: faults.stream(id),
    slowMs: place.slowMs ?? 0,
    outage: () => world.gone ?? world.outage,
    era: () => timeline.leapt() + world.failovers,
    denied: () => (world.deniedUntil.get(place.index) ?? 0) > timeline.now(),
    // A call that was sent before the end of the faults may still be under way.
    crash: (back) => {
      if (world.troubled) kill(world, place, back);
    },
    pause: (lasts, asleep) => {
      if (world.troubled) pause(world, place, lasts, asleep);
    },
    called: () => {
      counts.calls += 1;
      meter.called();
    },
  };
}

interface Place {
  readonly actor: Actor;
  readonly network: Network;
  readonly meter: CallMeter;
}

function handlerOf(world: World, job: JobName, on: Instance, place: Place): RunnableJob['handler'] {
  const { fanOut, call, orchestration } = world.plan.jobs.find((planned) => firstSpec(planned).name === job) ?? {};
  if (call !== undefined) {
    return simulatedCall(world, call, on.process, (context, work) => handle(world, context, on, place, work));
  }
  if (orchestration !== undefined) return orchestrationHandler(orchestration);
  const run = (context: JobContext): Promise<unknown> => handle(world, context, on, place);
  if (fanOut === undefined) return { run };
  const blob = targetOf(world, job, on, place, () => undefined);
  return fanOutHandler(world, fanOut, on.process, { run, begun: place.meter.item, blob });
}

/** @param work Default: that of a handler, which behaves as planned. */
async function handle(
  world: World,
  context: JobContext,
  on: Instance,
  place: Place,
  work?: () => Promise<unknown>,
): Promise<unknown> {
  const { plan, observer, trace } = world;
  const { process } = on;
  const { actor, meter } = place;
  const { job, attempt, runId } = context;
  const execution = observer.handlerStarted({ context, process, actor });
  world.counts.handlers += 1;
  meter.attempt(`${runId} ${String(attempt)}`);
  trace?.add(
    process.id,
    `${job} handler of ${runId} attempt ${String(attempt)} starts (${context.trigger}, token ${String(context.fence.token)})`,
  );
  const blob = targetOf(world, job, on, place, (token) => {
    observer.fencedWriteSent(job, token);
  });
  const random = seededBy(plan.seed, 'handler', job, runId, attempt);
  const planned = world.troubled ? plan.jobs.find((one) => firstSpec(one).name === (job as JobName)) : undefined;
  let returned = false;
  try {
    const result = await (work?.() ?? behave(context, process.clock, blob, random, planned));
    returned = true;
    return result;
  } finally {
    observer.handlerEnded(execution, returned);
    trace?.add(process.id, `${job} handler of ${runId} attempt ${String(attempt)} ${returned ? 'returns' : 'throws'}`);
  }
}

/** The blob of a job's handlers, through the network of one process. */
function targetOf(
  world: World,
  job: string,
  { process }: Instance,
  { network }: Place,
  sent: (token: number) => void,
): FencedBlob {
  const target = world.targets.get(job);
  if (target === undefined) throw new Error(`no target of ${job}`);
  return blobOver(target, (kind, apply) => callOver(network, process, { kind: `${job} ${kind}`, apply }), sent);
}

export function restart(world: World, place: PlannedInstance, back: number): void {
  world.timeline.after(back, () => {
    if (world.places.get(place.index)?.process.dead !== false) start(world, place);
  });
}

/** Kills the instance, as by `kill -9`, or lets it exit. */
export function kill(world: World, place: PlannedInstance, back: number, exits = false): void {
  const instance = world.places.get(place.index);
  if (instance === undefined || instance.process.dead) return;
  if (exits) instance.process.exit();
  else instance.process.kill();
  world.trace?.add(instance.process.id, exits ? 'exits' : 'killed');
  for (const { executions, items, activities } of world.observer.jobs.values()) {
    for (const execution of executions) if (execution.process.dead) executions.delete(execution);
    for (const item of items) if (item.process.dead) items.delete(item);
    for (const activity of activities) if (activity.process.dead) activities.delete(activity);
  }
  restart(world, place, back);
}

export function pause(world: World, place: PlannedInstance, lasts: number, asleep: boolean): void {
  const instance = world.places.get(place.index);
  if (instance === undefined || instance.process.dead || instance.process.paused) return;
  instance.process.pause(asleep);
  instance.pausedSince = world.timeline.now();
  world.trace?.add(instance.process.id, asleep ? 'sleeps' : 'stopped');
  world.timeline.after(lasts, () => {
    wake(world, instance);
  });
}

export function wake(world: World, instance: Instance): void {
  if (!instance.process.paused || instance.process.dead) return;
  world.trace?.add(instance.process.id, 'wakes');
  instance.process.wake();
  instance.pausedSince = undefined;
}

/** How long a stopping host waits for its work, and how often it looks. */
const INVOCATIONS_MS = 10_000;
const POLL_EVERY_MS = 100;
const HOOK_MS = 5_000;
/** A worker exits this soon after its hook has returned. */
const EXIT_MS = 3;

/**
 * Stops the host. While it has work, for up to 10 s, its process gets no signal, and its hub takes orchestrations but
 * runs none. Then its shutdown hook has up to 5 s, and the process ends as soon as it has returned.
 *
 * @param silentMs the time for which the host is in drain mode before
 */
export function leave(world: World, place: PlannedInstance, back: number, silentMs = 0): void {
  const instance = world.places.get(place.index);
  if (instance === undefined || instance.process.dead || instance.leaving) return;
  const { timeline, trace } = world;
  const { coordinator, process } = instance;
  trace?.add(process.id, 'is told to stop');
  instance.leaving = true;
  const toldAt = timeline.now() + silentMs;
  const drainWhenIdle = (): void => {
    if (process.dead) return;
    const isIdle = coordinator.ticks.size === 0 && coordinator.running.size === 0;
    if (!isIdle && timeline.now() - toldAt < INVOCATIONS_MS) {
      timeline.after(POLL_EVERY_MS, drainWhenIdle);
      return;
    }
    trace?.add(process.id, 'drains');
    const end = (exits: boolean): void => {
      if (!process.dead && world.places.get(place.index) === instance) kill(world, place, back, exits);
    };
    process.enter(
      () =>
        void instance.drain().then(() => {
          timeline.after(EXIT_MS, () => {
            end(true);
          });
        }),
    );
    timeline.after(HOOK_MS, () => {
      end(false);
    });
  };
  if (silentMs === 0) drainWhenIdle();
  else timeline.after(silentMs, drainWhenIdle);
}
