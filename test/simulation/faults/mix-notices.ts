import { NOTICE_TOPICS } from '../../../src/core/job';
import type { Plan } from './plan';
import type { PlannedJob } from './plan-job';
import type { Random } from './random';

/** Jobs fail and recover often, people are to be told, and processes die in the calls that tell them. */
export function notices(plan: Plan, random: Random): Plan {
  const jobs = plan.jobs.map((job): PlannedJob => {
    const notify = { to: ['ops'], on: NOTICE_TOPICS, after: random.pick([1, 1, 2, 3]), remindMs: undefined };
    const retry = {
      attempts: random.pick([1, 2]),
      backoffMs: 1_000,
      factor: 2,
      maxBackoffMs: 10_000,
      jitter: 'none',
    } as const;
    const specs = job.specs.map((spec) => ({ ...spec, notify, retry }));
    const fails = random.pick([0.3, 1, 3]);
    const { rival, ...others } = job;
    return {
      ...others,
      specs,
      ...(rival === undefined ? {} : { rival: { ...rival, notify, retry } }),
      behaviours: { ...job.behaviours, quick: 1, throws: fails, final: fails / 2 },
    };
  });
  const often = random.pick([0.01, 0.05]);
  const rates = { crashBefore: often, crashAfter: often, lostAfter: often };
  return {
    ...plan,
    jobs,
    faults: plan.faults.kind === 'drawn' ? { kind: 'drawn', rates: { ...plan.faults.rates, ...rates } } : plan.faults,
  };
}
