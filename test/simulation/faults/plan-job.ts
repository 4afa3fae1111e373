import type { CallSpec } from '../../../src/core/call';
import type { JobSpec } from '../../../src/core/job';
import { jobSpec } from '../../support/job';
import { type Random, seededBy } from './random';
import type { Theme } from './themes';

export const BEHAVIOURS = ['quick', 'long', 'throws', 'throwsLate', 'ignores', 'never', 'final'] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** The request of jobs that are calls. */
export const SIMULATED_CALL: CallSpec = {
  url: 'https://target.example/work',
  method: 'POST',
  headers: {},
  identity: 'api://target',
};

/** The revisions of the jobs file in a deployment's first, second and third version. */
export const REVISIONS = 3;

export interface PlannedJob {
  /** Its place in the plan, which stays when others are left out. */
  readonly index: number;
  /** By revision. */
  readonly specs: readonly JobSpec[];
  readonly behaviours: Readonly<Record<Behaviour, number>>;
  /** A second schedule of the same revision, which some deployments have. */
  readonly rival?: JobSpec;
  /** The file of this revision does not have it. */
  readonly absentIn?: number;
  /** It fans out. */
  readonly fanOut: PlannedFanOut | undefined;
  /** It is a call. */
  readonly call?: PlannedCall;
  /** It is an orchestration. */
  readonly orchestration?: PlannedOrchestration;
}

export interface PlannedCall {
  /** The longest time that an operation takes. */
  readonly lastsMs: number;
  /** The probabilities that a call is answered without an operation, that its work fails, and that a request is lost. */
  readonly direct: number;
  readonly fails: number;
  readonly lost: number;
}

export interface PlannedOrchestration {
  /** Its activities, one after another. */
  readonly steps: number;
  readonly takeOverAfterMs: number;
  /** The probabilities that an orchestration fails, and that it ends only with the trouble. */
  readonly fails: number;
  readonly endless: number;
  /** The probability that an activity ignores its fence. */
  readonly ignores: number;
}

export interface PlannedFanOut {
  readonly items: number;
  readonly concurrency: number;
  readonly deadlineMs: number;
  readonly onItemFailure: 'failFast' | 'collect';
  readonly attempts: number;
  readonly backoffMs: number;
  readonly itemTimeoutMs: number;
  /** The probabilities that a call for an item throws, and that it takes long. */
  readonly throws: number;
  readonly slow: number;
  /** The probability that a call for an item ignores its signal. */
  readonly ignores: number;
}

export function firstSpec({ specs }: PlannedJob): JobSpec {
  const [first] = specs;
  if (first === undefined) throw new Error('a job without a revision');
  return first;
}

const SCHEDULES = [
  ...(['@every 20s', '@every 20s', '@every 45s', '* * * * *', '* * * * *', '@every 10s'] as const),
  ...(['@every 2s', '@every 5s', '@always', '@manual', '@at'] as const),
] as const;

/**
 * No handler hangs for longer, so that a history soon sees the end of its runs. A leader job has no timeout; if it becomes
 * another kind of job, it gets this one.
 */
export const HANGS_AT_MOST_MS = 120_000;

/** The job with other schedules or settings, by revision. All that decides its due times is part of the row's hash. */
export function rescheduled(
  job: PlannedJob,
  change: (spec: JobSpec, revision: number) => { readonly schedule: string; readonly settings: Partial<JobSpec> },
): PlannedJob {
  const specs = job.specs.map((whole, revision) => {
    const { at: _, ...spec } = whole;
    const { schedule, settings } = change(whole, revision);
    const { kind, at, timetable } = jobSpec(spec.name, schedule, settings);
    const changed = { ...spec, schedule, kind, timetable, ...settings };
    return {
      ...changed,
      ...(at === undefined ? {} : { at }),
      timeoutMs: spec.timeoutMs ?? (kind === 'always' ? undefined : HANGS_AT_MOST_MS),
      scheduleHash: `hash of ${schedule} ${String(changed.enabled)}`,
    };
  });
  return { ...job, specs };
}

