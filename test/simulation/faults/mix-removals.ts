import type { Disturbance } from './disturbance';
import { byTime } from './mix-troubles';
import type { Plan } from './plan';
import { rescheduled } from './plan-job';
import type { Random } from './random';

/** The revision that lacks jobs. The one before has them, and so has the one after. */
const WITHOUT = 1;
const MINUTE_MS = 60_000;

/** Jobs are removed from the file and come back some minutes later, in one deployment after the other. */
export function removals(plan: Plan, random: Random): Plan {
  const deploys: Disturbance[] = [];
  const removedAt = random.whole(MINUTE_MS, 2 * MINUTE_MS);
  const backAt = removedAt + random.whole(MINUTE_MS, 8 * MINUTE_MS);
  for (let deployment = 0; deployment < plan.deployments; deployment += 1) {
    const removed = removedAt + random.whole(0, random.pick([1, 1, 8]) * MINUTE_MS);
    const back = Math.max(removed, backAt) + random.whole(0, random.pick([1, 1, 8]) * MINUTE_MS);
    for (const at of [removed, back]) deploys.push({ at, kind: 'deploy', deployment });
  }
  // Fewer of the plain disturbances, and jobs that are rarely due: the row of a job that is busy is never marked.
  const kept = plan.disturbances.filter(({ kind }) => kind !== 'deploy' && random.chance(0.5));
  const jobs = plan.jobs.map((job) => {
    const isRare = plan.mixes.length === 1 && random.chance(0.5);
    const rare = isRare ? rescheduled(job, ({ enabled }) => ({ schedule: '*/4 * * * *', settings: { enabled } })) : job;
    return job.index === 0 || random.chance(0.5) ? { ...rare, absentIn: WITHOUT } : rare;
  });
  const last = Math.max(...deploys.map(({ at }) => at));
  return {
    ...plan,
    ...{ presences: true, jobs },
    disturbances: [...kept, ...deploys].sort(byTime),
    troubledMs: Math.max(plan.troubledMs, last + 2 * MINUTE_MS),
  };
}
