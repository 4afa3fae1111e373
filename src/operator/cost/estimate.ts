import { type HubWork, handOverWork } from '../../core/batch';
import type { EpochMs, Millis } from '../../core/brand';
import { type JobSpec, TERM_RESERVE_MS } from '../../core/job';
import { CALL_KINDS, type CallCounts, type CallKind } from '../../core/storage-call';
import { COUNTED_CALLS as COUNTED } from './counted-calls';
import { type Frequency, type Load, MONTH_DAYS, countDueTimes } from './frequency';
import { PRICE_NAMES, type PriceName, type Prices } from './prices';
import { durableCalls } from './situation';

const HOURS = MONTH_DAYS * 24;
const MONTH_MS = HOURS * 3_600_000;
const MONTH_SECONDS = HOURS * 3_600;
/** The shortest time for which an instance is billed as active. */
const BILLED_SECONDS = 1;
/** The turn of the orchestrator that follows a run. The one before it lies within the wait for the due time. */
const LAST_TURN_SECONDS = 1;

/** Of each deployment, an hour. The calls were measured on the real host with nothing due: docs/explanation/on-azure.md. */
const AN_HOUR = {
  ticks: 240,
  sweeps: 60,
  presences: 60,
  durableCalls: 4_452,
  hostCalls: 792,
  /** From each place. */
  availabilityTests: 4,
};
/**
 * A record in a workspace, and how many there are: test/unit/run-log.test.ts. At the levels of host.json, a run that
 * succeeds has no line. With telemetry it has eight spans, and eight series of its job have news at the next export; a
 * job's gauges are sent with every export.
 */
const RECORD_GB = 1e-6;
const RECORDS = { ofTick: 2, ofWrite: 1, ofRun: 16, ofGauges: 5 };
const EXPORTS_AN_HOUR = 60;
/** Rules that alert on logs in infra/modules/alerts.bicep, besides one every 5 minutes for each app. */
const ALERTS_EVERY_15_MINUTES = 4;
/** A page of a listing holds this many blobs. If one is not enough, ranges of names fill their pages almost. */
const ROWS_A_PAGE = { only: 5_000, ofSeveral: 4_900 };

export interface CostAssumptions {
  readonly deployments: number;
  readonly memoryGb: number;
  /** Instances for each deployment. */
  readonly alwaysReady: number;
  readonly durationMs: Millis;
  /** The number of items of the jobs that fan out, by job. */
  readonly items: ReadonlyMap<string, number>;
  readonly functionTimeoutMs: Millis;
  /** From how many places each app is asked for its health. */
  readonly availabilityPlaces: number;
  readonly telemetry: boolean;
  /** Whether writes to the coordination account are logged. */
  readonly logWrites: boolean;
}

/** What the templates deploy, and handlers that run for no longer than the shortest billed time. */
export const DEFAULT_ASSUMPTIONS: CostAssumptions = {
  deployments: 1,
  memoryGb: 2,
  alwaysReady: 0,
  durationMs: BILLED_SECONDS * 1_000,
  items: new Map(),
  functionTimeoutMs: 1_800_000,
  availabilityPlaces: 2,
  telemetry: false,
  logWrites: false,
};

type Quantities = Readonly<Partial<Record<PriceName, number>>>;

/** One job's share, a month. */
export interface JobCost {
  readonly job: string;
  readonly runs: number;
  readonly storageCalls: number;
  readonly executions: number;
  readonly gbSeconds: number;
  readonly logGb: number;
  readonly cost: number;
}

/** A line of the bill. A free grant has a negative cost. */
export interface CostPart {
  readonly item: string;
  readonly quantity: number;
  readonly unit: string;
  readonly cost: number;
  /** What it is of the total without free grants, from 0 to 1. A free grant has none. */
  readonly share: number | undefined;
  /** The setting, or the file, that makes it less. */
  readonly lowerBy: string | undefined;
}

export interface CostEstimate {
  /** The worst first. */
  readonly jobs: readonly JobCost[];
  readonly runs: readonly CostPart[];
  /** What no job has to itself. */
  readonly shared: readonly CostPart[];
  readonly jobsCost: number;
  readonly total: number;
  readonly storageCalls: number;
  /** How many further calls a notice makes; undefined: no job notifies. */
  readonly callsPerNotice: number | undefined;
  /** Jobs whose frequency was counted in part. */
  readonly extrapolated: number;
}

/**
 * Estimates the bill of a month of 30 days after an instant. An instance is billed for its memory while it is active,
 * however many executions it has at once: https://learn.microsoft.com/azure/azure-functions/functions-consumption-costs
 */
