import { currentPause } from '../../../src/core/control';
import { backlogMs, checkEnd, isSettled } from '../checks/end';
import { checkTaken } from '../checks/groups';
import { checkLogs } from '../checks/logs';
import { checkLedgers } from '../checks/moves';
import { checkTold } from '../checks/notices';
import { checkNoneLeft } from '../checks/orchestrations';
import { checkStarts } from '../checks/starts';
import { checkSaidOverdue, SAID_WITHIN_MS } from '../checks/overdue';
import { disturb } from '../faults/disturb';
import type { Violation } from '../world/facts';
import type { Fault } from '../faults/faults';
import type { Plan } from '../faults/plan';
import { firstSpec, REVISIONS } from '../faults/plan-job';
import { startElection } from '../world/candidates';
import { followMigration } from '../world/migration';
import { ARRIVES_WITHIN_MS, operate } from '../world/people';
import { START, type World, createWorld, leave, restart, start, wake } from '../world/world';
import { resumeJob } from '../../support/by-operator';

/** More events than any history of one mix needs: something loops. */
const EVENTS_AT_MOST = 400_000;
/** Once the faults have ended, everything that they left is to be settled within this, backlogs apart. */
const SETTLED_WITHIN_MS = 330_000;
const POLL_EVERY_MS = 15_000;
/** A failover or a move that is under way at the end of the trouble is over within this. */
const FAILED_OVER_WITHIN_MS = 900_000;
/** The time for which everything must then run without any trouble. */
export const CALM_MS = 90_000;

export interface Outcome {
  readonly violations: readonly Violation[];
  readonly trace: (last: number, about?: string) => readonly string[];
  /** Every fault that struck: a history of these and no others is the same one. */
  readonly struck: readonly Fault[];
  readonly counts: { readonly calls: number; readonly handlers: number; readonly events: number };
  /** When it was over, in ms of true time. */
  readonly lasted: number;
}

/** Plays a history, with the real coordinator in every instance. */
export async function runHistory(plan: Plan, traced = false): Promise<Outcome> {
  const world = createWorld(plan, traced);
  const { timeline, observer, faults, trace, counts } = world;
  for (const place of plan.instances) {
    timeline.after(place.startsAt, () => {
      start(world, place);
    });
  }
  for (const what of plan.disturbances) {
    timeline.after(what.at, () => {
      if (world.troubled) disturb(world, what);
    });
  }
  if (plan.election !== undefined) world.election = startElection(world, plan.election);
  if (plan.alerts) watchAlerts(world);
  await until(world, plan.troubledMs);
  await untilFailedOver(world);
  checkStarts(world);
  if (observer.violations.length === 0) await quieten(world);
  return {
    violations: observer.violations,
    trace: (last, about) => trace?.lines(last, about) ?? [],
    struck: faults.struck,
    counts,
    lasted: timeline.now(),
  };
}

/** Checks now and then that overdue jobs are reported. */
function watchAlerts(world: World): void {
  const { timeline, plan, observer, deployments } = world;
  timeline.after(POLL_EVERY_MS, () => {
    if (!world.troubled) return;
    const now = START + timeline.now();
    for (const { ticking, revision } of deployments) {
      if (ticking === undefined || ticking.process.dead || ticking.leaving) continue;
      if (timeline.now() - ticking.ticksSince < SAID_WITHIN_MS) continue;
      for (const { specs } of plan.jobs) {
        const spec = specs[revision];
        const facts = spec && observer.jobs.get(spec.name);
        if (spec !== undefined && facts !== undefined) checkSaidOverdue(facts, spec, now, observer.report);
      }
    }
    watchAlerts(world);
  });
}

/** Lets time pass, and checks all promises after each event. */
function until({ plan, timeline, observer, counts, election, troubled }: World, instant: number): Promise<void> {
  return timeline.runUntil(instant, () => {
    counts.events += 1;
    observer.check();
    election?.check();
    if (!troubled)
      for (const facts of observer.groups.values()) checkTaken(facts, START + timeline.now(), observer.report);
    if (counts.events > plan.mixes.length * EVENTS_AT_MOST)
      observer.report('endless', 'all', 'the history does not come to an end');
    return observer.violations.length === 0;
  });
}

