import type { Disturbance, DrawnKind } from './disturbance';
import { drawDisturbance } from './disturbance';
import type { CallFault, HubFault, Rates } from './faults';
import { backfills } from './mix-backfill';
import { elections } from './mix-elections';
import { failover } from './mix-failover';
import { foreign } from './mix-foreign';
import { groupedJobs } from './mix-groups';
import { draining, nights, slowHub } from './mix-hand-overs';
import { migrations } from './mix-migrations';
import { notices } from './mix-notices';
import { people } from './mix-people';
import { requiringJobs } from './mix-requires';
import type { Plan } from './plan';
import { plainPlan, withinLimits } from './plan';
import type { PlannedJob } from './plan-job';
import { firstSpec, planFan, rescheduled } from './plan-job';
import type { Random } from './random';
import { seededBy } from './random';
import { retentionPlan } from './retention';
import { schedulesPlan } from './schedules';
import { ALL_OUTAGES } from './themes';

export const MIX_NAMES = [
  'plain',
  'wide',
  'loss',
  'clocks',
  'pauses',
  'kills',
  'outages',
  'hubs',
  'retention',
  'schedules',
  'draining',
  'slowHub',
  'nights',
  'fans',
  'people',
  'foreign',
  'elections',
  'failover',
  'requires',
  'notices',
  'backfills',
  'groups',
  'migrations',
] as const;
export type MixName = (typeof MIX_NAMES)[number];

/** Histories with more of one kind of trouble than the plain ones. */
export interface Mix {
  /** The difference, in a phrase. */
  readonly what: string;
  /** The number of its histories in `npm run test:all`. `npm test` plays a twentieth. */
  readonly share: number;
  /**
   * Changes the plain plan of a seed.
   *
   * @param random a source of the mix's own, so that plain histories stay what they are
   */
  change(plan: Plan, random: Random): Plan;
}

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

export const MIXES: Readonly<Record<MixName, Mix>> = {
  plain: { what: 'a little of everything', share: 2_000, change: (plan) => plan },
  wide: { what: '3 to 6 deployments, and clocks up to ten minutes wrong', share: 330, change: wide },
  loss: { what: 'up to 40 % of all calls are lost', share: 330, change: loss },
  clocks: { what: 'clocks up to an hour wrong, and set during runs', share: 330, change: clocks },
  pauses: { what: 'processes stop for up to five minutes', share: 330, change: pauses },
  kills: { what: 'processes die, and whole deployments', share: 250, change: kills },
  outages: { what: 'storage and task hubs are away for up to five minutes', share: 150, change: outages },
  hubs: { what: 'task hubs are dead, refuse, or repeat themselves, and storage is healthy', share: 100, change: hubs },
  fans: {
    what: 'runs fan out to items that take long, and their hosts and task hubs are lost',
    share: 150,
    change: fans,
  },
  elections: {
    what: 'programs want to lead, and die, stop, resign and have wrong clocks',
    share: 100,
    change: elections,
  },
  foreign: { what: 'another program overwrites rows and controls', share: 100, change: foreign },
  people: { what: 'operators act at the same time, and fail in mid-action', share: 100, change: people },
  failover: {
    what: 'the storage account fails over to an earlier state, and people recover the jobs',
    share: 600,
    change: failover,
  },
  requires: { what: 'jobs require others, with the faults of other mixes', share: 330, change: requires },
  notices: { what: 'jobs that notify fail and recover, and holders die as they tell it', share: 150, change: notices },
  backfills: { what: 'people back-fill jobs, and stop it, beside the plain faults', share: 150, change: backfills },
  groups: {
    what: 'jobs of one group run one to three at once, with the faults of other mixes',
    share: 330,
    change: groups,
  },
  migrations: {
    what: 'people move the jobs to another store, with the jobs and the faults of other mixes',
    share: 330,
    change: moves,
  },
  retention: { what: 'months pass, and old records are deleted while rows stay', share: 330, change: retentionPlan },
  draining: { what: 'hosts are shut down, beside a healthy deployment', share: 100, change: draining },
  schedules: { what: 'each revision has another schedule, and some have two', share: 330, change: schedulesPlan },
  slowHub: { what: 'one deployment, whose task hub delivers 12 s late', share: 100, change: slowHub },
  nights: { what: 'nothing runs for up to an hour, and task hubs keep hand-overs', share: 100, change: nights },
};

/** A history depends on these values alone. */
export function planOf(seed: number, mix: MixName = 'plain'): Plan {
  const plan = withEarlyClaims(plainPlan(seed));
  if (mix === 'plain') return withSlots(plan);
  const mixed: Plan = withinLimits({ ...MIXES[mix].change(plan, seededBy(seed, 'mix', mix)), mix });
  return PUNCTUAL.includes(mix) ? mixed : withSlots(mixed);
}

/** In these mixes jobs must start on time, or soon, during the trouble. */
const PUNCTUAL: readonly MixName[] = ['draining', 'slowHub', 'foreign'];

/** In a third of the histories instances run one or two handlers at once, and jobs are paused while their runs wait. */
function withSlots(plan: Plan): Plan {
  const random = seededBy(plan.seed, 'slots');
  const maxConcurrentRuns = random.pick([undefined, undefined, undefined, undefined, 1, 2]);
  if (maxConcurrentRuns === undefined) return plan;
  const longer = (job: PlannedJob): PlannedJob =>
    random.chance(0.5) ? job : { ...job, behaviours: { ...job.behaviours, long: 1 } };
  const pauses = draw(plan, random, ['pauseJob'], [0, 4]);
  const disturbances = [...plan.disturbances, ...pauses].sort(byTime);
  return { ...plan, maxConcurrentRuns, jobs: plan.jobs.map(longer), disturbances };
}