export function planJob(seed: number, index: number, theme: Theme): PlannedJob {
  const random = seededBy(seed, 'job', index);
  const drawn = theme.changing ? random.pick(['@every 10s', '@every 5s']) : random.pick([...SCHEDULES]);
  const at = new Date(Date.UTC(2026, 0, 1) + random.whole(-60, 200) * 1000).toISOString();
  const schedule = drawn === '@at' ? `@at ${at}` : drawn;
  const name = `j${String(index)}`;
  const settings = { ...settingsOf(random, schedule, theme), priority: priorityOf(seed, index) };
  const changed = schedule.startsWith('@every') && (random.chance(0.6) || theme.changing) ? '@every 15s' : schedule;
  // All that decides the due times is part of the row's hash, `enabled` too.
  const enabled = random.pick([
    [true, true, true],
    [true, true, true],
    [true, false, true],
    [true, true, false],
  ]);
  const specs = [schedule, changed, changed].map((text, revision) =>
    jobSpec(name, text, {
      ...settings,
      enabled: enabled[revision] ?? true,
      scheduleHash: `hash of ${text} ${String(enabled[revision])}`,
    }),
  );
  const rate = random.pick([0, 0.05, 0.2]);
  return {
    index,
    specs,
    fanOut: schedule === '@always' ? undefined : planFanOut(seed, index, theme),
    behaviours: {
      quick: 1,
      long: theme.longRuns ? 2 : theme.changing ? 0 : random.pick([0, 0.2, 0.6]),
      throws: rate,
      throwsLate: random.pick([0, 0.1]),
      ignores: random.pick([0, 0.1, 0.3]),
      never: random.pick([0, 0.05]),
      final: random.pick([0, 0.03]),
    },
  };
}

/** Drawn apart, so that the other settings of a seed stay what they are. */
function priorityOf(seed: number, index: number): number {
  return seededBy(seed, 'priority', index).pick([0, 5, 5, 9]);
}

/** Drawn apart, so that the other jobs of a seed stay what they are. */
function planFanOut(seed: number, index: number, theme: Theme): PlannedFanOut | undefined {
  const random = seededBy(seed, 'fanOut', index);
  if (!random.chance(theme.wide === true ? 1 : 0.15)) return undefined;
  return {
    items: random.pick([0, 1, 3, 6]),
    concurrency: random.pick([1, 2, 3]),
    deadlineMs: random.pick([15_000, 30_000, 90_000, 240_000, 900_000]),
    onItemFailure: random.pick(['failFast', 'collect']),
    attempts: random.pick([1, 2, 3]),
    throws: random.pick([0, 0, 0.2]),
    slow: random.pick([0, 0.1, 0.4]),
    ignores: random.pick([0, 0.2, 0.5]),
    backoffMs: random.pick([1_000, 1_000, 60_000]),
    itemTimeoutMs: random.pick([20_000, 100_000]),
  };
}

/** A job that fans out to items that take long. */
export function planFan(random: Random, index: number): PlannedJob {
  const schedule = random.pick(['* * * * *', '@every 45s', '@every 3m']);
  const spec = jobSpec(`j${String(index)}`, schedule, {
    ...settingsOf(random, schedule, { kinds: [], outages: ['hangs'], leaseMs: random.pick([15_000, 15_000, 30_000]) }),
    overlap: random.pick(['skip', 'skip', 'queue', 'cancel']),
    catchUp: 'latest',
    pauseAfterFailures: undefined,
    stallAfterMs: undefined,
  });
  return {
    index,
    specs: Array.from({ length: REVISIONS }, () => spec),
    behaviours: { quick: 1, long: 0, throws: 0, throwsLate: 0, ignores: random.pick([0, 0.1]), never: 0, final: 0 },
    fanOut: {
      items: random.pick([2, 4, 6]),
      concurrency: random.pick([1, 2, 3]),
      deadlineMs: random.pick([25_000, 90_000, 240_000, 900_000]),
      onItemFailure: random.pick(['failFast', 'collect']),
      attempts: random.pick([2, 3]),
      throws: random.pick([0, 0, 0.2]),
      slow: random.pick([0.1, 0.4, 0.9]),
      ignores: random.pick([0, 0.2, 0.5]),
      backoffMs: random.pick([1_000, 60_000]),
      itemTimeoutMs: 100_000,
    },
  };
}

