import { type Disturbance, type DrawnKind, drawDisturbance } from './disturbance';
import type { Plan } from './plan';
import type { Random } from './random';
import { ALL_OUTAGES } from './themes';

const KINDS: readonly DrawnKind[] = [
  ...(['kill', 'drain', 'pause', 'setClock', 'hubDead', 'hubWiped', 'appGone'] as const),
  ...(['pauseJob', 'request', 'cancel', 'breakLease', 'deploy'] as const),
];
/** From the announcement on. Some deployments are restarted long after all jobs have moved. */
const RESTARTS_AFTER = [0, 20_000, 100_000, 130_000, 200_000, 600_000] as const;
/** Most calls of a command lie before and after its long wait. */
const CALLS = [20, 60, 200] as const;

/** People move the jobs to another store while faults of any kind happen, and their command dies on the way. */
export function migrations(plan: Plan, random: Random): Plan {
  const at = random.whole(1_000, random.pick([20_000, 120_000]));
  const deployments = random.pick([2, 2, 3]);
  const count = random.whole(deployments, 4);
  const isHasty = random.chance(0.4);
  const troubledMs = at + random.pick([240_000, 360_000, 480_000]);
  const counts = { jobs: plan.jobs.length, instances: count, deployments };
  const others = Array.from({ length: random.whole(0, 8) }, () =>
    drawDisturbance(random, { kinds: KINDS, outages: ALL_OUTAGES }, troubledMs, counts),
  );
  const what: Disturbance = {
    at,
    kind: 'migrate',
    diesAfter: Array.from({ length: random.pick([0, 1, 2, 3]) }, () => random.whole(1, random.pick(CALLS))),
    againAfterMs: random.pick([1_000, 10_000, 45_000]),
    endsRunsFrom: random.pick([0, 2, 4]),
    diesOwing: random.chance(0.5),
    restartsAfter: Array.from({ length: deployments }, () => (isHasty ? 0 : random.pick(RESTARTS_AFTER))),
  };
  return {
    ...plan,
    deployments,
    instances: Array.from({ length: count }, (_, index) => ({
      ...(plan.instances[index] ?? { startsAt: 0, clock: { skewMs: 0, drift: 0 } }),
      index,
      deployment: index % deployments,
    })),
    people: true,
    disturbances: [...plan.disturbances.filter((one) => one.at < troubledMs), ...others, what].sort(
      (a, b) => a.at - b.at,
    ),
    troubledMs,
  };
}
