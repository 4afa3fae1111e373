import type {
  BatchObservableResult,
  Counter,
  Histogram,
  Meter,
  ObservableGauge,
  UpDownCounter,
} from '@opentelemetry/api';
import type { ClaimResult } from '../coordinator/telemetry';
import type { JobName } from '../core/brand';
import type { RequestOutcome } from '../core/call';
import type { CoordinatorEvent } from '../core/event';
import { RAN_OUTCOMES, UNRUN_OUTCOMES } from '../core/outcome';
import type { CallOutcome } from '../core/storage-call';
import { type Instrument, type InstrumentName, INSTRUMENTS, type jobNames } from './instruments';
import { type Sample, seconds } from './row-gauges';

export interface Metrics {
  event(event: CoordinatorEvent): void;
  claimed(job: JobName, stage: 'race' | 'claim', result: ClaimResult): void;
  handedOver(ms: number): void;
  called(call: CallOutcome): void;
  /** A request of a job that is a call. */
  requested(outcome: RequestOutcome): void;
  /** @param rows undefined for a listing of one job */
  listed(listing: { readonly rows: number | undefined; readonly ms: number }): void;
}

interface MetricsOptions {
  readonly meter: Meter;
  readonly nameOf: ReturnType<typeof jobNames>;
  /** The gauges as they are now. They are read once for each export. */
  readonly samples: () => readonly Sample[];
}

/** What ends an attempt, besides the end of its run. */
const ENDS_OF_ATTEMPTS: Readonly<Record<string, string>> = {
  retrying: 'retried',
  fannedOut: 'planned',
  superseded: 'superseded',
};
const OUTCOMES: ReadonlySet<string> = new Set([...RAN_OUTCOMES, ...UNRUN_OUTCOMES]);

export function createMetrics({ meter, nameOf, samples }: MetricsOptions): Metrics {
  const counter = (which: InstrumentName): Tally =>
    tally(meter.createCounter(...describe(which)), INSTRUMENTS[which].attributes);
  const histogram = (which: InstrumentName): Histogram => meter.createHistogram(...describe(which));
  const counts = {
    dueTimes: counter('dueTimes'),
    runs: counter('runs'),
    attempts: counter('attempts'),
    takeOvers: counter('takeOvers'),
    claims: counter('claims'),
  };
  const spans = {
    run: histogram('runDuration'),
    lateness: histogram('runLateness'),
    handOver: histogram('handOverDuration'),
    call: histogram('storageCallDuration'),
    request: histogram('requestDuration'),
    listing: histogram('listingDuration'),
    rows: histogram('listingRows'),
  };
  const active = tally(meter.createUpDownCounter(...describe('runsActive')), INSTRUMENTS.runsActive.attributes);
  /** The names of the jobs of the attempts whose handlers run, by token and run. */
  const running = new Map<string, string>();
  const tallies = [...Object.values(counts), active];
  observe(meter, () => {
    // The SDK collects counters after gauges, so that these sums belong to the same export.
    for (const one of tallies) one.flush();
    return samples();
  });

  const jobOf = ({ job }: CoordinatorEvent): string => (job === undefined ? '' : nameOf(job));
  const keyOf = ({ runId, token }: CoordinatorEvent): string => `${String(token)} ${String(runId)}`;

  function attemptEnded(event: CoordinatorEvent, outcome: string): void {
    counts.attempts.add(1, jobOf(event), outcome);
    const key = keyOf(event);
    const job = running.get(key);
    if (job === undefined) return;
    running.delete(key);
    active.add(-1, job);
  }

  function started(event: CoordinatorEvent): void {
    const { latenessMs, attempt } = event;
    const job = jobOf(event);
    // The attempts after the first one are late on purpose.
    if (latenessMs !== undefined && attempt === 1)
      spans.lateness.record(seconds(Math.max(0, latenessMs)), { 'cronlease.job': job });
    const key = keyOf(event);
    if (running.has(key)) return;
    running.set(key, job);
    active.add(1, job);
  }

  function decided(event: CoordinatorEvent): void {
    const { event: outcome, reason = '', durationMs, trigger, token, through, count } = event;
    const job = jobOf(event);
    // A stretch whose due times were not counted because its schedule was replaced counts as one.
    counts.dueTimes.add(through === undefined ? 1 : (count ?? 1), job, outcome, reason);
    if (token === undefined) return;
    // It is the end of a claimed run. Its handler may not have been called.
    counts.runs.add(1, job, outcome, reason, trigger ?? 'schedule');
    attemptEnded(event, outcome);
    if (durationMs === undefined) return;
    spans.run.record(seconds(durationMs), { 'cronlease.job': job, 'cronlease.outcome': outcome });
  }

  return {
    event(event) {
      const { event: name } = event;
      if (name === 'started') started(event);
      else if (name === 'takenOver') counts.takeOvers.add(1, jobOf(event));
      else if (OUTCOMES.has(name)) decided(event);
      const outcome = ENDS_OF_ATTEMPTS[name];
      if (outcome !== undefined) attemptEnded(event, outcome);
    },
    claimed(job, stage, result) {
      counts.claims.add(1, nameOf(job), stage, result);
    },
    handedOver(ms) {
      spans.handOver.record(seconds(Math.max(0, ms)));
    },
    called({ kind, result, ms }) {
      spans.call.record(seconds(ms), { 'cronlease.call': kind, 'cronlease.result': result });
    },
    requested({ method, host, port, status, error, ms }) {
      spans.request.record(seconds(ms), {
        'http.request.method': method,
        'server.address': host,
        'server.port': port,
        ...(status !== undefined && { 'http.response.status_code': status }),
        ...(error !== undefined && { 'error.type': error }),
      });
    },
    listed({ rows, ms }) {
      spans.listing.record(seconds(ms), { 'cronlease.scope': rows === undefined ? 'one' : 'all' });
      if (rows !== undefined) spans.rows.record(rows);
    },
  };
}

