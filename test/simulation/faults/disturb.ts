import type { JobSpec } from '../../../src/core/job';
import { startBackfill, stopBackfill } from '../../../src/operator/operations/backfill';
import { forgetJob } from '../../../src/operator/operations/forget';
import { requestRun } from '../../../src/operator/operations/run';
import { heldLease, unlockJob } from '../../../src/operator/operations/unlock';
import { type Disturbance, FOR_GOOD } from './disturbance';
import type { Deployment } from '../world/instance';
import type { PlannedInstance } from './plan';
import { firstSpec, REVISIONS } from './plan-job';
import { leap } from './retention';
import { failOver } from '../world/failover';
import { deleteRow, spoilControl, spoilRow } from '../world/foreign';
import { startMigration } from '../world/migration';
import { operate } from '../world/people';
import { START, type World, kill, leave, pause } from '../world/world';
import { cancelRun, pauseJob, resumeJob } from '../../support/by-operator';

const FADES_FOR_MS = 20_000;
/** How often the condition is polled. */
const POLL_EVERY_MS = 300;

/** Applies the planned disturbances to the world. A shrunk plan may lack the target of one. */
export function disturb(world: World, what: Disturbance): void {
  world.trace?.add('', `disturbance ${JSON.stringify(what)}`);
  if (what.kind === 'leap') leap(world, what);
  else if (what.kind === 'failover') failOver(world, what);
  else if (what.kind === 'migrate') startMigration(world, what);
  else if (what.kind === 'setClocks') setClocks(world, what);
  else if ('instance' in what) {
    const place = world.plan.instances.find(({ index }) => index === what.instance);
    if (place !== undefined) disturbInstance(world, what, place);
  } else if ('deployment' in what) {
    const deployment = world.deployments[what.deployment];
    if (deployment !== undefined) disturbDeployment(world, what, deployment);
  } else if ('job' in what) {
    const job = world.plan.jobs.find(({ index }) => index === what.job);
    if (job !== undefined) disturbJob(world, what, firstSpec(job));
  } else {
    world.outage = what.how === 'fades' ? 'slows' : what.how;
    if (what.how === 'fades') {
      world.timeline.after(FADES_FOR_MS, () => {
        if (world.troubled && world.outage === 'slows') world.outage = 'hangs';
      });
    }
    world.timeline.after(what.lasts + (what.how === 'fades' ? FADES_FOR_MS : 0), () => {
      world.outage = undefined;
    });
  }
}

function setClocks(world: World, what: Extract<Disturbance, { readonly kind: 'setClocks' }>): void {
  // Once the faults have ended, no one sets a clock any more.
  if (!world.troubled) return;
  const now = START + world.timeline.now();
  const isSo = [...world.observer.jobs.values()].some(({ row, executions }) => {
    if (what.once === 'atWork') return executions.size > 0;
    return row?.phase === 'running' && row.run?.trigger === 'schedule' && row.run.scheduledFor > now + POLL_EVERY_MS;
  });
  if (isSo) {
    const set = (skewMs: number): void => {
      for (const { process } of world.places.values()) process.setSkew(skewMs);
    };
    set(what.skewMs);
    if (what.rightAfterMs !== undefined) {
      world.timeline.after(what.rightAfterMs, () => {
        if (world.troubled) set(0);
      });
    }
  } else {
    world.timeline.after(POLL_EVERY_MS, () => {
      setClocks(world, what);
    });
  }
}

function disturbInstance(
  world: World,
  what: Extract<Disturbance, { readonly instance: number }>,
  place: PlannedInstance,
): void {
  switch (what.kind) {
    case 'kill':
      kill(world, place, what.back);
      return;
    case 'drain':
      leave(world, place, what.back, what.silentMs);
      return;
    case 'pause':
      pause(world, place, what.lasts, what.asleep);
      return;
    case 'setClock':
      world.places.get(place.index)?.process.setSkew(what.skewMs);
      return;
    case 'denied':
      world.deniedUntil.set(place.index, world.timeline.now() + what.lasts);
  }
}

