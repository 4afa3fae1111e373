import type { JobSpec } from '../../../src/core/job';
import type { Disturbance } from './disturbance';
import type { Plan } from './plan';
import { type PlannedJob, rescheduled } from './plan-job';
import type { Random } from './random';

/*
 * Histories in which each revision of the jobs file has another schedule, and now and then two deployments have one
 * revision with two schedules.
 */

/** The revision of which there may be two. */
export const RIVAL_REVISION = 1;

const SCHEDULES = [
  ...(['@every 20s', '@every 15s', '@every 10s', '@every 45s', '* * * * *', '*/2 * * * *'] as const),
  ...(['@every 5s', '@manual', '@always'] as const),
] as const;
/** Of these, the schedules of jobs that fan out, have a group, require others or are back-filled. */
const TIMED = [
  '@every 20s',
  '@every 15s',
  '@every 10s',
  '@every 45s',
  '* * * * *',
  '*/2 * * * *',
  '@every 5s',
] as const;

export function schedulesPlan(plan: Plan, random: Random): Plan {
  const rivals = plan.deployments > 1 && random.chance(0.3);
  const drawn = plan.mixes.length === 1 ? SCHEDULES : TIMED;
  const deploys = Array.from({ length: random.whole(1, 6) }, (): Disturbance => {
    return { at: random.whole(0, plan.troubledMs), kind: 'deploy', deployment: random.whole(0, plan.deployments - 1) };
  });
  return {
    ...plan,
    jobs: plan.jobs.map((job) => {
      const changing = rescheduled(job, () => drawSchedule(random, drawn));
      const [rival] = rivals ? rescheduled(job, () => drawSchedule(random, drawn)).specs : [];
      return rival === undefined || mayShareKeys(rival, changing.specs[RIVAL_REVISION])
        ? changing
        : { ...changing, rival };
    }),
    disturbances: [...plan.disturbances, ...deploys].sort((a, b) => a.at - b.at),
  };
}

/**
 * Whether one of two files with the same revision runs terms and the other due times. A term may then begin at the very
 * second of a due time, and only one of the two records can exist; docs/how-to/upgrades.md states this.
 */
function mayShareKeys(rival: JobSpec, spec: JobSpec | undefined): boolean {
  return (rival.kind === 'always') !== (spec?.kind === 'always');
}

function drawSchedule(
  random: Random,
  schedules: readonly [string, ...string[]],
): { readonly schedule: string; readonly settings: Partial<JobSpec> } {
  return { schedule: random.pick(schedules), settings: { enabled: random.chance(0.85) } };
}

/** A deployment's versions of a job: one half of the deployments have the rival, if there is one. */
export function specFor(
  { specs, rival, absentIn }: PlannedJob,
  revision: number,
  deployment: number,
): JobSpec | undefined {
  if (revision === absentIn) return undefined;
  return revision === RIVAL_REVISION && rival !== undefined && deployment % 2 === 1 ? rival : specs[revision];
}