export function estimateCost(
  specs: readonly JobSpec[],
  assumed: CostAssumptions,
  prices: Prices,
  after: EpochMs,
): CostEstimate {
  const frequency = countDueTimes(specs, after, loadOf(assumed));
  const busySeconds = sum([...frequency.busySeconds.values()]);
  // What runs at the same time shares an instance, and its price.
  const share = busySeconds === 0 ? 0 : frequency.activeSeconds / busySeconds;
  const bills = specs.map((spec) => jobBill(spec, assumed, { ...frequency, share }));
  const costs = bills.map(({ quantities, ...rest }): JobCost => ({ ...rest, cost: costOf(quantities, prices) }));
  const notifies = specs.some(({ notify }) => notify !== undefined);
  const shared = sharedBill(specs, assumed, frequency, notifies);
  const runs = runsBill(bills);
  const gross = sum([...runs, ...shared].map(({ quantities }) => costOf(quantities, prices)));
  const partOf = ({ quantities, ...line }: Bill): CostPart => {
    const cost = costOf(quantities, prices);
    return { ...line, cost, share: gross === 0 ? 0 : cost / gross };
  };
  const lines = shared.map(partOf);
  const grants = freeGrants([...bills, ...shared], prices);
  const jobs = costs.toSorted((a, b) => b.cost - a.cost || (a.job < b.job ? -1 : 1));
  const jobsCost = sum(jobs.map(({ cost }) => cost));
  return {
    jobs,
    runs: runs.map(partOf),
    shared: [...lines, ...grants],
    jobsCost,
    total: jobsCost + sum([...lines, ...grants].map(({ cost }) => cost)),
    storageCalls: sum([
      ...jobs.map(({ storageCalls }) => storageCalls),
      ...shared.filter(({ unit }) => unit === 'calls').map(({ quantity }) => quantity),
    ]),
    callsPerNotice: notifies ? totalOf(COUNTED.notice.calls) : undefined,
    extrapolated: frequency.extrapolated,
  };
}

/** So many items run side by side, unless the handler says otherwise: `concurrency` of `defineFanOut`. */
const ITEMS_AT_ONCE = 10;

/** The items of a fan-out follow its plan. */
function loadOf({ deployments, durationMs, items }: CostAssumptions): Load {
  const seconds = Math.max(BILLED_SECONDS, Math.ceil(durationMs / 1_000));
  const rounds = (name: string): number => Math.ceil((items.get(name) ?? 0) / ITEMS_AT_ONCE);
  return { deployments, secondsOf: ({ name }) => seconds * (1 + rounds(name)) + LAST_TURN_SECONDS };
}

type JobBill = Omit<JobCost, 'cost'> & { readonly quantities: Quantities };

/** @param frequency with the billed part of a second for which a job's run keeps its instance busy */
function jobBill(spec: JobSpec, assumed: CostAssumptions, frequency: Frequency & { readonly share: number }): JobBill {
  const { dueTimes, busySeconds, share, handOver } = frequency;
  const { memoryGb, alwaysReady, deployments } = assumed;
  const termMs = spec.timeoutMs ?? assumed.functionTimeoutMs - TERM_RESERVE_MS;
  const isLeader = spec.kind === 'always' && spec.enabled;
  const runs = isLeader ? MONTH_MS / termMs : (dueTimes.get(spec.name) ?? 0);
  const durationMs = isLeader ? termMs : assumed.durationMs;
  const items = assumed.items.get(spec.name);
  const renewals = Math.floor(durationMs / (spec.leaseMs / 3));
  const calls = [
    ...(items === undefined
      ? [COUNTED.won.calls, COUNTED.settled.calls, times(COUNTED.renewed.calls, renewals)]
      : [COUNTED.fannedOut.calls, times(COUNTED.item.calls, items)]),
    times(COUNTED.lost.calls, deployments - 1),
    waitCalls(spec, assumed),
    groupCalls(spec, assumed),
  ].map((counts) => times(counts, runs));
  const work = items === undefined ? (isLeader ? handOverWork(1) : handOver) : fanOutWork(items);
  const executions = runs * (work.turns + work.activities);
  const gbSeconds = (busySeconds.get(spec.name) ?? 0) * share * memoryGb;
  const byPrice = pricedCalls(calls);
  const writes = sum(calls.map((counts) => sum(CALL_KINDS.filter(isLogged).map((kind) => counts[kind] ?? 0))));
  const records = (assumed.telemetry ? RECORDS.ofRun * runs : 0) + (assumed.logWrites ? RECORDS.ofWrite * writes : 0);
  const logGb = records * RECORD_GB;
  const instance: Quantities =
    alwaysReady > 0
      ? { alwaysReadyExecutionGbSecond: gbSeconds, alwaysReadyExecution: executions }
      : { onDemandGbSecond: gbSeconds, onDemandExecution: executions };
  const storageCalls = sum(calls.map(totalOf));
  const { queue, table } = durableCalls(work);
  const durable: Quantities = { queueCall: runs * queue, tableCall: runs * table };
  const quantities = { ...byPrice, ...instance, ...durable, logGb };
  return { job: spec.name, runs, storageCalls, executions, gbSeconds, logGb, quantities };
}

