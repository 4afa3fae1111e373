import { type Disturbance, type DrawnKind, drawDisturbance } from './disturbance';
import type { CallFault, HubFault, Rates } from './faults';
import type { Plan } from './plan';
import { type PlannedJob, firstSpec, planCall, planFan, rescheduled } from './plan-job';
import { type Random, seededBy } from './random';
import { ALL_OUTAGES } from './themes';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The error of clocks in `wide`. */
const WIDE_SKEWS = [0, 0, 150, -1_900, 30_000, -30_000, 5 * MINUTE, -5 * MINUTE, 10 * MINUTE, -10 * MINUTE] as const;
/** By how much Dates go back in `loss` and `clocks`. */
const DATE_JITTERS = [0, 900] as const;
/** The error of clocks in `clocks`. */
const LARGE_SKEWS = [
  ...([0, 0, 1_900, -1_900, 2_500, -2_500, 30_000, -30_000] as const),
  ...([10 * MINUTE, -10 * MINUTE, 60 * MINUTE, -60 * MINUTE, 60 * MINUTE, -60 * MINUTE] as const),
] as const;

export function wide(plan: Plan, random: Random): Plan {
  const deployments = random.whole(3, 6);
  const wider: Plan = {
    ...plan,
    deployments,
    instances: Array.from({ length: deployments + random.whole(0, 3) }, (_, index) => ({
      index,
      deployment: index % deployments,
      startsAt: index === 0 ? 0 : random.pick([0, 0, random.whole(0, plan.troubledMs)]),
      clock: { skewMs: random.pick(WIDE_SKEWS), drift: random.pick([0, 0, 0.0002, -0.0002, 0.005, -0.005]) },
    })),
  };
  const kinds = ['kill', 'drain', 'pause', 'hubDead', 'hubDead', 'hubWiped', 'appGone', 'deploy', 'outage'] as const;
  return { ...wider, disturbances: [...plan.disturbances, ...draw(wider, random, kinds, [0, 10])].sort(byTime) };
}

export function loss(plan: Plan, random: Random): Plan {
  const share = random.pick([0.1, 0.2, 0.3, 0.4]);
  const before = random.pick([0.2, 0.5, 0.8]);
  const rates = { lostBefore: share * before, lostAfter: share * (1 - before) };
  const dateJitterMs = random.pick(DATE_JITTERS);
  const growth = random.pick<Partial<Rates>>([{}, { lostGrowth: 0.5 }, { lateGrowth: 0.5 }]);
  return withRates({ ...plan, dateJitterMs }, { ...rates, ...growth });
}

export function clocks(plan: Plan, random: Random): Plan {
  // Slow answers show the time less exactly. Leases must outlast several of them, and backlogs would never end.
  const slow = random.pick([0, 0, 0, 2_200, 3_000]);
  const often = random.chance(0.5);
  const skewed: Plan = {
    ...plan,
    jobs: plan.jobs.map((job) => (slow > 0 ? unhurried(job) : often ? oftenFailing(job) : job)),
    instances: plan.instances.map((instance) => ({
      ...instance,
      clock: { ...instance.clock, skewMs: random.pick(LARGE_SKEWS) },
      slowMs: slow,
    })),
  };
  const steps = draw(plan, random, ['setClock'], [1, 8]).map((what): Disturbance =>
    what.kind === 'setClock' ? { ...what, ...stepBy(random, what.at), skewMs: random.pick(LARGE_SKEWS) } : what,
  );
  const once = random.pick(['heldBack', 'atWork', undefined] as const);
  const skewMs = once === 'atWork' ? 60 * MINUTE : -60 * MINUTE;
  if (once !== undefined) steps.push({ at: random.whole(20_000, plan.troubledMs), kind: 'setClocks', skewMs, once });
  else steps.push(...setBackAndRight(plan));
  // Half of them have no other fault, so that nothing else explains a delay.
  const others = random.chance(0.5) ? [] : plan.disturbances.filter(({ kind }) => kind !== 'setClock');
  const dateJitterMs = random.pick(DATE_JITTERS);
  const calm = { ...skewed, disturbances: [...others, ...steps].sort(byTime), dateJitterMs };
  return others.length > 0 ? calm : withoutFaults(calm);
}

/**
 * Clocks are set back for longer than the renewal of a lease takes, and corrected again. The correction that was
 * measured meanwhile puts an attempt's time an hour ahead until the next answer, while its trust holds.
 */
