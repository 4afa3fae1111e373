import type { CallFault, HubFault, Rates } from './faults';
import { given } from '../../../src/core/given';
import { backfills } from './mix-backfill';
import { elections } from './mix-elections';
import { LEFT_OUT, failover } from './mix-failover';
import { foreign } from './mix-foreign';
import { groupedJobs } from './mix-groups';
import { draining, nights, slowHub } from './mix-hand-overs';
import { migrations } from './mix-migrations';
import { notices } from './mix-notices';
import { people } from './mix-people';
import { removals } from './mix-removals';
import { requiringJobs } from './mix-requires';
import { orchestrations } from './mix-orchestrations';
import {
  byTime,
  calls,
  clocks,
  draw,
  fans,
  hubs,
  kills,
  loss,
  outages,
  pauses,
  wide,
  withoutFaults,
} from './mix-troubles';
import { type Plan, plainPlan, withinLimits } from './plan';
import type { PlannedJob } from './plan-job';
import { type Random, seededBy } from './random';
import { retentionPlan } from './retention';
import { schedulesPlan } from './schedules';

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
  'calls',
  'orchestrations',
  'people',
  'foreign',
  'elections',
  'failover',
  'requires',
  'notices',
  'backfills',
  'groups',
  'concurrency',
  'migrations',
  'removals',
] as const;
export type MixName = (typeof MIX_NAMES)[number];

/** Histories with more of one kind of trouble than the plain ones. */
export interface Mix {
  /** The difference, in a phrase. */
  readonly what: string;
  /** The number of its histories in `npm run test:all`. `npm test` plays a twentieth. */
  readonly share: number;
  /** Of the plain plan, it keeps the jobs and instances without the disturbances, or without any fault. */
  readonly without?: 'disturbances' | 'faults';
  /** What its histories are drawn from. Default: its name. Another text would be other histories. */
  readonly salt?: string;
  /**
   * Changes the plain plan of a seed, or that of other mixes.
   *
   * @param random a source of the mix's own, so that plain histories stay what they are
   */
  change(plan: Plan, random: Random): Plan;
}

/** One mix, or several at once: `failover+requires+kills`. */
export type Mixture = MixName | `${MixName}+${string}`;

