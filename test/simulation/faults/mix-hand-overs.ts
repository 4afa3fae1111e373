import type { JobSpec } from '../../../src/core/job';
import { jobSpec } from '../../support/job';
import type { Disturbance } from './disturbance';
import type { Plan } from './plan';
import { BEHAVIOURS, HANGS_AT_MOST_MS, type PlannedJob, REVISIONS, rescheduled } from './plan-job';
import type { Random } from './random';

/** Each stretch of this length has one disturbance, which ends with it: only one deployment at a time is not well. */
const STRETCH_MS = 90_000;
const STRETCHES = 4;
/** Leases are long, so that a job that waits for the end of one stands out. */
const LONG_LEASE_MS = 60_000;
/** With a grace of this length, a lease has nearly its whole length at its claim. */
const LONG_GRACE_MS = 33_000;
const SLOW_HUB_MS = 12_000;
/** A host in drain mode waits this long for its end. */
const DRAIN_MODE_MS = 45_000;

/** Hosts must stop, and task hubs run nothing for a while, but one deployment is always well. */
export function draining(plan: Plan, random: Random): Plan {
  const deployments = random.pick([2, 2, 3]);
  const instances = random.whole(deployments, 4);
  const disturbances = Array.from({ length: STRETCHES }, (_, index): Disturbance => {
    const at = (index + 1) * STRETCH_MS + random.whole(0, 20_000);
    const instance = random.whole(0, instances - 1);
    if (random.chance(0.7)) {
      const silentMs = random.pick([0, 0, DRAIN_MODE_MS]);
      return { at, kind: 'drain', instance, back: silentMs > 0 ? 0 : random.pick([0, 5_000, 45_000]), silentMs };
    }
    return { at, kind: 'hubDead', deployment: instance % deployments, lasts: random.pick([20_000, 40_000]) };
  });
  const schedules = ['@every 2s', '@every 5s', '@every 10s', '@every 20s', '* * * * *'] as const;
  const jobs = plan.jobs.map(({ index }) =>
    quickJob(index, random.pick(schedules), LONG_LEASE_MS, { graceMs: LONG_GRACE_MS }),
  );
  return {
    ...calm(plan, deployments, instances),
    jobs,
    disturbances: [...plan.disturbances, ...disturbances],
    troubledMs: (STRETCHES + 1) * STRETCH_MS,
  };
}

/** Only one deployment, whose task hub delivers everything but its probes 12 s late. */
export function slowHub(plan: Plan, random: Random): Plan {
  const schedules = ['@every 20s', '@every 45s', '* * * * *'] as const;
  const jobs = plan.jobs.map(({ index }) =>
    quickJob(index, random.pick(schedules), random.pick([15_000, 30_000, LONG_LEASE_MS])),
  );
  const quiet = calm(plan, 1, random.whole(1, 2));
  return { ...quiet, jobs, troubledMs: STRETCHES * STRETCH_MS, hubLateMs: SLOW_HUB_MS };
}

/** The longest night. Most windows are shorter. */
const NIGHT_MS = 3_600_000;
const HUB_KEEPS_MS = 40_000;

/**
 * Nothing runs for up to an hour, a few times. The task hubs have stood still before, so they keep hand-overs that no
 * one has claimed, and deliver them in the morning. Meanwhile jobs are paused.
 */
export function nights(plan: Plan, random: Random): Plan {
  const deployments = random.pick([1, 1, 2]);
  const instances = random.whole(deployments, 3);
  const schedules = ['@every 20s', '@every 45s', '* * * * *', '*/5 * * * *'] as const;
  const jobs = plan.jobs.map(({ index }) =>
    rescheduled(quickJob(index, '* * * * *', random.pick([15_000, 30_000, LONG_LEASE_MS])), () => ({
      schedule: random.pick(schedules),
      settings: {
        catchUp: random.pick(['latest', 'latest', 'all', 'none']),
        catchUpWindowMs: random.pick([120_000, 600_000, NIGHT_MS]),
      },
    })),
  );
  const disturbances: Disturbance[] = [];
  let at = 0;
  for (let left = random.whole(1, 3); left > 0; left -= 1) {
    at += random.whole(60_000, 180_000);
    const lasts = random.whole(NIGHT_MS / 12, NIGHT_MS);
    for (let deployment = 0; deployment < deployments; deployment += 1) {
      disturbances.push({
        at: at - random.whole(0, HUB_KEEPS_MS / 2),
        kind: 'hubDead',
        deployment,
        lasts: HUB_KEEPS_MS,
      });
    }
    const kind = random.pick(['drain', 'kill'] as const);
    for (let instance = 0; instance < instances; instance += 1) {
      disturbances.push({ at, kind, instance, back: lasts + random.whole(0, 20_000) });
    }
    for (const { index } of jobs.filter(() => random.chance(0.4))) {
      const pausedAt = at + random.whole(0, lasts);
      disturbances.push({ at: pausedAt, kind: 'pauseJob', job: index, lasts: at + lasts - pausedAt + 60_000 });
    }
    at += lasts;
  }
  const troubledMs = at + STRETCH_MS;
  const all = [...plan.disturbances, ...disturbances].sort((a, b) => a.at - b.at);
  return { ...calm(plan, deployments, instances), jobs, disturbances: all, troubledMs };
}

/** All clocks are right. */
export function calm(plan: Plan, deployments: number, instances: number): Plan {
  return {
    ...plan,
    deployments,
    instances: Array.from({ length: instances }, (_, index) => ({
      index,
      deployment: index % deployments,
      startsAt: 0,
      clock: { skewMs: 0, drift: 0 },
    })),
  };
}

/** Its handler returns soon. */
export function quickJob(
  index: number,
  schedule: string,
  leaseMs: number,
  settings: Partial<JobSpec> = {},
): PlannedJob {
  const spec = jobSpec(`j${String(index)}`, schedule, { leaseMs, timeoutMs: HANGS_AT_MOST_MS, ...settings });
  const behaviours = Object.fromEntries(BEHAVIOURS.map((behaviour) => [behaviour, behaviour === 'quick' ? 1 : 0]));
  return {
    index,
    specs: Array.from({ length: REVISIONS }, () => spec),
    behaviours: behaviours as PlannedJob['behaviours'],
    fanOut: undefined,
  };
}
