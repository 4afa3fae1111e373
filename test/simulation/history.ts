import type { JobName } from '../../src/core/brand';
import type { JobContext } from '../../src/coordinator/handler';
import { cancelRun } from '../../src/operator/cancel';
import { OperatorError } from '../../src/operator/operator-error';
import { pauseJob, resumeJob } from '../../src/operator/pause';
import { requestRun } from '../../src/operator/request';
import type { LeaseStore } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { blobOver, createTarget } from './blob';
import { checkEnd } from './end';
import { behave } from './handlers';
import { createTaskHub } from './hub';
import type { Deployment, Instance } from './instance';
import { startInstance } from './instance';
import type { Network } from './network';
import { callOver, storeOver } from './network';
import type { Execution } from './observer';
import { createObserver } from './observer';
import type { Disturbance, Plan, PlannedInstance } from './plan';
import { CALL_FAULTS } from './plan';
import { createProcess } from './process';
import { seededBy } from './random';
import { createTimeline } from './timeline';
import { createTrace } from './trace';

/** The history's first instant. */
export const START = Date.UTC(2026, 0, 1);
/** More events than any history needs: something loops. */
const EVENTS_AT_MOST = 600_000;
/** Storage calls of one instance in a minute, for each job: beyond this it loops hot. */
const CALLS_A_MINUTE = 700;

