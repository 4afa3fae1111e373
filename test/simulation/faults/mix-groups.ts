import type { Plan } from './plan';
import { type PlannedJob, planFan, planJob, rescheduled } from './plan-job';
import type { Random } from './random';

const SCHEDULES = ['@every 20s', '@every 20s', '@every 45s', '* * * * *'] as const;

/** Jobs of one group, whose handlers take long, with the faults of the plan. */
export function groupedJobs(plan: Plan, random: Random): Plan {
  const maxParallel = random.pick([1, 1, 2, 3]);
  const count = maxParallel + random.pick([1, 2, 3]);
  const same = random.chance(0.4) ? random.pick(SCHEDULES) : undefined;
  // While a deployment has another file, the larger number holds.
  const changed = random.chance(0.2) ? random.pick([1, 2]) : maxParallel;
  const group = (revision: number): { name: string; maxParallel: number } => ({
    name: 'db',
    maxParallel: revision === 0 ? maxParallel : changed,
  });
  const jobs = Array.from({ length: count }, (_, index): PlannedJob => {
    const isDrawn = random.chance(0.2);
    const job = isDrawn
      ? planFan(random, index)
      : (plan.jobs[index] ?? planJob(plan.seed, index, { kinds: [], outages: ['hangs'] }));
    const fans = isDrawn || (plan.mixes.includes('fans') && job.fanOut !== undefined);
    const schedule = same ?? random.pick(SCHEDULES);
    const behaviours = {
      ...job.behaviours,
      never: 0,
      long: random.pick([0.3, 1, 3]),
      throws: random.pick([0, 0.1, 0.5]),
    };
    const priority = random.pick([0, 5, 5, 9]);
    const catchUpWindowMs = random.pick([30_000, 60_000, 600_000]);
    return {
      ...rescheduled(job, ({ enabled }, revision) => ({
        schedule,
        settings: { enabled, group: group(revision), priority, catchUpWindowMs },
      })),
      behaviours: fans ? job.behaviours : behaviours,
      fanOut: fans ? job.fanOut : undefined,
    };
  });
  return { ...plan, jobs };
}