/** A run that fans out, as if it were handed over by itself. */
function fanOutWork(items: number): HubWork {
  const { activities, turns } = COUNTED.fannedOut;
  return {
    orchestrations: 1,
    activities: activities + items * COUNTED.item.activities,
    turns: turns + items * COUNTED.item.turns,
  };
}

/** While its required job runs, a tick checks a due time this often. */
const CHECK_EVERY_MS: Millis = 2_000;

/** A due time that waits lists required ledgers before and after one run of those jobs, and reads rows during it. */
function waitCalls({ requires }: JobSpec, { deployments, durationMs }: CostAssumptions): CallCounts {
  return requires.length === 0
    ? {}
    : { listing: deployments * (2 * requires.length + Math.ceil(durationMs / CHECK_EVERY_MS)) };
}

/** Two writes for a place in a group, if the run need not wait, and a read if other deployments write it, too. */
function groupCalls({ group }: JobSpec, { deployments }: CostAssumptions): CallCounts {
  return group === undefined ? {} : { write: 2, ...(deployments > 1 && { read: 1 }) };
}

type Bill = Omit<CostPart, 'cost' | 'share'> & { readonly quantities: Quantities };

const OF_RUNS: readonly (Pick<Bill, 'item' | 'unit' | 'lowerBy'> & { readonly prices: readonly PriceName[] })[] = [
  {
    item: 'runs',
    unit: 'GB-s',
    lowerBy: 'instanceMemoryMB',
    prices: ['onDemandGbSecond', 'alwaysReadyExecutionGbSecond'],
  },
  { item: 'runs', unit: 'executions', lowerBy: 'schedules', prices: ['onDemandExecution', 'alwaysReadyExecution'] },
  {
    item: 'rows and records',
    unit: 'calls',
    lowerBy: 'schedules',
    prices: ['blobList', 'blobWrite', 'blobRead', 'blobOther'],
  },
  { item: 'messages of Durable', unit: 'calls', lowerBy: 'schedules', prices: ['queueCall', 'tableCall'] },
  { item: 'logs of runs', unit: 'GB', lowerBy: 'telemetry, logWrites', prices: ['logGb'] },
];

function runsBill(bills: readonly JobBill[]): readonly Bill[] {
  return OF_RUNS.map(({ prices, ...part }) => {
    const quantities: Quantities = Object.fromEntries(
      prices.map((name) => [name, sum(bills.map((bill) => bill.quantities[name] ?? 0))]),
    );
    return { ...part, quantity: totalIn(quantities), quantities };
  });
}