/** A job that is a call, and mostly starts an operation that takes long. */
export function planCall(random: Random, index: number): PlannedJob {
  const schedule = random.pick(['* * * * *', '@every 45s', '@every 3m']);
  const spec = jobSpec(`j${String(index)}`, schedule, {
    ...settingsOf(random, schedule, { kinds: [], outages: ['hangs'], leaseMs: random.pick([15_000, 15_000, 30_000]) }),
    overlap: random.pick(['skip', 'skip', 'queue', 'cancel']),
    catchUp: 'latest',
    pauseAfterFailures: undefined,
    timeoutMs: random.pick([20_000, 60_000, 120_000, 120_000]),
    stallAfterMs: random.pick([undefined, undefined, undefined, 15_000]),
    call: SIMULATED_CALL,
  });
  return {
    index,
    specs: Array.from({ length: REVISIONS }, () => spec),
    behaviours: { quick: 1, long: 0, throws: 0, throwsLate: 0, ignores: 0, never: 0, final: 0 },
    fanOut: undefined,
    call: {
      lastsMs: random.pick([5_000, 40_000, 90_000, 150_000]),
      direct: random.pick([0, 0, 0.3]),
      fails: random.pick([0, 0.2, 0.5]),
      lost: random.pick([0, 0.02, 0.1]),
    },
  };
}

/** A job that is an orchestration whose activities take long. */
export function planOrchestration(random: Random, index: number): PlannedJob {
  const schedule = random.pick(['* * * * *', '@every 45s', '@every 3m']);
  const spec = jobSpec(`j${String(index)}`, schedule, {
    ...settingsOf(random, schedule, { kinds: [], outages: ['hangs'], leaseMs: random.pick([15_000, 15_000, 30_000]) }),
    overlap: random.pick(['skip', 'skip', 'queue', 'cancel']),
    catchUp: 'latest',
    pauseAfterFailures: undefined,
    stallAfterMs: undefined,
    timeoutMs: random.pick([60_000, 200_000, 200_000]),
    retry: { attempts: random.pick([1, 2, 3]), backoffMs: 2_000, factor: 2, maxBackoffMs: 60_000, jitter: 'full' },
  });
  return {
    index,
    specs: Array.from({ length: REVISIONS }, () => spec),
    behaviours: { quick: 1, long: 0, throws: 0, throwsLate: 0, ignores: 0, never: 0, final: 0 },
    fanOut: undefined,
    orchestration: {
      steps: random.pick([1, 3, 6]),
      takeOverAfterMs: random.pick([60_000, 90_000, 90_000]),
      fails: random.pick([0, 0, 0.2]),
      endless: random.pick([0, 0.2, 0.5]),
      ignores: random.pick([0, 0.2, 0.5]),
    },
  };
}

/** A job whose runs are mostly tried again. */
export function planRetries(random: Random, index: number): PlannedJob {
  const schedule = random.pick(['@every 10s', '@every 20s', '@every 45s']);
  const settings = settingsOf(random, schedule, { kinds: [], outages: ['hangs'] });
  const spec = jobSpec(`j${String(index)}`, schedule, {
    ...settings,
    ...{ pauseAfterFailures: undefined, stallAfterMs: undefined },
    retry: { attempts: 4, backoffMs: 3_000, factor: 2, maxBackoffMs: 60_000, jitter: 'none' },
  });
  return {
    index,
    specs: Array.from({ length: REVISIONS }, () => spec),
    behaviours: { quick: 1, long: 0, throws: 3, throwsLate: 0, ignores: 0, never: 0, final: 0 },
    fanOut: undefined,
  };
}

function settingsOf(random: Random, schedule: string, theme: Theme): Partial<JobSpec> {
  return {
    offsetMs: theme.changing ? 0 : random.pick([0, 0, 0, 7_000]),
    catchUp: random.pick(['latest', 'all', 'none']),
    catchUpWindowMs: random.pick([60_000, 600_000, 3_600_000]),
    overlap: random.pick(['skip', 'queue', 'cancel']),
    graceMs: random.pick([1_000, 5_000]),
    leaseMs: theme.leaseMs ?? random.pick([15_000, 15_000, 30_000, 60_000]),
    stallAfterMs: random.pick([undefined, undefined, 8_000]),
    pauseAfterFailures: random.pick([undefined, undefined, undefined, 1, 3]),
    timeoutMs: schedule === '@always' ? undefined : random.pick([20_000, 60_000, 120_000]),
    retry: {
      attempts: random.pick([1, 2, 3, 5]),
      backoffMs: random.pick([1_000, 10_000, 40_000]),
      factor: 2,
      maxBackoffMs: 60_000,
      jitter: random.pick(['none', 'full']),
    },
  };
}
