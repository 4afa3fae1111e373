import type { JobName } from '../core/brand';

type Kind = 'counter' | 'upDownCounter' | 'histogram' | 'gauge';

/** One metric. docs/reference/metrics.md is made from this list, and tests hold dashboards to it. */
export interface Instrument {
  readonly name: string;
  readonly kind: Kind;
  /** UCUM: `s` for seconds, `{run}` for a count of runs. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /**
   * `process`: an instance counts what it does itself, and pushes it. `rows`: it comes from the rows of the jobs, and
   * is on the Prometheus page too. `deployments`: from what the deployments report, only on that page.
   */
  readonly source: 'process' | 'rows' | 'deployments' | 'process and deployments';
}

/** The attributes of metrics, with the most values that each may have. */
export const ATTRIBUTES = {
  'cronlease.job': 'the job, or `_other` for all jobs above `CRONLEASE_METRICS_JOBS`',
  'cronlease.outcome': 'the outcome of a due time or an attempt',
  'cronlease.reason': 'its reason',
  'cronlease.trigger': 'what started the run',
  'cronlease.stage': '`race` for a lease, `claim` for the row under it',
  'cronlease.result': 'how it ended',
  'cronlease.call': 'the kind of the call',
  'cronlease.scope': '`all` jobs, or `one`',
  'cronlease.state': 'the state of a job, as lists show it',
  'cronlease.deployment': 'the deployment',
  'http.request.method': 'its method',
  'server.address': 'the host; `***` if a setting contains it',
  'server.port': 'its port',
  'http.response.status_code': 'its status',
  'error.type': 'the status from 400 on, or a code',
} as const;

export type Attribute = keyof typeof ATTRIBUTES;

const SECONDS_OF_RUNS = [0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600];
const SECONDS_LATE = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800];
const SECONDS_OF_CALLS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** As OpenTelemetry's semantic conventions have them for HTTP. */
const SECONDS_OF_REQUESTS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const ROWS = [1, 10, 100, 500, 1_000, 5_000, 10_000];

type Facts = Omit<Instrument, 'kind' | 'source' | 'unit'>;

/** What an instance counts. */
function counter(facts: Facts & Pick<Instrument, 'unit'>): Instrument {
  return { kind: 'counter', source: 'process', ...facts };
}

/** Seconds that an instance measures. */
function duration(facts: Facts): Instrument {
  return { kind: 'histogram', unit: 's', source: 'process', ...facts };
}

/** What the rows of the jobs show. */
function gauge(facts: Facts & Pick<Instrument, 'unit'>): Instrument {
  return { kind: 'gauge', source: 'rows', ...facts };
}