export const MIXES: Readonly<Record<MixName, Mix>> = {
  plain: { what: 'a little of everything', share: 1_600, change: (plan) => plan },
  wide: { what: '3 to 6 deployments, and clocks up to ten minutes wrong', share: 330, change: wide },
  loss: { what: 'up to 40 % of all calls are lost', share: 330, change: loss },
  clocks: {
    what: 'clocks up to an hour wrong, set, and corrected again, while handlers are held back or at work; answers that take 3 s',
    share: 330,
    change: clocks,
  },
  pauses: { what: 'processes stop for up to five minutes', share: 330, change: pauses },
  kills: { what: 'processes die, and whole deployments', share: 250, change: kills },
  outages: { what: 'storage and task hubs are away for up to five minutes', share: 150, change: outages },
  hubs: {
    what: 'task hubs are dead, refuse, or repeat themselves; storage is healthy, so that `alertAfter` must be observed',
    share: 100,
    without: 'faults',
    change: hubs,
  },
  fans: {
    what: 'runs fan out to items that take long; their hosts are lost or shut down, and task hubs are lost',
    share: 150,
    without: 'disturbances',
    change: fans,
  },
  calls: {
    what: 'runs are calls that start operations which take long; hosts are lost or shut down, and task hubs are lost',
    share: 150,
    without: 'disturbances',
    change: calls,
  },
  orchestrations: {
    what: 'jobs are orchestrations of the app; hosts and task hubs are lost, and deployments come back after a take-over',
    share: 150,
    without: 'disturbances',
    change: orchestrations,
  },
  elections: {
    what: 'programs campaign, die, stop, resign, sleep, and have wrong clocks; leases are broken',
    share: 100,
    change: elections,
  },
  foreign: {
    what: 'another program overwrites rows and controls, and nothing else fails',
    share: 100,
    without: 'faults',
    change: foreign,
  },
  people: {
    what: 'operators act at the same time, their calls fail, their processes die between two calls; jobs are forgotten; blobs are spoiled',
    share: 100,
    change: people,
  },
  failover: {
    what: 'the storage account fails over to an earlier state; people stop all deployments, `recover`, and start again',
    share: 600,
    change: failover,
  },
  requires: {
    what: 'jobs require others, in chains too; two thirds of these histories have the faults of another mix',
    share: 330,
    change: requires,
  },
  notices: {
    what: 'jobs that notify fail and recover, and processes die in the calls that report it',
    share: 150,
    change: notices,
  },
  backfills: {
    what: 'people start and stop back-fills of jobs that are due all the time, and pause them',
    share: 150,
    change: backfills,
  },
  groups: {
    what: 'jobs of one group run one to three at once, fan-outs too; two thirds of these histories have the faults of another mix',
    share: 330,
    change: groups,
  },
  concurrency: {
    what: 'instances run one handler at a time, and people pause and cancel runs that wait; half of these histories have one instance',
    share: 200,
    salt: 'slots',
    change: mostRunsWait,
  },
  migrations: {
    what: 'people move the jobs to another store; a third of these histories have notices, a third `requires` or back-fills, two thirds the faults of another mix',
    share: 330,
    change: moves,
  },
  removals: {
    what: 'jobs are removed from the file and come back some minutes later, in one deployment after the other',
    share: 150,
    change: removals,
  },
  retention: { what: 'months pass, and old records are deleted while rows stay', share: 330, change: retentionPlan },
  draining: {
    what: 'hosts are shut down, beside a healthy deployment',
    share: 100,
    without: 'faults',
    change: draining,
  },
  schedules: {
    what: 'each revision has another schedule, and some revisions have two',
    share: 330,
    change: schedulesPlan,
  },
  slowHub: {
    what: 'one deployment, whose task hub delivers 12 s late',
    share: 100,
    without: 'faults',
    change: slowHub,
  },
  nights: {
    what: 'nothing runs for up to an hour, and task hubs keep hand-overs',
    share: 100,
    without: 'faults',
    change: nights,
  },
};

const SECOND = 1_000;

/**
 * The order in which mixes change a plan: first those with their own jobs, then those that change jobs, those that
 * add trouble, and those that need to know when the trouble is over.
 */
const IN_ORDER: readonly MixName[] = [
  ...(['plain', 'draining', 'slowHub', 'nights', 'foreign', 'hubs', 'fans', 'calls', 'orchestrations'] as const),
  ...(['notices', 'backfills', 'requires', 'groups', 'concurrency', 'schedules', 'removals'] as const),
  ...(['wide', 'loss', 'clocks', 'pauses', 'kills', 'outages', 'retention', 'elections', 'people'] as const),
  ...(['failover', 'migrations'] as const),
];

/** Every two mixes of which each changes something. */
export const PAIRS: readonly Mixture[] = IN_ORDER.slice(1).flatMap((one, index) =>
  IN_ORDER.slice(index + 2).map((other): Mixture => `${one}+${other}`),
);

/** Returns the mixes of a name, in the order in which they change a plan. Undefined: there is no such mix. */
export function mixesIn(name: string): readonly MixName[] | undefined {
  const names = name.split('+');
  const mixes = IN_ORDER.filter((mix) => names.includes(mix));
  return mixes.length === names.length ? mixes : undefined;
}

/** The same name for the same mixes. */
export function mixtureOf(name: string): Mixture | undefined {
  return mixesIn(name)?.join('+') as Mixture | undefined;
}

