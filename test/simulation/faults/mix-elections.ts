import type { ElectionAct } from '../world/candidates';
import type { Plan } from './plan';
import type { Random } from './random';

const SKEWS = [0, 0, 1_900, -1_900, 30_000, -30_000, 3_600_000, -3_600_000] as const;

/** Several programs want to lead, over storage and a network that fail. The jobs beside them are as in plain histories. */
export function elections(plan: Plan, random: Random): Plan {
  const candidates = Array.from({ length: random.whole(2, 4) }, () => ({
    skewMs: random.pick(SKEWS),
    drift: random.pick([0, 0.0002, 0.005, -0.005]),
  }));
  // A machine that sleeps while its wall clock is set back has no clock left that shows how long it slept.
  const sleeps = random.chance(0.5);
  const act = (): ElectionAct => {
    const at = random.whole(0, plan.troubledMs);
    const candidate = random.whole(0, candidates.length - 1);
    const kind = random.pick(['kill', 'kill', 'pause', 'pause', 'pause', 'setClock', 'resign', 'stop', 'breakLease']);
    switch (kind) {
      case 'kill':
        return { at, kind, candidate, back: random.pick([0, 5_000, 60_000]) };
      case 'setClock':
        if (!sleeps) return { at, kind, candidate, skewMs: random.pick(SKEWS) };
        return { at, kind: 'pause', candidate, lasts: random.pick([20_000, 60_000]), asleep: true };
      case 'resign':
      case 'stop':
        return { at, kind, candidate };
      case 'breakLease':
        return { at, kind, period: random.pick([0, 15_000, 60_000]) };
      default:
        return { at, kind: 'pause', candidate, lasts: random.pick([3_000, 20_000, 90_000]), asleep: false };
    }
  };
  const acts = Array.from({ length: random.whole(2, 14) }, act).sort((a, b) => a.at - b.at);
  const { faults } = plan;
  return {
    ...plan,
    jobs: plan.mixes.length === 1 ? plan.jobs.slice(0, 1) : plan.jobs,
    faults: faults.kind === 'drawn' && !sleeps ? { ...faults, rates: { ...faults.rates, sleepAfter: 0 } } : faults,
    election: { leaseMs: random.pick([15_000, 30_000]), candidates, acts },
  };
}