export const INSTRUMENTS = {
  dueTimes: counter({
    name: 'cronlease.due_times',
    unit: '{due_time}',
    description: 'Due times, manual runs and terms with an outcome, whether they ran or not.',
    attributes: ['cronlease.job', 'cronlease.outcome', 'cronlease.reason'],
  }),
  runs: counter({
    name: 'cronlease.runs',
    unit: '{run}',
    description: 'Runs that ended.',
    attributes: ['cronlease.job', 'cronlease.outcome', 'cronlease.reason', 'cronlease.trigger'],
  }),
  runDuration: duration({
    name: 'cronlease.run.duration',
    description: 'From the first call of the handler to the end of the run.',
    attributes: ['cronlease.job', 'cronlease.outcome'],
    buckets: SECONDS_OF_RUNS,
  }),
  runLateness: duration({
    name: 'cronlease.run.lateness',
    description: 'From the due time to the first call of the handler.',
    attributes: ['cronlease.job'],
    buckets: SECONDS_LATE,
  }),
  runsActive: {
    name: 'cronlease.run.active',
    kind: 'upDownCounter',
    unit: '{run}',
    description: 'Runs whose handler this instance is calling.',
    attributes: ['cronlease.job'],
    source: 'process',
  },
  attempts: counter({
    name: 'cronlease.attempts',
    unit: '{attempt}',
    description: 'Attempts that ended, by outcome: that of the run, or `retried`, `planned` or `superseded`.',
    attributes: ['cronlease.job', 'cronlease.outcome'],
  }),
  takeOvers: counter({
    name: 'cronlease.takeovers',
    unit: '{takeover}',
    description: 'Attempts that took over a run from a holder that died or lost its lease.',
    attributes: ['cronlease.job'],
  }),
  claims: counter({
    name: 'cronlease.claims',
    unit: '{claim}',
    description: 'Races for a lease, and claims of the row under it, by result: `won`, `lost` or `unknown`.',
    attributes: ['cronlease.job', 'cronlease.stage', 'cronlease.result'],
  }),
  handOverDuration: duration({
    name: 'cronlease.handover.duration',
    description: 'From the tick that handed a run to the task hub to the attempt that received it.',
    attributes: [],
    buckets: SECONDS_OF_CALLS,
  }),
  storageCallDuration: duration({
    name: 'cronlease.storage.call.duration',
    description: 'Calls to storage, by kind and result.',
    attributes: ['cronlease.call', 'cronlease.result'],
    buckets: SECONDS_OF_CALLS,
  }),
  requestDuration: duration({
    name: 'http.client.request.duration',
    description: 'Requests of calls, including polls.',
    attributes: ['http.request.method', 'server.address', 'server.port', 'http.response.status_code', 'error.type'],
    buckets: SECONDS_OF_REQUESTS,
  }),
  listingDuration: duration({
    name: 'cronlease.listing.duration',
    description: 'Listings of jobs, all pages together, including decoding.',
    attributes: ['cronlease.scope'],
    buckets: SECONDS_OF_CALLS,
  }),
  listingRows: {
    name: 'cronlease.listing.rows',
    kind: 'histogram',
    unit: '{row}',
    description: 'Rows that a listing of all jobs read.',
    attributes: [],
    buckets: ROWS,
    source: 'process',
  },
  jobs: gauge({
    name: 'cronlease.jobs',
    unit: '{job}',
    description: 'Jobs in each state.',
    attributes: ['cronlease.state'],
  }),
  dueTimesOverdue: gauge({
    name: 'cronlease.due_times.overdue',
    unit: '{due_time}',
    description:
      'Due times that were neither claimed nor decided, up to 1,000 a job, excluding those of a run in progress.',
    attributes: ['cronlease.job'],
  }),
  jobOverdue: gauge({
    name: 'cronlease.job.overdue',
    unit: '{job}',
    description: '1 while the job has had no success for longer than its `alertAfter`.',
    attributes: ['cronlease.job'],
  }),
  lastSuccessAge: gauge({
    name: 'cronlease.job.last_success.age',
    unit: 's',
    description:
      'Time since the last success in the row. A success may enter the row only with the next claim, so the job may ' +
      'have succeeded since.',
    attributes: ['cronlease.job'],
  }),
  jobFailures: gauge({
    name: 'cronlease.job.failures',
    unit: '{run}',
    description: 'Runs in a row that have failed.',
    attributes: ['cronlease.job'],
  }),
  lastRunDuration: gauge({
    name: 'cronlease.job.last_run.duration',
    unit: 's',
    description: 'The duration of the last run whose duration is in the row.',
    attributes: ['cronlease.job'],
  }),
  lastRunLateness: gauge({
    name: 'cronlease.job.last_run.lateness',
    unit: 's',
    description: 'How late that run started.',
    attributes: ['cronlease.job'],
  }),
  clockSkew: {
    name: 'cronlease.clock.skew',
    kind: 'gauge',
    unit: 's',
    description: "How far the clock is ahead of the storage service's; 0 below 2 s.",
    attributes: ['cronlease.deployment'],
    source: 'process and deployments',
  },
  tickAge: {
    name: 'cronlease.deployment.tick.age',
    kind: 'gauge',
    unit: 's',
    description: 'Time since the last tick that the deployment reported, which it does every minute.',
    attributes: ['cronlease.deployment'],
    source: 'deployments',
  },
} satisfies Readonly<Record<string, Instrument>>;

export type InstrumentName = keyof typeof INSTRUMENTS;

/** The name under which metrics count all jobs above the limit. No job can have it. */
const OTHER_JOBS = '_other';

/** Each distinct job would be its own series, so only the first ones of the jobs file have one. */
export function jobNames(jobs: Iterable<JobName>, limit: number): (job: JobName) => string {
  const named = new Set([...jobs].slice(0, limit));
  return (job) => (named.has(job) ? job : OTHER_JOBS);
}
