import type { Disturbance, DisturbanceKind } from './disturbance';
import type { Plan } from './plan';
import { type PlannedJob, planFan, planRetries } from './plan-job';
import type { Random } from './random';

const KINDS = ['request', 'request', 'pauseJob', 'cancel'] as const;
/**
 * The oracle does not track schedules across the lost part. And no one has a copy of a row or control that another
 * program has overwritten: the one that returns may be an earlier one.
 */
export const LEFT_OUT: readonly DisturbanceKind[] = ['deploy', 'spoil', 'spoilRow'];
/** Enough for most histories to recover and run for a while. */
const RECOVERS_FOR_MS = 300_000;

/**
 * The storage account fails over and returns to an earlier state, while faults of any kind happen. All deployments
 * follow one jobs file, because the oracle does not track schedules across the lost part.
 */
export function failover(plan: Plan, random: Random): Plan {
  const at = random.pick([random.whole(0, 60_000), random.whole(20_000, 180_000)]);
  const drawn = random.pick(['asPlanned', 'fansOut', 'triesAgain'] as const);
  // Over months, no one tries again.
  const first = plan.mixes.includes('retention') ? 'asPlanned' : drawn;
  const lostMs =
    first === 'asPlanned' ? random.whole(2_000, random.pick([10_000, 60_000, 120_000])) : random.whole(30_000, 120_000);
  const stopsAfterMs = random.pick([0, 3_000, 15_000, 45_000]);
  const acts = Array.from({ length: random.whole(0, 6) }, (): Disturbance => {
    const instant = random.whole(Math.max(0, at - 30_000), at + lostMs);
    const job = random.whole(0, plan.jobs.length - 1);
    // A pause would end what the first job is there for.
    const kind = first === 'triesAgain' ? 'request' : random.pick(KINDS);
    return kind === 'pauseJob'
      ? { at: instant, kind, job, lasts: random.pick([1_000, 30_000, 150_000]) }
      : { at: instant, kind, job };
  });
  const before = plan.disturbances.filter((what) => what.at < at + lostMs && !LEFT_OUT.includes(what.kind));
  const what: Disturbance = {
    at,
    kind: 'failover',
    lostMs,
    how: random.pick(['refuses', 'hangs']),
    stopsAfterMs,
    drains: random.chance(0.5),
    leases: random.pick(['kept', 'gone']),
    wipesHubs: random.chance(0.5),
    // As docs/how-to/recovery.md has it: due times are claimed up to 34 s early, and clocks are off by as much as goes
    // uncorrected.
    untilMs: random.pick([60_000, 60_000, 90_000, undefined]),
    runs: random.pick(['resume', 'resume', 'rerun', 'fail']),
    triesBefore: random.chance(0.4),
    apart: random.chance(0.7),
  };
  return {
    ...plan,
    jobs: plan.jobs.map((job, place) => (place === 0 ? firstJob(job, first, random) : job)),
    people: true,
    disturbances: [...before, ...acts, what].sort((a, b) => a.at - b.at),
    troubledMs: at + lostMs + stopsAfterMs + RECOVERS_FOR_MS,
  };
}

/**
 * The first job works for long, so that what it writes may return to different instants: the plan and the items of a
 * fan-out, or the records of runs that are tried again, beside a row that has moved on.
 */
function firstJob(job: PlannedJob, what: 'asPlanned' | 'fansOut' | 'triesAgain', random: Random): PlannedJob {
  switch (what) {
    case 'asPlanned':
      return job;
    case 'fansOut':
      return planFan(random, job.index);
    case 'triesAgain':
      return planRetries(random, job.index);
  }
}
