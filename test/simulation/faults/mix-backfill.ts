import type { Disturbance } from './disturbance';
import type { Plan } from './plan';
import { type PlannedJob, rescheduled } from './plan-job';
import type { Random } from './random';

const SECOND = 1_000;

/** The most due times of one back-fill: it must end soon after the faults. */
const DUE_TIMES = 6;

/** People start and stop back-fills of jobs that are due all the time, and jobs are paused meanwhile. */
export function backfills(plan: Plan, random: Random): Plan {
  const longer: Plan = {
    ...plan,
    troubledMs: random.pick([150_000, 240_000, 300_000]),
    jobs: plan.jobs.map(backfilled(plan, random)),
  };
  const acts = longer.jobs.flatMap(({ index }) =>
    Array.from({ length: random.whole(1, 3) }, () => backfillOf(longer, random, index)).flat(),
  );
  const others = plan.disturbances.filter(({ kind }) => kind !== 'deploy');
  const pauses = longer.jobs.flatMap(({ index }): readonly Disturbance[] =>
    random.chance(0.5)
      ? [{ at: random.whole(20_000, longer.troubledMs), kind: 'pauseJob', job: index, lasts: 30_000 }]
      : [],
  );
  return { ...longer, disturbances: [...others, ...acts, ...pauses].sort((a, b) => a.at - b.at) };
}

/** A third of them are stopped soon. */
function backfillOf({ troubledMs }: Plan, random: Random, job: number): readonly Disturbance[] {
  const at = random.whole(20_000, troubledMs - 30_000);
  // Some of these due times are older than the first sight of the job.
  const from = random.whole(-120, 60) * SECOND;
  const limit = random.whole(1, DUE_TIMES);
  const order = random.pick(['oldest', 'newest'] as const);
  const start: Disturbance = { at, kind: 'backfill', job, from, order, limit, includeSucceeded: random.chance(0.6) };
  const stop: Disturbance = { at: at + random.whole(1_000, 25_000), kind: 'stopBackfill', job };
  return random.chance(0.35) ? [start, stop] : [start];
}

function backfilled({ mixes }: Plan, random: Random): (job: PlannedJob) => PlannedJob {
  return (job) => {
    const schedule = random.pick(['@every 20s', '@every 45s', '* * * * *']);
    const retry = {
      ...{ attempts: random.pick([1, 2, 3]), backoffMs: random.pick([1_000, 30_000]), factor: 1, maxBackoffMs: 30_000 },
      jitter: 'none' as const,
    };
    const settings = {
      ...{ enabled: true, retry, pauseAfterFailures: undefined, catchUpWindowMs: 3_600_000, timeoutMs: 20_000 },
      overlap: random.pick(['skip', 'skip', 'queue', 'cancel'] as const),
      catchUp: random.pick(['latest', 'all', 'none'] as const),
    };
    const changed = rescheduled(job, () => ({ schedule, settings }));
    const rate = random.pick([0, 0.3, 1]);
    return {
      ...changed,
      fanOut: mixes.includes('fans') ? job.fanOut : undefined,
      behaviours: { ...job.behaviours, quick: 1, long: random.pick([0, 0.3, 1]), throws: rate, never: 0 },
    };
  };
}
