import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatDuration } from '../../core/duration';
import { given } from '../../core/given';
import type { JobSpec } from '../../core/job';
import { functionTimeout } from '../../functions/settings';
import {
  type CostAssumptions,
  type CostEstimate,
  DEFAULT_ASSUMPTIONS,
  estimateCost,
  type JobCost,
} from '../../operator/cost/estimate';
import { type Prices, PricesError, readPrices } from '../../operator/cost/prices';
import type { Options } from '../commands/command';
import { fittedTable, MIDDLE, RIGHT } from '../fit';
import { appFolderOf, DEFAULT_FILE, jobsAt, loadFile } from '../jobs-file';
import { answer, CliError, OWN, style, UsageError, warn } from '../output';

interface CostOptions extends Options {
  readonly prices?: string;
  readonly against?: string;
  readonly deployments: number;
  readonly memory: number;
  readonly alwaysReady: number;
  readonly places: number;
  readonly telemetry?: boolean;
  readonly logWrites?: boolean;
  /** In ms. Undefined: that of {@link DEFAULT_ASSUMPTIONS}. */
  readonly duration?: number;
  /** `JOB=N`. */
  readonly items?: readonly string[];
}

interface Basis {
  readonly assumed: CostAssumptions;
  readonly prices: Prices;
}

export function cost(options: CostOptions): number {
  const { jobsFile } = loadFile(options);
  const { file = DEFAULT_FILE } = options;
  const basis: Basis = {
    prices: pricesIn(options.prices),
    assumed: {
      deployments: options.deployments,
      memoryGb: options.memory / 1024,
      alwaysReady: options.alwaysReady,
      availabilityPlaces: options.places,
      telemetry: options.telemetry === true,
      logWrites: options.logWrites === true,
      durationMs: options.duration ?? DEFAULT_ASSUMPTIONS.durationMs,
      items: itemsOf(options.items ?? [], jobsFile.jobs),
      functionTimeoutMs: functionTimeout(process.env, appFolderOf(file)),
    },
  };
  const now = Date.now();
  const estimate = estimateCost(jobsFile.jobs, basis.assumed, basis.prices, now);
  const { against } = options;
  if (against === undefined) {
    return answer(options, documentOf(estimate, basis), () => costText(estimate, basis).join('\n'));
  }
  const { jobs, notice } = jobsAt(against, options);
  const before = estimateCost(jobs, basis.assumed, basis.prices, now);
  if (notice !== undefined && options.json !== true) warn(notice);
  const document = { before: documentOf(before, basis), after: documentOf(estimate, basis), ...given({ notice }) };
  return answer(options, document, () => changedText(before, estimate, basis, against).join('\n'));
}