export interface Outcome {
  readonly violations: readonly string[];
  readonly trace: (last: number, about?: string) => readonly string[];
  readonly events: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Lets a history happen, with the real coordinator in every instance. */
export async function runHistory(
  plan: Plan,
  tamper: (store: LeaseStore) => LeaseStore = (store) => store,
): Promise<Outcome> {
  const timeline = createTimeline();
  const trace = createTrace(timeline.now);
  const specs = new Map(plan.jobs.map(({ specs: [first, second] }) => [first.name, [first, second]] as const));
  const observer = createObserver(specs, trace);
  const service = memoryService({
    now: () => START + Math.floor(timeline.now()),
    monotonic: timeline.now,
    after: timeline.after,
  });
  const store = observer.watch(tamper(service.open()));
  const targets = new Map(
    plan.jobs.map(({ specs: [{ name }] }) => [
      name as string,
      createTarget((token) => {
        observer.fencedWrite(name, token);
      }),
    ]),
  );
  const slots = new Map<PlannedInstance, Instance>();
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  let troubled = true;
  let outage: 'refuses' | 'hangs' | undefined;
  let processes = 0;
  let events = 0;

  const deployments = Array.from({ length: plan.deployments }, (_, index): Deployment => {
    const name = `d${String(index)}`;
    const instances: Instance[] = [];
    const hub = createTaskHub({
      name,
      timeline,
      trace,
      random: seededBy(plan.seed, 'hub', index),
      start: START,
      rate: (fault) => (troubled ? plan.hub[fault] : 0),
      workers: () => instances.filter(({ process }) => !process.dead),
    });
    return { name, hub, instances, ticking: undefined, revision: 0, endsDead: false };
  });

  const start = (slot: PlannedInstance): void => {
    const deployment = deployments[slot.deployment];
    if (deployment === undefined) return;
    const index = plan.instances.indexOf(slot);
    processes += 1;
    const process = createProcess(
      `${deployment.name}.${String(index)}#${String(processes)}`,
      timeline,
      START,
      slot.clock,
    );
    const random = seededBy(plan.seed, 'process', index, processes);
    let minute = 0;
    let called = 0;
    const network: Network = {
      timeline,
      trace,
      fault: () =>
        troubled ? CALL_FAULTS.find((fault) => plan.calls[fault] > 0 && random.chance(plan.calls[fault])) : undefined,
      outage: () => outage,
      crash: () => {
        kill(slot, 20_000);
      },
      pause: (asleep) => {
        pause(slot, random.pick([3_000, 20_000, 40_000, 90_000]), asleep);
      },
      called: () => {
        count('calls');
        const now = Math.floor(timeline.now() / 60_000);
        if (now !== minute) called = 0;
        minute = now;
        called += 1;
        if (called === CALLS_A_MINUTE * (plan.jobs.length + 1))
          observer.violation('all', `${process.id} makes ${String(called)} calls in a minute`);
      },
    };
    const instance = startInstance({
      process,
      deployment,
      specs: plan.jobs.map(({ specs }) => specs[deployment.revision]),
      store: storeOver(network, process, random, store),
      random,
      trace,
      handler: (context, on) => handle(context, on, network),
      broken: (what) => {
        observer.violation('all', `${process.id}: ${what}`);
      },
      mayTick: (asking) => {
        const { ticking } = deployment;
        const gone = ticking === undefined || ticking.process.dead || ticking.leaving;
        const stuck = ticking?.pausedSince !== undefined && timeline.now() - ticking.pausedSince > 60_000;
        if (gone || stuck) deployment.ticking = asking;
        return deployment.ticking === asking;
      },
    });
    slots.set(slot, instance);
    trace.add(process.id, 'started');
  };

  const handle = async (context: JobContext, { process }: Instance, network: Network): Promise<unknown> => {
    const { job, attempt } = context;
    const random = seededBy(plan.seed, 'handler', job, context.runId, attempt);
    const execution: Execution = { context, process, running: true };
    observer.handlerStarted(execution);
    count('handlers');
    trace.add(
      process.id,
      `${job} handler of ${context.runId} attempt ${String(attempt)} starts (${context.trigger}, token ${String(context.fence.token)})`,
    );
    const target = targets.get(job);
    if (target === undefined) throw new Error(`no target of ${job}`);
    const blob = blobOver(target, (kind, apply) => callOver(network, process, random, `${job} ${kind}`, apply));
    try {
      return await behave(
        context,
        process.clock,
        blob,
        random,
        troubled ? plan.jobs.find(({ specs }) => specs[0].name === job) : undefined,
      );
    } finally {
      execution.running = false;
      observer.jobs.get(job as JobName)?.executions.delete(execution);
      trace.add(process.id, `${job} handler of ${context.runId} attempt ${String(attempt)} ends`);
    }
  };

  const restart = (slot: PlannedInstance, back: number): void => {
    timeline.after(back, () => {
      if (slots.get(slot)?.process.dead !== false) start(slot);
    });
  };
  const kill = (slot: PlannedInstance, back: number): void => {
    const instance = slots.get(slot);
    if (instance === undefined || instance.process.dead) return;
    instance.process.kill();
    count('kills');
    trace.add(instance.process.id, 'killed');
    for (const { executions } of observer.jobs.values()) {
      for (const execution of executions) if (execution.process.dead) executions.delete(execution);
    }
    restart(slot, back);
  };
  const pause = (slot: PlannedInstance, lasts: number, asleep: boolean): void => {
    const instance = slots.get(slot);
    if (instance === undefined || instance.process.dead || instance.process.paused) return;
    instance.process.pause(asleep);
    instance.pausedSince = timeline.now();
    count('pauses');
    trace.add(instance.process.id, asleep ? 'sleeps' : 'stopped');
    timeline.after(lasts, () => {
      wake(instance);
    });
  };
  const wake = (instance: Instance): void => {
    if (!instance.process.paused || instance.process.dead) return;
    trace.add(instance.process.id, 'wakes');
    instance.process.wake();
    instance.pausedSince = undefined;
  };
  const leave = (slot: PlannedInstance, back: number): void => {
    const instance = slots.get(slot);
    if (instance === undefined || instance.process.dead || instance.leaving) return;
    trace.add(instance.process.id, 'drains');
    instance.process.enter(() => void instance.drain());
    timeline.after(5_000, () => {
      if (!instance.process.dead && slots.get(slot) === instance) kill(slot, back);
    });
  };

  const operate = (act: () => Promise<unknown>): void => {
    act().catch((error: unknown) => {
      if (!(error instanceof OperatorError)) observer.violation('all', `an operator's call failed: ${String(error)}`);
    });
  };
  const disturb = (what: Disturbance): void => {
    const slot = 'instance' in what ? plan.instances[what.instance] : undefined;
    const job = 'job' in what ? plan.jobs[what.job]?.specs[0] : undefined;
    const deployment = 'deployment' in what ? deployments[what.deployment] : undefined;
    if (slot === undefined && job === undefined && deployment === undefined && what.kind !== 'outage') return;
    trace.add('', `${job?.name ?? deployment?.name ?? ''} disturbance ${JSON.stringify(what)}`);
    switch (what.kind) {
      case 'kill':
        if (slot) kill(slot, what.back);
        return;
      case 'drain':
        if (slot) leave(slot, what.back);
        return;
      case 'pause':
        if (slot) pause(slot, what.lasts, what.asleep);
        return;
      case 'setClock':
        if (slot) slots.get(slot)?.process.setSkew(what.skewMs);
        return;
      case 'hubDead':
        if (deployment) {
          deployment.hub.dead = true;
          deployment.endsDead = what.lasts > 1e8;
          timeline.after(what.lasts, () => {
            deployment.hub.dead = false;
          });
        }
        return;
      case 'hubWiped':
        deployment?.hub.wipe();
        return;
      case 'outage':
        outage = what.hangs ? 'hangs' : 'refuses';
        timeline.after(what.lasts, () => {
          outage = undefined;
        });
        return;
      case 'pauseJob':
        if (job) {
          operate(() => pauseJob(store, { name: job.name, spec: job }, { by: 'p', note: 'n' }));
          timeline.after(what.lasts, () => {
            operate(() => resumeJob(store, { name: job.name, spec: job }));
          });
        }
        return;
      case 'request':
        if (job) operate(() => requestRun(store, job, `r${String(Math.floor(what.at))}`));
        return;
      case 'cancel':
        if (job) operate(() => cancelRun(store, { name: job.name, spec: job }));
        return;
      case 'deploy':
        if (deployment) {
          deployment.revision = 1;
          for (const [planned, { deployment: of }] of slots) if (of === deployment) leave(planned, 1_000);
        }
        return;
      case 'breakLease':
        if (job) service.breakLease(job.name, what.period);
    }
  };

  for (const slot of plan.instances) {
    timeline.after(slot.startsAt, () => {
      start(slot);
    });
  }
  for (const what of plan.disturbances) {
    timeline.after(what.at, () => {
      disturb(what);
    });
  }

  const afterEach = (): boolean => {
    events += 1;
    observer.checkTrust();
    if (events > EVENTS_AT_MOST) observer.violation('all', 'the history does not come to an end');
    return observer.violations.length === 0;
  };
  await timeline.runUntil(plan.troubledMs, afterEach);
  if (observer.violations.length === 0) {
    troubled = false;
    outage = undefined;
    trace.add('', 'the faults end');
    calm();
    await timeline.runUntil(plan.troubledMs + plan.quietMs, afterEach);
  }
  if (observer.violations.length === 0) checkEnd(plan, observer, START + timeline.now(), deployments);
  return { violations: observer.violations, trace: trace.lines, events, counts };

  /** Everybody is back; of several hubs, one that died for good stays dead. */
  function calm(): void {
    const alive = deployments.filter(({ endsDead }) => !endsDead);
    if (alive.length === 0) for (const { hub } of deployments) hub.dead = false;
    const newest = deployments.some(({ revision }) => revision === 1) ? 1 : 0;
    for (const slot of plan.instances) {
      const instance = slots.get(slot);
      if (instance === undefined) continue;
      wake(instance);
      if (instance.deployment.revision !== newest) {
        instance.deployment.revision = newest;
        leave(slot, 1_000);
      } else if (instance.coordinator.revision !== newest) leave(slot, 1_000);
      else if (instance.process.dead) restart(slot, 1_000);
    }
    for (const {
      specs: [spec],
    } of plan.jobs)
      operate(() => resumeJob(store, { name: spec.name, spec }));
  }
}