function sharedBill(
  specs: readonly JobSpec[],
  assumed: CostAssumptions,
  { dueTicks, tickSeconds }: Frequency,
  notifies: boolean,
): readonly Bill[] {
  const { deployments, memoryGb, alwaysReady, availabilityPlaces } = assumed;
  const jobs = specs.length;
  const each = HOURS * deployments;
  const baseline = alwaysReady * memoryGb * MONTH_SECONDS * deployments;
  const ticks = AN_HOUR.ticks * each;
  const tests = AN_HOUR.availabilityTests * availabilityPlaces * each;
  const pages = jobs <= ROWS_A_PAGE.only ? 1 : Math.ceil(jobs / ROWS_A_PAGE.ofSeveral);
  const sweeps = Math.max(0, AN_HOUR.sweeps * HOURS - dueTicks) * deployments;
  const coordination = [
    times(COUNTED.sweep.calls, sweeps * pages),
    times(COUNTED.dueTick.calls, dueTicks * deployments * pages),
    times(COUNTED.presence.calls, AN_HOUR.presences * each),
  ];
  const onDemand = (executions: number, seconds: number): Quantities => ({
    onDemandExecution: executions,
    onDemandGbSecond: seconds * memoryGb,
  });
  const gaugesGb = assumed.telemetry ? jobs * RECORDS.ofGauges * EXPORTS_AN_HOUR * each * RECORD_GB : 0;
  const alerts: Quantities = {
    logAlertEvery5Minutes: deployments + (specs.some(({ alertAfterMs }) => alertAfterMs !== undefined) ? 1 : 0),
    logAlertEvery15Minutes: ALERTS_EVERY_15_MINUTES,
    metricAlert: availabilityPlaces > 0 ? deployments : 0,
  };
  // Each sweep lists the notices, even if a due time took the place of the sweep of rows.
  const notices = times(COUNTED.noticeSweep.calls, notifies ? AN_HOUR.sweeps * each : 0);
  const bill = (item: string, unit: string, lowerBy: string, quantities: Quantities, quantity?: number): Bill => {
    return { item, quantity: quantity ?? totalIn(quantities), unit, lowerBy, quantities };
  };
  const tested = { ...onDemand(tests, tests * BILLED_SECONDS), availabilityTest: tests };
  return [
    bill('always ready', 'GB-s', 'alwaysReady', { alwaysReadyGbSecond: baseline }),
    bill('ticks', 'executions', 'instanceMemoryMB', onDemand(ticks, tickSeconds * deployments), ticks),
    bill('availability tests', 'tests', 'availabilityPlaces', tested, tests),
    bill('alerts', 'rules', 'modules/alerts.bicep', alerts),
    bill('sweeps and presences', 'calls', 'CRONLEASE_SWEEP_INTERVAL', pricedCalls(coordination)),
    bill('polls of Durable', 'calls', 'maxQueuePollingInterval', { queueCall: AN_HOUR.durableCalls * each }),
    bill('locks of the host', 'calls', 'CRONLEASE_TICK', { hostBlobWrite: AN_HOUR.hostCalls * each }),
    bill('logs of ticks', 'GB', 'CRONLEASE_TICK', { logGb: ticks * RECORDS.ofTick * RECORD_GB }),
    ...(gaugesGb > 0 ? [bill('gauges of jobs', 'GB', 'CRONLEASE_METRICS_JOBS', { logGb: gaugesGb })] : []),
    ...(notifies ? [bill('listings of notices', 'calls', 'CRONLEASE_SWEEP_INTERVAL', pricedCalls([notices]))] : []),
  ];
}

/** A subscription has each free grant once, however many deployments there are. */
function freeGrants(bills: readonly { readonly quantities: Quantities }[], { prices }: Prices): readonly CostPart[] {
  return PRICE_NAMES.flatMap((name): readonly CostPart[] => {
    const { free, price, per } = prices[name];
    const used = sum(bills.map(({ quantities }) => quantities[name] ?? 0));
    const quantity = Math.min(free, used);
    if (quantity === 0) return [];
    const cost = (-quantity * price) / per;
    return [{ item: 'free', quantity, unit: GRANTS[name] ?? name, cost, share: undefined, lowerBy: undefined }];
  });
}

const GRANTS: Readonly<Partial<Record<PriceName, string>>> = {
  onDemandGbSecond: 'GB-s on demand',
  onDemandExecution: 'executions on demand',
  logGb: 'GB of logs',
};

/** https://learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories: general-purpose v2 */
export const PRICE_OF_CALL: Readonly<Record<CallKind, PriceName | 'free'>> = {
  listing: 'blobList',
  container: 'blobList',
  read: 'blobRead',
  write: 'blobWrite',
  append: 'blobWrite',
  properties: 'blobOther',
  metadata: 'blobOther',
  acquire: 'blobOther',
  renew: 'blobOther',
  change: 'blobOther',
  release: 'blobOther',
  break: 'blobOther',
  delete: 'free',
};

function pricedCalls(counts: readonly CallCounts[]): Quantities {
  const quantities: Partial<Record<PriceName, number>> = {};
  for (const kind of CALL_KINDS) {
    const price = PRICE_OF_CALL[kind];
    if (price === 'free') continue;
    quantities[price] = (quantities[price] ?? 0) + sum(counts.map((count) => count[kind] ?? 0));
  }
  return quantities;
}

/** The coordination account logs its writes, leases included. */
function isLogged(kind: CallKind): boolean {
  return kind !== 'listing' && kind !== 'read' && kind !== 'properties';
}

function costOf(quantities: Quantities, { prices }: Prices): number {
  return sum(PRICE_NAMES.map((name) => ((quantities[name] ?? 0) * prices[name].price) / prices[name].per));
}

function times(counts: CallCounts, factor: number): CallCounts {
  return Object.fromEntries(CALL_KINDS.map((kind) => [kind, (counts[kind] ?? 0) * factor]));
}

function totalIn(quantities: Quantities): number {
  return sum(Object.values(quantities));
}

function totalOf(counts: CallCounts): number {
  return sum(CALL_KINDS.map((kind) => counts[kind] ?? 0));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