function setBackAndRight({ seed, troubledMs }: Plan): Disturbance[] {
  const random = seededBy(seed, 'mix', 'clocks', 'setBackAndRight');
  return Array.from({ length: random.whole(1, 3) }, (): Disturbance => {
    const [at, rightAfterMs] = [random.whole(20_000, troubledMs), random.whole(6_000, 30_000)];
    return { at, kind: 'setClocks', skewMs: -60 * MINUTE, once: 'atWork', rightAfterMs };
  });
}

/** Many clock steps come while handlers wait for their due times. */
function stepBy(random: Random, at: number): { readonly at: number } {
  const period = random.pick([20, 45, 60] as const) * SECOND;
  return random.chance(0.5) ? { at } : { at: Math.ceil(at / period) * period - random.whole(300, 4_700) };
}

/** Attempts that take a while and are retried: a clock may be set during one. */
function oftenFailing(job: PlannedJob): PlannedJob {
  return { ...job, behaviours: { ...job.behaviours, throws: 2, throwsLate: 1 } };
}

function unhurried(job: PlannedJob): PlannedJob {
  const settings = { leaseMs: 60 * SECOND };
  return { ...rescheduled(job, () => ({ schedule: '@every 45s', settings })), fanOut: undefined };
}

export function pauses(plan: Plan, random: Random): Plan {
  const longer: Plan = { ...plan, troubledMs: random.pick([300_000, 450_000, 600_000]) };
  const stops = draw(longer, random, ['pause', 'pause', 'pause', 'kill'], [3, 12]).map((what): Disturbance =>
    what.kind === 'pause' ? { ...what, lasts: random.pick([20, 60, 120, 300] as const) * SECOND } : what,
  );
  const others = plan.disturbances.filter(({ kind }) => kind !== 'setClock');
  return withRates(
    { ...longer, disturbances: [...others, ...stops].sort(byTime) },
    { pauseAfter: random.pick([0, 0.01, 0.03]), pauseSent: random.pick([0, 0.01, 0.03]) },
  );
}

export function kills(plan: Plan, random: Random): Plan {
  const longer: Plan = { ...plan, troubledMs: random.pick([150_000, 300_000]) };
  const deaths = draw(longer, random, ['kill', 'kill', 'kill', 'drain', 'appGone'], [4, 20]);
  const rate = random.pick([0, 0.005, 0.02, 0.05]);
  return withRates(
    { ...longer, disturbances: [...plan.disturbances, ...deaths].sort(byTime) },
    { crashBefore: rate, crashAfter: rate, crashSent: rate },
  );
}

export function outages(plan: Plan, random: Random): Plan {
  const longer: Plan = { ...plan, troubledMs: random.pick([300_000, 600_000]) };
  const kinds = ['outage', 'outage', 'outage', 'denied', 'hubDead', 'hubWiped'] as const;
  const away = draw(longer, random, kinds, [2, 10]).map((what): Disturbance =>
    what.kind === 'outage' || what.kind === 'denied'
      ? { ...what, lasts: random.pick([10, 40, 90, 180, 300] as const) * SECOND }
      : what,
  );
  return { ...longer, disturbances: [...plan.disturbances, ...away].sort(byTime) };
}

export function hubs(plan: Plan, random: Random): Plan {
  const longer = { ...plan, troubledMs: random.pick([300_000, 450_000, 600_000]), alerts: true };
  const kinds = ['hubDead', 'hubDead', 'hubWiped', 'kill', 'drain', 'pauseJob', 'pauseJob', 'request'] as const;
  const troubles = draw(longer, random, kinds, [1, 10]).map((what): Disturbance =>
    what.kind === 'hubDead' && random.chance(0.5) ? { ...what, kind: 'hubRefuses' } : what,
  );
  const often = random.pick([0, 0.1, 0.3]);
  const rates = { late: often / 2, again: often, afterwards: often, dropped: random.pick([0, 0.05]) };
  const alertAfterMs = random.pick([60_000, 90_000, 150_000]);
  const jobs = plan.jobs.map((job) => {
    const dueless = random.pick(['@manual', '@always', undefined, undefined] as const);
    return rescheduled(job, ({ schedule }) => ({ schedule: dueless ?? schedule, settings: { alertAfterMs } }));
  });
  const disturbances = [...plan.disturbances, ...troubles, ...resumedAndAsked({ ...longer, jobs })].sort(byTime);
  return withRates({ ...longer, jobs, disturbances }, rates);
}