/** The quiet does not begin in the middle of a failover or a move. */
async function untilFailedOver(world: World): Promise<void> {
  const { timeline, observer, plan } = world;
  const isUnderWay = (): boolean => world.failingOver || world.migration === 'waiting' || world.migration === 'moving';
  while (isUnderWay() && observer.violations.length === 0) {
    await until(world, timeline.now() + POLL_EVERY_MS);
    if (timeline.now() - timeline.leapt() > plan.troubledMs + FAILED_OVER_WITHIN_MS) {
      const what = world.failingOver ? 'recover' : 'migrate';
      observer.report('endless', 'all', `${what} does not come to an end`);
    }
  }
}

/** Ends the faults: everything that they left must be settled, and from then on everything must be on time. */
async function quieten(world: World): Promise<void> {
  const { timeline, observer, plan } = world;
  const quiet = timeline.now();
  endFaults(world);
  const settledWithin = SETTLED_WITHIN_MS + backlogMs(world, START + quiet);
  // Calls of operators may still be in flight.
  if (plan.people === true) await until(world, quiet + ARRIVES_WITHIN_MS);
  while (!isSettled(world, START + quiet)) {
    if (timeline.now() - quiet > settledWithin) {
      checkEnd(world, { quietFrom: START + quiet, calmFrom: Infinity });
      if (observer.violations.length === 0) observer.report('notSettled', 'all', 'what the faults left is not settled');
      return;
    }
    await until(world, timeline.now() + POLL_EVERY_MS);
    if (observer.violations.length > 0) return;
    resumeAll(world);
  }
  const calm = timeline.now();
  world.trace?.add('', 'all that the faults left is settled');
  await until(world, calm + CALM_MS);
  if (observer.violations.length === 0) checkEnd(world, { quietFrom: START + quiet, calmFrom: START + calm });
  checkNoneLeft(world);
  checkTold(world);
  if (observer.violations.length === 0) await checkLogs(world);
  if (observer.violations.length === 0 && world.migration === 'over') await checkLedgers(world);
}

/** Brings every instance back, with the newest file. A hub that died permanently stays dead, if there are others. */
function endFaults(world: World): void {
  const { deployments, places, plan } = world;
  world.troubled = false;
  world.outage = undefined;
  world.deniedUntil.clear();
  world.faults.end();
  world.trace?.add('', 'the faults end');
  for (const { hub, deadSince } of deployments) {
    hub.lateMs = 0;
    hub.dead &&= deadSince !== undefined;
    hub.refusing &&= deadSince !== undefined;
  }
  if (deployments.every(({ deadSince }) => deadSince !== undefined)) {
    for (const deployment of deployments) {
      deployment.hub.dead = false;
      deployment.hub.refusing = false;
      deployment.deadSince = undefined;
    }
  }
  world.election?.quieten();
  const rivals = plan.jobs.some(({ rival }) => rival !== undefined);
  const newest = rivals ? REVISIONS - 1 : Math.max(...deployments.map(({ revision }) => revision));
  for (const deployment of deployments) deployment.revision = newest;
  followMigration(world);
  for (const place of plan.instances) {
    const instance = places.get(place.index);
    if (instance === undefined) continue;
    wake(world, instance);
    const { revision, store } = instance.coordinator;
    if (revision !== newest || store.location !== instance.deployment.home) leave(world, place, 1_000);
    if (instance.process.dead) restart(world, place, 1_000);
  }
  resumeAll(world);
}

function resumeAll(world: World): void {
  for (const job of world.plan.jobs) {
    const spec = firstSpec(job);
    const control = world.observer.jobs.get(spec.name)?.controls.at(-1)?.control;
    if (control === undefined || currentPause(control, START + world.timeline.now()) === undefined) continue;
    operate(world, (store) => resumeJob(store, { name: spec.name, spec }));
  }
}