/** @throws PricesError, or CliError `NoPrices` */
function pricesIn(file: string | undefined): Basis['prices'] {
  const name = file ?? path.join(OWN, 'prices.json');
  let text: string;
  try {
    text = readFileSync(name, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError('NoPrices', `--prices ${name} cannot be read: ${reason}`, { cause: error });
  }
  try {
    return readPrices(JSON.parse(text.replace(/^\uFEFF/, '')), name);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PricesError(`${name} is not JSON: ${error.message}`, { cause: error });
  }
}

function itemsOf(texts: readonly string[], jobs: readonly JobSpec[]): ReadonlyMap<string, number> {
  return new Map(
    texts.map((text) => {
      const [, job = '', number = ''] = /^([a-z0-9-]+)=(\d{1,5})$/.exec(text) ?? [];
      const items = Number(number);
      if (items < 1 || items > 10_000 || number === '') {
        throw new UsageError(
          `--items ${JSON.stringify(text)}: must be JOB=N with N from 1 to 10000, such as word-index=50`,
        );
      }
      if (!jobs.some(({ name }) => name === job)) throw new UsageError(`--items ${text}: the file has no job "${job}"`);
      return [job, items];
    }),
  );
}

function documentOf(estimate: CostEstimate, { assumed, prices }: Basis): object {
  const { jobs, runs, shared, jobsCost, total, storageCalls, callsPerNotice = null, extrapolated } = estimate;
  const { currency, region, asOf, checked } = prices;
  return {
    month: { days: 30 },
    prices: { currency, region, asOf, checked },
    assumptions: {
      deployments: assumed.deployments,
      memoryMb: assumed.memoryGb * 1024,
      alwaysReady: assumed.alwaysReady,
      availabilityPlaces: assumed.availabilityPlaces,
      telemetry: assumed.telemetry,
      logWrites: assumed.logWrites,
      duration: formatDuration(assumed.durationMs),
      items: Object.fromEntries(assumed.items),
      retries: 0,
      notices: 0,
      jobsCountedInPart: extrapolated,
    },
    total,
    storageCalls,
    callsPerNotice,
    jobsCost,
    jobs,
    runs,
    shared,
  };
}

const MOST_JOBS = 20;

/** The estimate in at most 80 columns: the total, the jobs with the worst first, what they share, the assumptions. */
export function costText(estimate: CostEstimate, basis: Basis): readonly string[] {
  const { jobs, total, jobsCost } = estimate;
  const money = moneyIn(basis);
  const count = jobs.length === 1 ? '1 job' : `${whole(jobs.length)} jobs`;
  const shown = jobs.slice(0, MOST_JOBS);
  const rest = jobs.slice(MOST_JOBS);
  return [
    style(
      'bold',
      `${money(total)} a month for ${count}: ${money(jobsCost)} for runs, ${money(total - jobsCost)} shared`,
    ),
    '',
    ...(shown.length === 0 ? [] : [...jobTable(shown, money), ...restOf(rest, money), '']),
    ...partTable(estimate, money),
    '',
    ...assumptions(estimate, basis),
  ];
}

export function changedText(before: CostEstimate, after: CostEstimate, basis: Basis, ref: string): readonly string[] {
  const money = moneyIn(basis);
  const changes = changesOf(before.jobs, after.jobs);
  const shown = changes.slice(0, MOST_JOBS);
  const difference = after.total - before.total;
  const change = difference === 0 ? 'no change' : `${difference < 0 ? '-' : '+'}${money(Math.abs(difference))}`;
  const head = `${money(before.total)} a month at ${ref}, ${money(after.total)} now: ${change}`;
  return [
    style('bold', head),
    '',
    ...(shown.length === 0 ? ['No job costs more or less.'] : changeTable(shown, money)),
    ...(changes.length > shown.length ? [`and ${whole(changes.length - shown.length)} more jobs that change`] : []),
    '',
    ...assumptions(after, basis),
  ];
}

function changesOf(before: readonly JobCost[], after: readonly JobCost[]) {
  const byName = (jobs: readonly JobCost[]): ReadonlyMap<string, JobCost> => new Map(jobs.map((one) => [one.job, one]));
  const [old, now] = [byName(before), byName(after)];
  const names = new Set([...now.keys(), ...old.keys()]);
  return [...names]
    .map((job) => ({ job, before: old.get(job), after: now.get(job) }))
    .map((change) => ({ ...change, size: Math.abs((change.after?.cost ?? 0) - (change.before?.cost ?? 0)) }))
    .filter(({ size }) => size > 0)
    .toSorted((a, b) => b.size - a.size);
}

function changeTable(changes: ReturnType<typeof changesOf>, money: Money): readonly string[] {
  const amount = (one: JobCost | undefined): string => (one === undefined ? 'none' : money(one.cost));
  const runs = (one: JobCost | undefined): string => (one === undefined ? '' : quantity(one.runs));
  return fittedTable(
    changes,
    [
      ['JOB', ({ job }) => job, MIDDLE],
      ['RUNS BEFORE', ({ before }) => runs(before), RIGHT],
      ['AFTER', ({ after }) => runs(after), RIGHT],
      ['COST BEFORE', ({ before }) => amount(before), RIGHT],
      ['COST AFTER', ({ after }) => amount(after), RIGHT],
    ],
    [['JOB', 12]],
  );
}

function jobTable(jobs: readonly JobCost[], money: Money): readonly string[] {
  return fittedTable(
    jobs,
    [
      ['JOB', ({ job }) => job, MIDDLE],
      ['RUNS', ({ runs }) => quantity(runs), RIGHT],
      ['CALLS', ({ storageCalls }) => quantity(storageCalls), RIGHT],
      ['EXECUTIONS', ({ executions }) => quantity(executions), RIGHT],
      ['GB-S', ({ gbSeconds }) => quantity(gbSeconds), RIGHT],
      ['LOG GB', ({ logGb }) => logGb.toFixed(2), RIGHT],
      ['A MONTH', ({ cost }) => money(cost), RIGHT],
    ],
    [['JOB', 10]],
  );
}

function restOf(rest: readonly JobCost[], money: Money): readonly string[] {
  if (rest.length === 0) return [];
  const cost = rest.reduce((sum, one) => sum + one.cost, 0);
  return [`and ${whole(rest.length)} more jobs for ${money(cost)} in all`];
}

/** What is billed, the most expensive first, then what is free. Parts that cost nothing are left out. */
function partTable({ runs, shared }: CostEstimate, money: Money): readonly string[] {
  const parts = [...runs, ...shared].filter(({ cost }) => cost !== 0).toSorted((a, b) => b.cost - a.cost);
  return fittedTable(
    parts,
    [
      ['PART', ({ item, unit, ...part }) => `${item}: ${quantity(part.quantity)} ${unit}`, MIDDLE],
      ['A MONTH', ({ cost }) => (cost < 0 ? `-${money(-cost)}` : money(cost)), RIGHT],
      ['SHARE', ({ share }) => (share === undefined ? '' : `${String(Math.round(share * 100))}%`), RIGHT],
      ['LOWERED BY', ({ lowerBy = '' }) => lowerBy],
    ],
    [['PART', 20]],
  );
}

function assumptions({ extrapolated, callsPerNotice }: CostEstimate, { assumed, prices }: Basis): readonly string[] {
  const { deployments, memoryGb, alwaysReady, durationMs, items, telemetry, logWrites, availabilityPlaces } = assumed;
  const apps = deployments === 1 ? '1 deployment' : `${deployments} deployments`;
  const fanOut =
    items.size === 0 ? 'no fan-out' : `${whole(items.size)} ${items.size === 1 ? 'job' : 'jobs'} with fan-out`;
  const checked = prices.checked ? '' : ', NOT checked: see --prices';
  return [
    `Assumed: ${apps} of ${memoryGb * 1024} MB, ${alwaysReady} always ready each,`,
    `handlers and calls of ${formatDuration(durationMs)}, a call until the end of its operation,`,
    `no retries, ${fanOut}${callsPerNotice === undefined ? '' : `, no notices (each: ${callsPerNotice} calls)`};`,
    `telemetry ${onOff(telemetry)}, log of writes ${onOff(logWrites)}, health asked from ${availabilityPlaces} places.`,
    'An instance is billed while it is active, for 1 s at least, however many runs it',
    'has then. A run waits there up to 5 s for its due time. Cold starts, network and',
    'stored bytes are left out. Calls to storage are priced as calls to blobs.',
    `Prices: ${prices.currency}, ${prices.region}, of ${prices.asOf}${checked}.`,
    ...(extrapolated === 0 ? [] : [`Due times of ${whole(extrapolated)} jobs were counted for a part of the month.`]),
  ];
}

function onOff(isOn: boolean): string {
  return isOn ? 'on' : 'off';
}

type Money = (amount: number) => string;

function moneyIn({ prices: { currency } }: Basis): Money {
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency });
  return (amount) => (amount > 0 && amount < 0.005 ? `<${format.format(0.01)}` : format.format(amount));
}

function quantity(amount: number): string {
  return amount > 0 && amount < 10 && !Number.isInteger(amount) ? amount.toFixed(1) : whole(Math.round(amount));
}

function whole(amount: number): string {
  return amount.toLocaleString('en-US');
}