function disturbDeployment(
  world: World,
  what: Extract<Disturbance, { readonly deployment: number }>,
  deployment: Deployment,
): void {
  const places = world.plan.instances.filter((place) => world.deployments[place.deployment] === deployment);
  switch (what.kind) {
    case 'hubDead':
      deployment.hub.dead = true;
      if (what.lasts >= FOR_GOOD) deployment.deadSince ??= START + world.timeline.now();
      world.timeline.after(what.lasts, () => {
        deployment.hub.dead &&= deployment.deadSince !== undefined;
      });
      return;
    case 'hubRefuses':
      deployment.hub.refusing = true;
      if (what.lasts >= FOR_GOOD) deployment.deadSince ??= START + world.timeline.now();
      world.timeline.after(what.lasts, () => {
        deployment.hub.refusing &&= deployment.deadSince !== undefined;
      });
      return;
    case 'hubWiped':
      deployment.hub.wipe();
      return;
    case 'appGone':
      for (const place of places) kill(world, place, what.lasts);
      return;
    case 'deploy':
      deployment.revision = Math.min(deployment.revision + 1, REVISIONS - 1);
      for (const place of places) leave(world, place, 1_000);
  }
}

function disturbJob(
  world: World,
  what: Extract<Disturbance, { readonly job: number; readonly kind: Exclude<Disturbance['kind'], 'leap'> }>,
  job: JobSpec,
): void {
  const { serviceAt, observer, timeline } = world;
  const subject = { name: job.name, spec: job };
  switch (what.kind) {
    case 'pauseJob':
      if (Math.floor(what.at) % 2 === 0) {
        // This one ends by itself.
        const until = START + Math.round(timeline.now() + what.lasts);
        operate(world, (store) => pauseJob(store, subject, { by: 'p', note: 'n', until }));
        return;
      }
      operate(world, (store) => pauseJob(store, subject, { by: 'p', note: 'n' }));
      timeline.after(what.lasts, () => {
        operate(world, (store) => resumeJob(store, subject));
      });
      return;
    case 'request':
      operate(world, (store) => requestRun({ store }, job, { id: requestId(world, what.at) }));
      return;
    case 'backfill': {
      const { from, order, limit, includeSucceeded } = what;
      const origin = { actor: 'p', channel: 'shell' };
      const id = `b${String(Math.floor(what.at))}`;
      const wanted = { id, from: START + from, to: undefined, order, limit, includeSucceeded, origin };
      operate(world, (store) => startBackfill({ store }, job, wanted));
      return;
    }
    case 'stopBackfill':
      operate(world, (store) => stopBackfill({ store }, subject));
      return;
    case 'cancel':
      operate(world, (store) => cancelRun(store, subject));
      return;
    case 'breakLease':
      serviceAt(observer.jobs.get(job.name)?.home ?? '').breakLease(job.name, what.period);
      observer.leaseBroken(job.name, what.period);
      return;
    case 'unlock':
      operate(world, async (store) => unlockJob(store, await heldLease(store, job.name)));
      return;
    case 'forget': {
      // With the revision that some deployment has, so that the job is back soon.
      const revision = Math.max(...world.deployments.map((deployment) => deployment.revision));
      operate(world, (_store, desk) => forgetJob(desk, { job: job.name, revision, endRun: true }));
      return;
    }
    case 'spoil':
      void spoilControl(world, job.name, what.lasts);
      return;
    case 'spoilRow':
      void spoilRow(world, job.name, what.how, what.lasts);
      return;
    case 'deleteRow':
      void deleteRow(world, job.name);
  }
}

/** Two operators may ask at one instant. */
function requestId({ plan, operators }: World, at: number): string {
  return `r${String(Math.floor(at))}${plan.people === true ? `o${String(operators)}` : ''}`;
}
