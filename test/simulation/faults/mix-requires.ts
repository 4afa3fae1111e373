import type { JobName } from '../../../src/core/brand';
import type { Plan } from './plan';
import { type PlannedJob, firstSpec, planJob, rescheduled } from './plan-job';
import type { Random } from './random';

const SCHEDULES = ['@every 10s', '@every 20s', '@every 20s', '@every 45s', '* * * * *'] as const;
const WITHIN_MS = [5_000, 20_000, 50_000] as const;

/** Jobs that require others, some of them in chains, with the faults of the plan. */
export function requiringJobs(plan: Plan, random: Random): Plan {
  const count = Math.max(plan.jobs.length, random.pick([2, 2, 3]));
  const planned = Array.from({ length: count }, (_, index): PlannedJob => {
    return plan.jobs[index] ?? planJob(plan.seed, index, { kinds: [], outages: ['hangs'] });
  });
  const names = planned.map((job) => firstSpec(job).name);
  const same = random.chance(0.4) ? random.pick(SCHEDULES) : undefined;
  const jobs = planned.map((job, index) => {
    const schedule = index === 0 && random.chance(0.1) ? '@manual' : (same ?? random.pick(SCHEDULES));
    return requiring(job, names.slice(0, index), schedule, random);
  });
  return withLostReleases({ ...plan, jobs }, random.pick([0, 0, 0.2, 0.5]));
}

/** A holder that dies between its record and its release: the row does not show that its run has succeeded. */
function withLostReleases(plan: Plan, lastRelease: number): Plan {
  if (plan.faults.kind === 'listed') return plan;
  return { ...plan, faults: { kind: 'drawn', rates: { ...plan.faults.rates, lastRelease } } };
}

/** The job with a schedule of due times. It requires one of these jobs at least, if there is one. */
function requiring(job: PlannedJob, earlier: readonly JobName[], schedule: string, random: Random): PlannedJob {
  const [first, ...others] = earlier;
  const surely = first === undefined ? undefined : random.pick([first, ...others]);
  const requires = earlier.filter((name) => name === surely || random.chance(0.3));
  const requireWithinMs = requires.length === 0 ? 0 : random.pick(WITHIN_MS);
  const overlap = random.pick(['skip', 'queue'] as const);
  // Runs that fail and that take long keep the others waiting.
  const behaviours = {
    ...job.behaviours,
    never: 0,
    long: random.pick([0, 0.3, 1]),
    throws: random.pick([0, 0.1, 0.5]),
  };
  return {
    ...rescheduled(job, ({ enabled, overlap: own }) => ({
      schedule,
      settings: { enabled, requires, requireWithinMs, overlap: requires.length === 0 ? own : overlap },
    })),
    behaviours,
  };
}