/** Calls `samples` once for each export. All gauges come from one reading, so that they belong together. */
function observe(meter: Meter, samples: () => readonly Sample[]): void {
  const gauges = new Map<InstrumentName, ObservableGauge>();
  for (const which of Object.keys(INSTRUMENTS) as InstrumentName[]) {
    const { kind, source } = INSTRUMENTS[which];
    if (kind === 'gauge' && source !== 'deployments')
      gauges.set(which, meter.createObservableGauge(...describe(which)));
  }
  const callback = (result: BatchObservableResult): void => {
    for (const { instrument, value, attributes } of samples()) {
      const gauge = gauges.get(instrument);
      if (gauge !== undefined) result.observe(gauge, value, { ...attributes });
    }
  };
  meter.addBatchObservableCallback(callback, [...gauges.values()]);
}

function describe(which: InstrumentName) {
  const { name, unit, description, buckets }: Instrument = INSTRUMENTS[which];
  const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
  return [name, { unit, description, ...advice }] as const;
}

interface Tally {
  /** @param values of the metric's attributes, in their order */
  add(count: number, ...values: readonly string[]): void;
  /** Passes the sums on to the SDK. They start again at nothing. */
  flush(): void;
}

/** Counts in its own map, because the SDK makes a text of all attributes at each `add`. Decision 112. */
export function tally(counter: Counter | UpDownCounter, names: readonly string[]): Tally {
  // Emptied by each export: a series that no longer grows takes no memory here.
  let sums = new Map<string, { sum: number; readonly values: readonly string[] }>();
  return {
    add(count, ...values) {
      // No value contains a line break: they are names of jobs, and words of this project.
      const key = values.join('\n');
      const known = sums.get(key);
      if (known === undefined) sums.set(key, { sum: count, values });
      else known.sum += count;
    },
    flush() {
      const counted = sums;
      sums = new Map();
      for (const { sum, values } of counted.values())
        counter.add(sum, Object.fromEntries(names.map((name, index) => [name, values[index]])));
    },
  };
}