/** In half of the histories instances claim as early as before a burst of due times. */
function withEarlyClaims(plan: Plan): Plan {
  const claimsPerSecond = seededBy(plan.seed, 'early').pick([undefined, undefined, undefined, 0.05, 0.1, 0.5]);
  return claimsPerSecond === undefined ? plan : { ...plan, claimsPerSecond };
}

/** A third of these histories have no other faults than the plain ones. */
function requires(plan: Plan, random: Random): Plan {
  const troubled = random.pick([undefined, undefined, undefined, wide, loss, clocks, pauses, kills, outages]);
  const requiring = requiringJobs(plan, random);
  return troubled === undefined ? requiring : troubled(requiring, random);
}

/** A third of these histories have no other faults than the plain ones. */
function groups(plan: Plan, random: Random): Plan {
  const troubled = random.pick([undefined, undefined, undefined, wide, loss, clocks, pauses, kills, outages]);
  const grouped = groupedJobs(plan, random);
  if (troubled === undefined) return grouped;
  const mixed = troubled(grouped, random);
  // Jobs that run one after another, each with calls that take seconds, would never be through with their backlog.
  return { ...mixed, instances: mixed.instances.map((instance) => ({ ...instance, slowMs: 0 })) };
}

/** A third of these histories have no other faults than the plain ones, and a third have plain jobs. */
function moves(plan: Plan, random: Random): Plan {
  const jobs = random.pick([undefined, undefined, notices, notices, requiringJobs, backfills]);
  const troubled = random.pick([undefined, undefined, undefined, wide, loss, clocks, pauses, kills, outages]);
  const busy = jobs === undefined ? plan : jobs(plan, random);
  return migrations(troubled === undefined ? busy : troubled(busy, random), random);
}

function wide(plan: Plan, random: Random): Plan {
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

function loss(plan: Plan, random: Random): Plan {
  const share = random.pick([0.1, 0.2, 0.3, 0.4]);
  const before = random.pick([0.2, 0.5, 0.8]);
  const rates = { lostBefore: share * before, lostAfter: share * (1 - before) };
  return withRates({ ...plan, dateJitterMs: random.pick(DATE_JITTERS) }, rates);
}

function clocks(plan: Plan, random: Random): Plan {
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

function pauses(plan: Plan, random: Random): Plan {
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

function kills(plan: Plan, random: Random): Plan {
  const longer: Plan = { ...plan, troubledMs: random.pick([150_000, 300_000]) };
  const deaths = draw(longer, random, ['kill', 'kill', 'kill', 'drain', 'appGone'], [4, 20]);
  const rate = random.pick([0, 0.005, 0.02, 0.05]);
  return withRates(
    { ...longer, disturbances: [...plan.disturbances, ...deaths].sort(byTime) },
    { crashBefore: rate, crashAfter: rate, crashSent: rate },
  );
}

function outages(plan: Plan, random: Random): Plan {
  const longer: Plan = { ...plan, troubledMs: random.pick([300_000, 600_000]) };
  const kinds = ['outage', 'outage', 'outage', 'denied', 'hubDead', 'hubWiped'] as const;
  const away = draw(longer, random, kinds, [2, 10]).map((what): Disturbance =>
    what.kind === 'outage' || what.kind === 'denied'
      ? { ...what, lasts: random.pick([10, 40, 90, 180, 300] as const) * SECOND }
      : what,
  );
  return { ...longer, disturbances: [...plan.disturbances, ...away].sort(byTime) };
}

function hubs(plan: Plan, random: Random): Plan {
  const longer = { ...withoutFaults(plan), troubledMs: random.pick([300_000, 450_000, 600_000]), alerts: true };
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
  const disturbances = [...troubles, ...resumedAndAsked({ ...longer, jobs })].sort(byTime);
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
function fans(plan: Plan, random: Random): Plan {
  const longer: Plan = {
    ...plan,
    deployments: random.pick([1, 2, 2, 3]),
    troubledMs: random.pick([300_000, 450_000, 600_000]),
    jobs: Array.from({ length: random.pick([1, 1, 2]) }, (_, index) => planFan(random, index)),
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
  const lost = draw(wide, random, kinds, [2, 8]);
  const rate = random.pick([0, 0.002, 0.01]);
  return withRates(
    { ...wide, disturbances: [...lost].sort(byTime) },
    {
      ...{ pauseAfter: rate, sleepAfter: rate, lostAfter: rate, crashAfter: rate / 2 },
      ...{ hidden: random.pick([0, 0.05, 0.2]), late: random.pick([0, 0.1, 0.3]), lastRead: random.pick([0, 0, 0.03]) },
    },
  );
}

function draw(
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

function byTime(a: Disturbance, b: Disturbance): number {
  return a.at - b.at;
}

function withRates(plan: Plan, changed: Partial<Rates>): Plan {
  if (plan.faults.kind === 'listed') return plan;
  return { ...plan, faults: { kind: 'drawn', rates: { ...plan.faults.rates, ...changed } } };
}

function withoutFaults(plan: Plan): Plan {
  if (plan.faults.kind === 'listed') return plan;
  const kinds = Object.keys(plan.faults.rates) as (CallFault | HubFault)[];
  return withRates(plan, Object.fromEntries(kinds.map((kind) => [kind, 0])));
}