/** A history depends only on these values. */
export function planOf(seed: number, mixture: Mixture = 'plain'): Plan {
  const mixes = mixesIn(mixture) ?? [];
  const plan: Plan = { ...withEarlyClaims(plainPlan(seed)), mixes };
  if (mixture === 'plain') return withConcurrencyLimit(plan);
  const left = mixes.map((mix) => MIXES[mix].without);
  const quiet = left.some((without) => without !== undefined) ? { ...plan, disturbances: [] } : plan;
  const base = left.includes('faults') ? withoutFaults(quiet) : quiet;
  let mixed = base;
  for (const mix of mixes) {
    mixed = merged(base, mixed, MIXES[mix].change(mixed, seededBy(seed, 'mix', MIXES[mix].salt ?? mix)), mix);
  }
  const limited = withinLimits(mixes.length === 1 ? mixed : compatible(mixed));
  return mixes.every((mix) => PUNCTUAL.includes(mix)) ? limited : withConcurrencyLimit(limited);
}

/** The plan of a further mix, with what the mixes before it have added: their disturbances, rates and duration. */
function merged(base: Plan, before: Plan, after: Plan, mix: MixName): Plan {
  if (before === base) return after;
  const kept = before.disturbances.filter(
    // What comes with a failover ends with it.
    (what) => mix !== 'failover' && !base.disturbances.includes(what) && !after.disturbances.includes(what),
  );
  return {
    ...after,
    troubledMs: Math.max(before.troubledMs, after.troubledMs),
    disturbances: [...after.disturbances, ...kept].sort(byTime),
    faults: mergedFaults(base, before, after),
  };
}

function mergedFaults({ faults: base }: Plan, { faults: before }: Plan, { faults: after }: Plan): Plan['faults'] {
  if (base.kind === 'listed' || before.kind === 'listed' || after.kind === 'listed') return after;
  const rates = { ...after.rates } as Record<CallFault | HubFault, number>;
  for (const kind of Object.keys(rates) as (keyof Rates)[]) {
    if (before.rates[kind] !== base.rates[kind]) rates[kind] = Math.max(before.rates[kind], rates[kind]);
  }
  return { kind: 'drawn', rates };
}

/** A job that is due more often than this needs a hub that is faster than the slowest. */
const FREQUENT_MS = 20 * SECOND;
const FASTER_HUB_MS = 8 * SECOND;

/** What some mixes need of the settings of others. */
function compatible(plan: Plan): Plan {
  const { mixes, instances, faults, election } = plan;
  // Where each call takes seconds, a lease must outlast several, jobs that run one after another, or fan out, would
  // never be through with their backlog, and jobs must be due often.
  const isUnhurried =
    !mixes.includes('groups') &&
    !mixes.includes('retention') &&
    plan.jobs.every(
      ({ specs, fanOut }) => fanOut === undefined && specs.every(({ leaseMs }) => leaseMs >= 60 * SECOND),
    );
  const setsClocks = election?.acts.some(({ kind }) => kind === 'setClock') === true;
  return {
    ...plan,
    disturbances: failoverFirst(plan.disturbances),
    ...given({ hubLateMs: hubLateMs(plan) }),
    instances: instances.map(({ clock, ...instance }) => ({
      ...instance,
      // Over months, a clock that drifts would be hours off.
      clock: mixes.includes('retention') ? { ...clock, drift: 0 } : clock,
      ...(!isUnhurried && { slowMs: 0 }),
    })),
    // A machine that sleeps while its wall clock is set back has no clock left that shows how long it slept.
    faults: setsClocks && faults.kind === 'drawn' ? { ...faults, rates: { ...faults.rates, sleepAfter: 0 } } : faults,
    // An overdue job must be reported while nothing is wrong but task hubs.
    alerts: false,
  };
}

/**
 * A hub that takes longer than 10 s runs no job that is due as often: see
 * docs/decisions/019-look-ahead-on-a-slow-hub.md.
 */
