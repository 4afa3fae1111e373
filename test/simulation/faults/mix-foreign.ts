import type { Disturbance } from './disturbance';
import { calm, quickJob } from './mix-hand-overs';
import { type Plan, isOnly } from './plan';
import type { Random } from './random';

/** In each stretch something else writes over one blob of one job; at its end all is well again. */
const STRETCH_MS = 240_000;
const STRETCHES = 3;
const SPOILED_FOR = [5_000, 60_000, 130_000] as const;
const JOBS = 3;

/**
 * Something else writes over rows and controls, and deletes rows, and nothing else is wrong: all other jobs continue.
 */
export function foreign(plan: Plan, random: Random): Plan {
  const schedules = ['@every 10s', '@every 20s', '@every 45s', '* * * * *'] as const;
  const jobs = Array.from({ length: JOBS }, (_, index) => quickJob(index, random.pick(schedules), 15_000));
  const disturbances = Array.from({ length: STRETCHES }, (_, index): Disturbance => {
    const at = index * STRETCH_MS + random.whole(60_000, 75_000);
    const job = random.whole(0, JOBS - 1);
    const lasts = random.pick(SPOILED_FOR);
    if (random.chance(0.3)) return { at, kind: 'spoil', job, lasts };
    return { at, kind: 'spoilRow', job, lasts, how: random.pick(['format', 'field', 'replaced']) };
  });
  const deployments = random.pick([1, 2]);
  const quiet = calm(plan, deployments, random.whole(deployments, 3));
  const at = STRETCHES * STRETCH_MS + random.whole(60_000, 75_000);
  // Beside people, and with other mixes, no one could say what of the lost row's requests and runs is to come.
  const deletions: Disturbance[] =
    isOnly(plan, 'foreign') && random.chance(0.5) ? [{ at, kind: 'deleteRow', job: random.whole(0, JOBS - 1) }] : [];
  return {
    ...quiet,
    jobs,
    disturbances: [...plan.disturbances, ...disturbances, ...deletions],
    troubledMs: (STRETCHES + deletions.length) * STRETCH_MS + 30_000,
  };
}
