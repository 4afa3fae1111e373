import type { Disturbance } from './disturbance';
import type { Plan } from './plan';
import type { Random } from './random';

const LASTS = [1_000, 20_000, 60_000] as const;
/** The time between two operators that act at once. */
const AT_ONCE_MS = 60;
const KINDS = [
  ...([
    'pauseJob',
    'pauseJob',
    'request',
    'request',
    'cancel',
    'cancel',
    'unlock',
    'spoil',
    'spoilRow',
    'forget',
  ] as const),
] as const;

/** Operators act at once, their calls fail, and their processes die between two of them. */
export function people(plan: Plan, random: Random): Plan {
  const acts = Array.from({ length: random.whole(4, 20) }, (): readonly Disturbance[] => {
    const at = random.whole(10_000, plan.troubledMs - 10_000);
    const job = random.whole(0, plan.jobs.length - 1);
    return Array.from({ length: random.pick([1, 2, 3]) }, () =>
      act(plan, random, at + random.whole(0, AT_ONCE_MS), job),
    );
  }).flat();
  const often = random.pick([0, 0.03, 0.1]);
  const rates = { lostBefore: often, lostAfter: often, twice: often, crashBefore: often / 4, crashAfter: often / 4 };
  return {
    ...plan,
    people: true,
    faults: plan.faults.kind === 'drawn' ? { kind: 'drawn', rates: { ...plan.faults.rates, ...rates } } : plan.faults,
    disturbances: [...plan.disturbances, ...acts].sort((a, b) => a.at - b.at),
  };
}

function act(plan: Plan, random: Random, at: number, job: number): Disturbance {
  const kind = random.pick(KINDS);
  const lasts = random.pick(LASTS);
  switch (kind) {
    case 'pauseJob':
      return { at, kind, job, lasts };
    case 'spoil':
      // What is spoiled is put right before the faults end.
      return { at, kind, job, lasts: Math.min(lasts, plan.troubledMs - at) };
    case 'spoilRow': {
      const how = random.pick(['format', 'field', 'replaced'] as const);
      return { at, kind, job, lasts: Math.min(lasts, plan.troubledMs - at - 1), how };
    }
    default:
      return { at, kind, job };
  }
}