function hubLateMs({ jobs, hubLateMs: planned }: Plan): number | undefined {
  if (planned === undefined) return undefined;
  const isFrequent = jobs.some(({ specs }) =>
    specs.some(({ timetable }) => {
      const first = timetable.next(0) ?? 0;
      return (timetable.next(first) ?? Infinity) - first < FREQUENT_MS;
    }),
  );
  return isFrequent ? Math.min(planned, FASTER_HUB_MS) : planned;
}

/** People recover the jobs of an account that fails over, and then move them: see docs/how-to/recovery.md. */
function failoverFirst(disturbances: Plan['disturbances']): Plan['disturbances'] {
  const last = disturbances.findLast(({ kind }) => kind === 'failover')?.at;
  if (last === undefined) return disturbances;
  return disturbances
    .filter(({ kind }) => !LEFT_OUT.includes(kind))
    .map((what) => (what.kind === 'migrate' ? { ...what, at: Math.max(what.at, last + 1) } : what))
    .sort(byTime);
}

/** In these mixes jobs must start on time, or soon, during the trouble, if no other mix troubles them too. */
const PUNCTUAL: readonly MixName[] = ['draining', 'slowHub', 'foreign'];

/** In a third of the histories instances run one or two handlers at once, and jobs are paused while their runs wait. */
function withConcurrencyLimit(plan: Plan): Plan {
  if (plan.maxConcurrentRuns !== undefined) return plan;
  const random = seededBy(plan.seed, 'slots');
  const maxConcurrentRuns = random.pick([undefined, undefined, undefined, undefined, 1, 2]);
  if (maxConcurrentRuns === undefined) return plan;
  const longer = (job: PlannedJob): PlannedJob =>
    random.chance(0.5) ? job : { ...job, behaviours: { ...job.behaviours, long: 1 } };
  const pauses = draw(plan, random, ['pauseJob'], [0, 4]);
  const disturbances = [...plan.disturbances, ...pauses].sort(byTime);
  return { ...plan, maxConcurrentRuns, jobs: plan.jobs.map(longer), disturbances };
}

/** Most runs wait: handlers take long, and half of the histories have one instance. */
function mostRunsWait(plan: Plan, random: Random): Plan {
  const few = random.chance(0.5) ? { deployments: 1, instances: plan.instances.slice(0, 1) } : {};
  const jobs = plan.jobs.map((job) => ({ ...job, behaviours: { ...job.behaviours, long: 1 } }));
  const acts = draw(plan, random, ['pauseJob', 'cancel', 'request'], [4, 12]);
  return { ...plan, ...few, jobs, maxConcurrentRuns: 1, disturbances: [...plan.disturbances, ...acts].sort(byTime) };
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
  const grouped = withBrokenLeases(groupedJobs(plan, random));
  if (troubled === undefined) return grouped;
  const mixed = troubled(grouped, random);
  // Jobs that run one after another, each with calls that take seconds, would never be through with their backlog.
  return { ...mixed, instances: mixed.instances.map((instance) => ({ ...instance, slowMs: 0 })) };
}

/** In a third of the histories operators break leases. Drawn apart, so that the others stay what they are. */
function withBrokenLeases(plan: Plan): Plan {
  const random = seededBy(plan.seed, 'mix', 'groups', 'breakLease');
  const breaks = random.chance(0.3) ? draw(plan, random, ['breakLease'], [3, 10]) : [];
  return { ...plan, disturbances: [...plan.disturbances, ...breaks].sort(byTime) };
}

/** A third of these histories have no other faults than the plain ones, and a third have plain jobs. */
function moves(plan: Plan, random: Random): Plan {
  const drawn = random.pick([undefined, undefined, notices, notices, requiringJobs, backfills]);
  // The other mixes have jobs.
  const jobs = plan.mixes.length === 1 ? drawn : undefined;
  const troubled = random.pick([undefined, undefined, undefined, wide, loss, clocks, pauses, kills, outages]);
  const busy = jobs === undefined ? plan : jobs(plan, random);
  return migrations(troubled === undefined ? busy : troubled(busy, random), random);
}
