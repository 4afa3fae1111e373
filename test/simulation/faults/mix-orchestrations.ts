import type { Disturbance } from './disturbance';
import { byTime, draw, withRates } from './mix-troubles';
import type { Plan } from './plan';
import { planOrchestration } from './plan-job';
import type { Random } from './random';

/** Long enough for deployments to be silent and to come back, several times. */
export function orchestrations(plan: Plan, random: Random): Plan {
  const longer: Plan = {
    ...plan,
    deployments: random.pick([1, 2, 2, 2, 3]),
    troubledMs: random.pick([450_000, 600_000, 900_000]),
    jobs: Array.from({ length: random.pick([1, 1, 2]) }, (_, index) => planOrchestration(random, index)),
  };
  const wide: Plan = {
    ...longer,
    instances: Array.from({ length: longer.deployments + random.whole(0, 2) }, (_, index) => ({
      index,
      deployment: index % longer.deployments,
      startsAt: 0,
      clock: {
        skewMs: random.pick([0, 0, 150, 1_900, -1_900, 30_000, -30_000]),
        drift: random.pick([0, 0, 0.0002, 0.005, -0.005]),
      },
    })),
  };
  const kinds = [
    'kill',
    'kill',
    'appGone',
    'hubWiped',
    'hubDead',
    'pause',
    'denied',
    'outage',
    'cancel',
    'drain',
  ] as const;
  const lost = [...draw(wide, random, kinds, [2, 8]), ...silences(wide, random)];
  const rate = random.pick([0, 0.002, 0.01]);
  return withRates(
    { ...wide, disturbances: [...plan.disturbances, ...lost].sort(byTime) },
    {
      ...{ pauseAfter: rate, sleepAfter: rate, lostAfter: rate, crashAfter: rate / 2 },
      ...{ hidden: random.pick([0, 0.05]), late: random.pick([0, 0.1, 0.3]), lateRelease: random.pick([0, 0.05]) },
    },
  );
}

/** Whole deployments stop, are cut off from storage or lose their hubs, for so long that others take over. */
function silences({ deployments, instances, troubledMs }: Plan, random: Random): readonly Disturbance[] {
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, (): readonly Disturbance[] => {
    const at = random.whole(30_000, troubledMs);
    const deployment = random.whole(0, deployments - 1);
    const lasts = random.whole(80_000, 260_000);
    const own = instances.filter((instance) => instance.deployment === deployment);
    switch (random.pick(['pause', 'denied', 'hubDead', 'kill'] as const)) {
      case 'pause':
        return own.map(({ index }) => ({
          at: at + random.whole(0, 500),
          kind: 'pause',
          instance: index,
          lasts,
          asleep: false,
        }));
      case 'denied':
        return own.map(({ index }) => ({ at, kind: 'denied', instance: index, lasts }));
      case 'hubDead':
        return [{ at, kind: 'hubDead', deployment, lasts }];
      case 'kill':
        return own.map(({ index }) => ({ at, kind: 'kill', instance: index, back: lasts }));
    }
  }).flat();
}
