import { recordKey } from '../../../src/core/key';
import { checkOthersRan } from './foreign';
import { type JobFacts, short } from '../world/facts';
import { isOnly } from '../faults/plan';
import { firstSpec } from '../faults/plan-job';
import { START, type World } from '../world/world';

/** By then all rows exist, and all hubs are proven. */
const WARM_UP_MS = 60_000;
/** A claimed run may take this long to start. */
const ON_ITS_WAY_MS = 60_000;
/** While a deployment is well, a job starts at most this long after its period: two ticks, with leases of 60 s. */
const STANDS_STILL_MS = 30_000;

/**
 * Liveness during the disturbances of a mix: while a deployment is well, or the only one is slow, jobs run. Other mixes
 * leave no deployment well.
 */
export function checkStarts(world: World): void {
  const { plan, observer, deployments } = world;
  if (isOnly(plan, 'foreign') && plan.instances.length > 0) checkOthersRan(world);
  const places = new Set(plan.instances.map(({ deployment }) => deployment));
  // In a shrunk history, no deployment may be well.
  const somebodyIsWell = places.size > 1;
  for (const job of plan.jobs) {
    const facts = observer.jobs.get(firstSpec(job).name);
    if (facts === undefined) continue;
    if (isOnly(plan, 'draining') && somebodyIsWell) checkGaps(world, facts);
    if (isOnly(plan, 'slowHub') && deployments.length > 0 && places.size === 1) checkAllRan(world, facts);
  }
}

function checkGaps({ observer, timeline }: World, facts: JobFacts): void {
  const [{ timetable } = { timetable: undefined }] = facts.specs;
  const first = timetable?.next(START);
  const second = first === undefined ? undefined : timetable?.next(first);
  if (first === undefined || second === undefined) return;
  const longest = second - first + STANDS_STILL_MS;
  const starts = [...facts.started.values()].map(({ at }) => at).sort((a, b) => a - b);
  let last = START + WARM_UP_MS;
  for (const at of [...starts, START + timeline.now()]) {
    if (at - last > longest) {
      const stood = `nothing of it started from ${short(last)} to ${short(at)} although a deployment was well`;
      observer.report('stoodStill', facts.name, stood);
      return;
    }
    last = Math.max(last, at);
  }
}

function checkAllRan({ observer, timeline }: World, facts: JobFacts): void {
  const [spec] = facts.specs;
  if (spec === undefined) return;
  const until = START + timeline.now() - ON_ITS_WAY_MS;
  for (
    let due = spec.timetable.next(START + WARM_UP_MS);
    due !== undefined && due < until;
    due = spec.timetable.next(due)
  ) {
    if (facts.started.has(`${recordKey(due)} 1`)) continue;
    const outcome = facts.records.get(recordKey(due))?.record.outcome ?? 'not recorded';
    observer.report('didNotRun', facts.name, `${short(due)} is ${outcome} although its hub is only slow`);
    return;
  }
}
