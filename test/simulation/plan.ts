import type { JobSpec } from '../../src/core/job';
import { jobSpec } from '../support/job';
import type { ClockFault } from './process';
import type { Random } from './random';
import { seededBy } from './random';

/** What may happen to a call, each as a probability. */
export const CALL_FAULTS = [
  'slowThere',
  'slowBack',
  'lostBefore',
  'lostAfter',
  'twice',
  'echo',
  'refused',
  'crashBefore',
  'crashAfter',
  'pauseAfter',
  'sleepAfter',
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** What may happen to an orchestration's messages, each as a probability. */
export const HUB_FAULTS = ['late', 'twice', 'startRefused', 'startAnswerLost', 'startSlow', 'dropped'] as const;
export type HubFault = (typeof HUB_FAULTS)[number];

export const BEHAVIOURS = ['quick', 'long', 'throws', 'throwsLate', 'ignores', 'never', 'final'] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export type Disturbance = { readonly at: number } & (
  | { readonly kind: 'kill'; readonly instance: number; readonly back: number }
  | { readonly kind: 'drain'; readonly instance: number; readonly back: number }
  | { readonly kind: 'pause'; readonly instance: number; readonly lasts: number; readonly asleep: boolean }
  | { readonly kind: 'setClock'; readonly instance: number; readonly skewMs: number }
  | { readonly kind: 'hubDead'; readonly deployment: number; readonly lasts: number }
  | { readonly kind: 'hubWiped'; readonly deployment: number }
  | { readonly kind: 'outage'; readonly lasts: number; readonly hangs: boolean }
  | { readonly kind: 'pauseJob'; readonly job: number; readonly lasts: number }
  | { readonly kind: 'request'; readonly job: number }
  | { readonly kind: 'cancel'; readonly job: number }
  | { readonly kind: 'deploy'; readonly deployment: number }
  | { readonly kind: 'breakLease'; readonly job: number; readonly period: number }
);

export interface PlannedJob {
  /** By revision: 0, and 1 once a deployment has the newer file. */
  readonly specs: readonly [JobSpec, JobSpec];
  readonly behaviours: Readonly<Record<Behaviour, number>>;
}

export interface PlannedInstance {
  readonly deployment: number;
  readonly startsAt: number;
  readonly clock: ClockFault;
}

/** One history, but for what the seed decides call by call. */
export interface Plan {
  readonly seed: number;
  readonly jobs: readonly PlannedJob[];
  readonly deployments: number;
  readonly instances: readonly PlannedInstance[];
  readonly calls: Readonly<Record<CallFault, number>>;
  readonly hub: Readonly<Record<HubFault, number>>;
  readonly disturbances: readonly Disturbance[];
  /** How long faults happen, and how long it is quiet after them. */
  readonly troubledMs: number;
  readonly quietMs: number;
}

const SKEWS = [0, 0, 0, 150, -150, 1_900, -1_900, 2_500, -2_500, 30_000, -30_000, 300_000, -300_000] as const;

export function planOf(seed: number): Plan {
  const random = seededBy(seed, 'plan');
  const deployments = random.whole(1, 3);
  const count = random.whole(Math.max(2, deployments), 4);
  const troubledMs = random.pick([120_000, 240_000, 400_000]);
  const jobs = Array.from({ length: random.pick([1, 1, 2, 2, 3, 4]) }, (_, index) => planJob(seed, index));
  const level = random.pick([0.002, 0.01, 0.03, 0.08]);
  const disturbances = Array.from({ length: random.whole(0, 14) }, () =>
    disturbance(random, troubledMs, { jobs: jobs.length, instances: count, deployments }),
  ).sort((a, b) => a.at - b.at);
  // A machine that sleeps while its wall clock is set back has no clock left that shows how long it slept.
  const clocksAreSet = disturbances.some(({ kind }) => kind === 'setClock');
  const calls = rates(random, CALL_FAULTS, level, 0.5);
  return {
    seed,
    jobs,
    deployments,
    instances: Array.from({ length: count }, (_, index) => ({
      deployment: index % deployments,
      startsAt: index === 0 ? 0 : random.pick([0, 0, random.whole(0, troubledMs)]),
      clock: {
        skewMs: random.pick(SKEWS),
        drift: random.pick([0, 0, 0.0002, -0.0002, 0.005, -0.005]),
      },
    })),
    calls: clocksAreSet ? { ...calls, sleepAfter: 0 } : calls,
    hub: rates(random, HUB_FAULTS, Math.min(0.3, level * 4), 0.4),
    disturbances: disturbances.map((what) =>
      what.kind === 'pause' && clocksAreSet ? { ...what, asleep: false } : what,
    ),
    troubledMs,
    quietMs: 420_000,
  };
}

/** Some histories have many faults of few kinds, others few of many. */
function rates<Kind extends string>(
  random: Random,
  kinds: readonly Kind[],
  level: number,
  share: number,
): Record<Kind, number> {
  const chosen = kinds.map((kind) => [kind, random.chance(share) ? level * random.pick([0.3, 1, 2]) : 0] as const);
  return Object.fromEntries(chosen) as Record<Kind, number>;
}

function planJob(seed: number, index: number): PlannedJob {
  const random = seededBy(seed, 'job', index);
  const settings: Partial<JobSpec> = {
    offsetMs: random.pick([0, 0, 0, 7_000]),
    catchUp: random.pick(['latest', 'all', 'none']),
    catchUpWindowMs: random.pick([60_000, 600_000, 3_600_000]),
    overlap: random.pick(['skip', 'queue', 'cancel']),
    graceMs: random.pick([1_000, 5_000]),
    leaseMs: random.pick([15_000, 15_000, 30_000, 60_000]),
    stallAfterMs: random.pick([undefined, undefined, 8_000]),
    retry: {
      attempts: random.pick([1, 2, 3, 5]),
      backoffMs: random.pick([1_000, 10_000, 40_000]),
      factor: 2,
      maxBackoffMs: 60_000,
      jitter: random.pick(['none', 'full']),
    },
  };
  const schedules = ['@every 20s', '@every 45s', '* * * * *', '@every 10s', '@every 2s', '@always', '@manual'] as const;
  const schedule = random.pick([...schedules, '@every 20s', '* * * * *']);
  const timeoutMs = schedule === '@always' ? undefined : random.pick([20_000, 60_000, 120_000]);
  const name = `j${String(index)}`;
  const first = jobSpec(name, schedule, { ...settings, timeoutMs });
  const changed = schedule.startsWith('@every') && random.chance(0.5) ? '@every 15s' : schedule;
  const rate = random.pick([0, 0.05, 0.2]);
  return {
    specs: [first, jobSpec(name, changed, { ...settings, timeoutMs })],
    behaviours: {
      quick: 1,
      long: random.pick([0, 0.2, 0.6]),
      throws: rate,
      throwsLate: random.pick([0, 0.1]),
      ignores: random.pick([0, 0.1, 0.3]),
      never: random.pick([0, 0.05]),
      final: random.pick([0, 0.03]),
    },
  };
}

function disturbance(
  random: Random,
  until: number,
  counts: { readonly jobs: number; readonly instances: number; readonly deployments: number },
): Disturbance {
  const at = random.whole(0, until);
  const instance = random.whole(0, counts.instances - 1);
  const deployment = random.whole(0, counts.deployments - 1);
  const job = random.whole(0, counts.jobs - 1);
  const back = random.pick([0, 5_000, 60_000, 200_000]);
  const lasts = random.pick([3_000, 20_000, 40_000, 90_000]);
  switch (random.whole(0, 16)) {
    case 0:
    case 1:
      return { at, kind: 'kill', instance, back };
    case 2:
    case 3:
      return { at, kind: 'drain', instance, back };
    case 4:
    case 5:
    case 6:
      return { at, kind: 'pause', instance, lasts, asleep: random.chance(0.3) };
    case 7:
      return { at, kind: 'setClock', instance, skewMs: random.pick(SKEWS) };
    case 8:
      return { at, kind: 'hubDead', deployment, lasts: random.pick([20_000, 100_000, 1e9]) };
    case 9:
      return { at, kind: 'hubWiped', deployment };
    case 10:
      return { at, kind: 'outage', lasts, hangs: random.chance(0.5) };
    case 11:
    case 12:
      return { at, kind: 'pauseJob', job, lasts: random.pick([1_000, 30_000, 150_000]) };
    case 13:
      return { at, kind: 'request', job };
    case 14:
      return { at, kind: 'cancel', job };
    case 15:
      return { at, kind: 'deploy', deployment };
    default:
      return { at, kind: 'breakLease', job, period: random.pick([15_000, 60_000]) };
  }
}