/** A job on request is paused, resumed, and requested once the end of its pause was seen: that still excuses it. */
function resumedAndAsked({ seed, jobs, troubledMs }: Plan): Disturbance[] {
  const random = seededBy(seed, 'mix', 'hubs', 'resumedAndAsked');
  const lasts = 20_000;
  return jobs.flatMap((job): Disturbance[] => {
    const at = random.whole(30_000, troubledMs - 200_000);
    const asked = at + lasts + random.whole(62_000, 100_000);
    if (firstSpec(job).kind !== 'manual' || random.chance(0.5)) return [];
    return [
      { at, kind: 'pauseJob', job: job.index, lasts },
      { at: asked, kind: 'request', job: job.index },
    ];
  });
}

/** Long enough for items to be silent, and for others to continue their run, several times. */
export function fans(plan: Plan, random: Random): Plan {
  return lostWork(plan, random, planFan);
}

/** Long enough for operations to lose those who poll them, several times. */
export function calls(plan: Plan, random: Random): Plan {
  return lostWork(plan, random, planCall);
}

/** Jobs whose runs others continue, on hosts that are lost or shut down, with task hubs that are lost. */
function lostWork(plan: Plan, random: Random, planned: (random: Random, index: number) => PlannedJob): Plan {
  const longer: Plan = {
    ...plan,
    deployments: random.pick([1, 2, 2, 3]),
    troubledMs: random.pick([300_000, 450_000, 600_000]),
    jobs: Array.from({ length: random.pick([1, 1, 2]) }, (_, index) => planned(random, index)),
  };
  const wide: Plan = {
    ...longer,
    instances: Array.from({ length: longer.deployments + random.whole(1, 2) }, (_, index) => ({
      index,
      deployment: index % longer.deployments,
      startsAt: 0,
      clock: {
        skewMs: random.pick([0, 0, 150, 1_900, -1_900, 30_000, -30_000]),
        drift: random.pick([0, 0, 0.0002, 0.005, -0.005]),
      },
    })),
  };
  const kinds = ['kill', 'kill', 'appGone', 'hubWiped', 'hubDead', 'pause', 'denied', 'outage', 'cancel'] as const;
  const lost = [...draw(wide, random, kinds, [2, 8]), ...stops(wide)];
  const rate = random.pick([0, 0.002, 0.01]);
  return withRates(
    { ...wide, disturbances: [...plan.disturbances, ...lost].sort(byTime) },
    {
      ...{ pauseAfter: rate, sleepAfter: rate, lostAfter: rate, crashAfter: rate / 2 },
      ...{ hidden: random.pick([0, 0.05, 0.2]), late: random.pick([0, 0.1, 0.3]), lastRead: random.pick([0, 0, 0.03]) },
      lateRelease: random.pick([0, 0.05, 0.3]),
    },
  );
}

/** Instances are stopped gracefully, one by one or with all others of their deployment, nearly at once. */
function stops({ seed, deployments, instances, troubledMs }: Plan): readonly Disturbance[] {
  const random = seededBy(seed, 'mix', 'fans', 'stops');
  return Array.from({ length: random.pick([0, 0, 1, 3, 6]) }, (): readonly Disturbance[] => {
    const at = random.whole(0, troubledMs);
    const deployment = random.whole(0, deployments - 1);
    const own = instances.filter((instance) => instance.deployment === deployment);
    const one = random.whole(0, own.length - 1);
    const leaving = random.chance(0.3) ? own.slice(one, one + 1) : own;
    const back = random.pick([0, 5_000, 60_000, 200_000]);
    return leaving.map(({ index }): Disturbance => {
      return { at: at + random.whole(0, 1_500), kind: 'drain', instance: index, back };
    });
  }).flat();
}

export function draw(
  plan: Plan,
  random: Random,
  kinds: readonly DrawnKind[],
  [least, most]: readonly [number, number],
): readonly Disturbance[] {
  const counts = { jobs: plan.jobs.length, instances: plan.instances.length, deployments: plan.deployments };
  const theme = { kinds, outages: ALL_OUTAGES };
  return Array.from({ length: random.whole(least, most) }, () =>
    drawDisturbance(random, theme, plan.troubledMs, counts),
  );
}

export function byTime(a: Disturbance, b: Disturbance): number {
  return a.at - b.at;
}

export function withRates(plan: Plan, changed: Partial<Rates>): Plan {
  if (plan.faults.kind === 'listed') return plan;
  return { ...plan, faults: { kind: 'drawn', rates: { ...plan.faults.rates, ...changed } } };
}

export function withoutFaults(plan: Plan): Plan {
  if (plan.faults.kind === 'listed') return plan;
  const kinds = Object.keys(plan.faults.rates) as (CallFault | HubFault)[];
  return withRates(plan, Object.fromEntries(kinds.map((kind) => [kind, 0])));
}
