import type { PlannedElection } from '../world/candidates';
import { type Disturbance, SKEWS, drawDisturbance } from './disturbance';
import { CALL_FAULTS, type CallFault, type FaultPlan, HUB_FAULTS, type HubFault, type Rates } from './faults';
import type { MixName } from './mixes';
import { type PlannedJob, planJob } from './plan-job';
import type { ClockFault } from '../world/process';
import { type Random, seededBy } from './random';
import { type Theme, themeOf } from './themes';

export interface PlannedInstance {
  /** Its place in the plan, which stays when others are left out. */
  readonly index: number;
  readonly deployment: number;
  readonly startsAt: number;
  readonly clock: ClockFault;
  /** It is far from storage: each call takes this much longer. */
  readonly slowMs?: number;
}

/** A history depends only on this and its seed. Decision 117. */
export interface Plan {
  readonly seed: number;
  readonly mixes: readonly MixName[];
  readonly jobs: readonly PlannedJob[];
  readonly deployments: number;
  readonly instances: readonly PlannedInstance[];
  readonly faults: FaultPlan;
  readonly disturbances: readonly Disturbance[];
  /** Task hubs deliver everything but probes this much later. */
  readonly hubLateMs?: number;
  /** Each answer's Date is behind by up to this much: one may be earlier than that of a call before. */
  readonly dateJitterMs?: number;
  /** Instances believe that their claims are this slow, so they claim long before due times. */
  readonly claimsPerSecond?: number;
  /** How many handlers each instance runs at once. */
  readonly maxConcurrentRuns?: number;
  /** Deployments write their presences. */
  readonly presences?: boolean;
  /** Operators' calls fail as others do, and their processes die. */
  readonly people?: boolean;
  /** Programs compete for an election, beside the jobs. */
  readonly election?: PlannedElection;
  /** The duration of the faults; then it is quiet. */
  readonly troubledMs: number;
  /** Storage is well, so that overdue jobs must be reported. */
  readonly alerts?: boolean;
}

/** Whether nothing happens but what this mix does. */
export function isOnly({ mixes }: Plan, mix: MixName): boolean {
  return mixes.length === 1 && mixes[0] === mix;
}

/** A plan with a little of everything. */
export function plainPlan(seed: number): Plan {
  const random = seededBy(seed, 'plan');
  const theme = themeOf(seed, (themes) => random.pick([...themes]));
  const deployments = theme.changing ? 2 : random.pick([1, 1, 2, 2, 3]);
  const count = random.whole(Math.max(2, deployments), 4);
  const troubledMs = theme.leaseMs === undefined ? random.pick([90_000, 150_000, 150_000, 300_000]) : 300_000;
  const jobs = Array.from({ length: random.pick([1, 1, 2, 2, 3]) }, (_, index) => planJob(seed, index, theme));
  const level = theme.changing ? 0 : random.pick([0.002, 0.01, 0.03, 0.08]);
  const disturbances = Array.from(
    { length: theme.changing ? random.whole(1, 4) : random.whole(0, theme.rates === undefined ? 12 : 4) },
    () => drawDisturbance(random, theme, troubledMs, { jobs: jobs.length, instances: count, deployments }),
  );
  const rates = {
    ...drawRates(random, CALL_FAULTS, level, 0.45),
    lastRecord: 0,
    lostRecord: 0,
    lastRelease: 0,
    lateRelease: 0,
    lostGrowth: 0,
    lateGrowth: 0,
    afterwards: 0,
    lastRead: 0,
    hidden: 0,
    ...drawRates(random, HUB_FAULTS, Math.min(0.3, level * 4), 0.4),
    ...theme.rates,
  };
  const plan: Plan = {
    seed,
    mixes: ['plain'],
    jobs,
    deployments,
    instances: Array.from({ length: count }, (_, index) => ({
      index,
      deployment: index % deployments,
      startsAt: index === 0 || theme.changing ? 0 : random.pick([0, 0, random.whole(0, troubledMs)]),
      clock: {
        skewMs: theme.changing ? ([-1_900, 0][index % deployments] ?? 0) : random.pick(SKEWS),
        drift: random.pick([0, 0, 0.0002, -0.0002, 0.005, -0.005]),
      },
    })),
    faults: { kind: 'drawn', rates },
    disturbances: together(random, theme, disturbances).sort((a, b) => a.at - b.at),
    troubledMs,
  };
  return withinLimits(plan);
}

/** Moves the disturbances that a theme wants together to one time. */
function together(random: Random, theme: Theme, disturbances: readonly Disturbance[]): Disturbance[] {
  const outages = disturbances.filter(({ kind }) => kind === 'outage');
  const [first, ...others] = outages;
  if (theme.changing) {
    const deploys = disturbances.filter(({ kind }) => kind === 'deploy').sort((a, b) => a.at - b.at);
    return disturbances.map((what) =>
      what === deploys[0] && what.kind === 'deploy' ? { ...what, deployment: 0 } : what,
    );
  }
  if (!theme.clocksInOutages || first === undefined) return [...disturbances];
  return disturbances.map((what) =>
    what.kind === 'setClock' ? { ...what, at: random.pick([first, ...others]).at + random.whole(1_000, 35_000) } : what,
  );
}

/** A machine that sleeps while its wall clock is set back has no clock left that shows how long it slept. */
export function withinLimits(plan: Plan): Plan {
  if (
    !plan.disturbances.some(({ kind }) => kind === 'setClock' || kind === 'setClocks') ||
    plan.faults.kind === 'listed'
  )
    return plan;
  return {
    ...plan,
    faults: { kind: 'drawn', rates: { ...plan.faults.rates, sleepAfter: 0 } },
    disturbances: plan.disturbances.map((what) => (what.kind === 'pause' ? { ...what, asleep: false } : what)),
  };
}

/** With a higher rate, nothing but faults would happen. */
const OFTEN = 0.2;

/** Some histories have many faults of few kinds, others few of many. */
function drawRates<Kind extends CallFault | HubFault>(
  random: Random,
  kinds: readonly Kind[],
  level: number,
  share: number,
): Pick<Rates, Kind> {
  const chosen = kinds.map(
    (kind) => [kind, random.chance(share) ? Math.min(OFTEN, level * random.pick([0.3, 1, 2, 4])) : 0] as const,
  );
  return Object.fromEntries(chosen) as Pick<Rates, Kind>;
}
