import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { afterEach, describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { CoordinatorEvent, EventName } from '../../src/core/event';
import { callResult } from '../../src/core/storage-call';
import { callMeter } from '../../src/stores/azure-blob/count-calls';
import { jobNames } from '../../src/telemetry/instruments';
import { createMetrics, tally } from '../../src/telemetry/metrics';
import { watched } from '../../src/telemetry/sdk';
import { settableClock } from '../support/clock';

const providers: MeterProvider[] = [];
afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.shutdown()));
});

/** Metrics, and what they export: the series of a metric, each with its value or count. */
function measuring(jobs: readonly string[] = ['one', 'two'], limit = 100) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  providers.push(provider);
  const names = jobNames(jobs as readonly JobName[], limit);
  const metrics = createMetrics({ meter: provider.getMeter('test'), nameOf: names, samples: () => [] });
  return {
    metrics,
    tell(event: EventName, more: Partial<CoordinatorEvent> = {}) {
      metrics.event({ event, at: 0, job: 'one' as JobName, ...more });
    },
    async series(name: string): Promise<readonly (readonly [string, unknown])[]> {
      exporter.reset();
      await provider.forceFlush();
      const [batch] = exporter.getMetrics();
      const found = batch?.scopeMetrics
        .flatMap((scope) => scope.metrics)
        .find(({ descriptor }) => descriptor.name === name);
      return (found?.dataPoints ?? []).map(({ attributes, value }) => [
        Object.values(attributes).join(' '),
        typeof value === 'number' ? value : [value.count, 'sum' in value ? value.sum : undefined],
      ]);
    },
  };
}

const RUN = { runId: 'one-1', token: 7, attempt: 1, reason: 'completed', trigger: 'schedule' } as const;

it('requests of calls have the attributes of HTTP clients, and only those that they have', async () => {
  const { metrics, series } = measuring();
  const request = { method: 'POST', host: 'billing.example.com', port: 443 };
  metrics.requested({ ...request, status: 202, error: undefined, ms: 250 });
  metrics.requested({ ...request, status: 503, error: '503', ms: 100 });
  metrics.requested({ ...request, status: undefined, error: 'ECONNRESET', ms: 50 });
  expect(await series('http.client.request.duration')).toEqual([
    ['POST billing.example.com 443 202', [1, 0.25]],
    ['POST billing.example.com 443 503 503', [1, 0.1]],
    ['POST billing.example.com 443 ECONNRESET', [1, 0.05]],
  ]);
});

describe('metrics from events', () => {
  it('count a run, its attempt, its lateness and its duration', async () => {
    const { tell, series } = measuring();
    tell('claimed', RUN);
    tell('started', { ...RUN, latenessMs: 250 });
    expect(await series('cronlease.run.active')).toEqual([['one', 1]]);
    tell('succeeded', { ...RUN, durationMs: 2_000 });
    expect(await series('cronlease.run.active')).toEqual([['one', 0]]);
    expect(await series('cronlease.runs')).toEqual([['one succeeded completed schedule', 1]]);
    expect(await series('cronlease.due_times')).toEqual([['one succeeded completed', 1]]);
    expect(await series('cronlease.attempts')).toEqual([['one succeeded', 1]]);
    expect(await series('cronlease.run.lateness')).toEqual([['one', [1, 0.25]]]);
    expect(await series('cronlease.run.duration')).toEqual([['one succeeded', [1, 2]]]);
  });

  it('count attempts that the run outlives, and no lateness of a retry', async () => {
    const { tell, series } = measuring();
    tell('started', { ...RUN, latenessMs: 0 });
    tell('retrying', { ...RUN, reason: 'handlerError' });
    tell('takenOver', { ...RUN, attempt: 2, token: 8 });
    tell('started', { ...RUN, attempt: 2, token: 8, latenessMs: 60_000 });
    tell('superseded', { ...RUN, attempt: 2, token: 8 });
    expect(await series('cronlease.attempts')).toEqual([
      ['one retried', 1],
      ['one superseded', 1],
    ]);
    expect(await series('cronlease.takeovers')).toEqual([['one', 1]]);
    expect(await series('cronlease.run.lateness')).toEqual([['one', [1, 0]]]);
    expect(await series('cronlease.run.active')).toEqual([['one', 0]]);
    expect(await series('cronlease.runs')).toEqual([]);
  });

  it('count due times that did not run, each of a stretch', async () => {
    const { tell, series } = measuring();
    tell('overlapped', { reason: 'overlapSkip' });
    tell('paused', { reason: 'paused', through: 9, count: 12 });
    tell('disabled', { reason: 'scheduleChanged', through: 9 });
    expect(await series('cronlease.due_times')).toEqual([
      ['one overlapped overlapSkip', 1],
      ['one paused paused', 12],
      ['one disabled scheduleChanged', 1],
    ]);
    expect(await series('cronlease.runs')).toEqual([]);
  });

  it('continue from the sum of the last export', async () => {
    const { tell, series } = measuring();
    for (let count = 0; count < 100; count += 1) tell('overlapped', { reason: 'overlapSkip' });
    expect(await series('cronlease.due_times')).toEqual([['one overlapped overlapSkip', 100]]);
    expect(await series('cronlease.due_times')).toEqual([['one overlapped overlapSkip', 100]]);
    tell('overlapped', { reason: 'overlapSkip' });
    expect(await series('cronlease.due_times')).toEqual([['one overlapped overlapSkip', 101]]);
  });

  it('reach each of two receivers, and the last ones at the end', async () => {
    const exporters = [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA].map(
      (temporality) => new InMemoryMetricExporter(temporality),
    );
    const readers = exporters.map(
      (exporter) => new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 }),
    );
    const provider = new MeterProvider({ readers });
    const nameOf = jobNames(['one' as JobName], 1);
    const metrics = createMetrics({ meter: provider.getMeter('test'), nameOf, samples: () => [] });
    const claim = (): void => metrics.claimed('one' as JobName, 'race', 'won');
    claim();
    await readers[0]?.forceFlush();
    claim();
    await provider.shutdown();
    const values = exporters.map((exporter) =>
      exporter.getMetrics().flatMap(({ scopeMetrics }) => {
        const all = scopeMetrics.flatMap((scope) => scope.metrics);
        return all.flatMap(({ descriptor, dataPoints }) =>
          descriptor.name === 'cronlease.claims' ? dataPoints.map(({ value }) => value) : [],
        );
      }),
    );
    expect(values).toEqual([[1, 2], [2]]);
  });

  it('count all jobs above the limit under one name', async () => {
    const { metrics, series } = measuring(['one', 'two', 'three'], 1);
    for (const job of ['one', 'two', 'three', 'forgotten']) metrics.claimed(job as JobName, 'race', 'lost');
    expect(await series('cronlease.claims')).toEqual([
      ['one race lost', 1],
      ['_other race lost', 3],
    ]);
  });
});

it('a tally passes each series on once for each export, and only where it has news', () => {
  const added: unknown[] = [];
  const counts = tally({ add: (sum, attributes) => added.push([sum, attributes]) }, [
    'cronlease.job',
    'cronlease.stage',
  ]);
  for (let count = 0; count < 10; count += 1) counts.add(2, 'one', 'race');
  counts.add(1, 'one', 'claim');
  expect(added).toEqual([]);
  counts.flush();
  expect(added.splice(0)).toEqual([
    [20, { 'cronlease.job': 'one', 'cronlease.stage': 'race' }],
    [1, { 'cronlease.job': 'one', 'cronlease.stage': 'claim' }],
  ]);
  counts.flush();
  expect(added).toEqual([]);
});

describe('the results of calls to storage', () => {
  it.each([
    [200, 'ok'],
    [201, 'ok'],
    [304, 'ok'],
    [403, 'denied'],
    [404, 'notFound'],
    [409, 'conflict'],
    [412, 'conflict'],
    [503, 'throttled'],
    [500, 'error'],
    [undefined, 'noAnswer'],
  ] as const)('status %s is %s', (status, result) => {
    expect(callResult(status)).toBe(result);
  });

  it('are measured with the time of each call, also where it fails', async () => {
    const clock = settableClock(0);
    const seen: unknown[] = [];
    const meter = callMeter(clock, (outcome) => seen.push(outcome));
    const send = (answer: () => unknown) =>
      (
        meter as unknown as {
          create(next: unknown): { sendRequest(request: unknown): Promise<unknown> };
        }
      )
        .create({ sendRequest: async () => answer() })
        .sendRequest({ method: 'PUT', url: 'https://a/c/b?comp=lease', headers: { get: () => 'acquire' } });
    await send(() => ({ status: 201 }));
    await expect(send(() => Promise.reject(new Error('cut off')))).rejects.toThrow('cut off');
    expect(seen).toEqual([
      { kind: 'acquire', result: 'ok', ms: 0 },
      { kind: 'acquire', result: 'noAnswer', ms: 0 },
    ]);
  });
});

describe('an exporter that fails', () => {
  it('is told of once, until it works again', () => {
    const problems: string[] = [];
    let code = 1;
    const exporter = watched(
      {
        export: (_: string, done: (result: { code: number; error?: Error }) => void) =>
          done(code === 0 ? { code } : { code, error: new Error('refused') }),
      },
      'traces for OTLP',
      (problem) => problems.push(problem),
    );
    const results: number[] = [];
    const send = (): void => exporter.export('batch', (result) => results.push(result.code));
    send();
    send();
    code = 0;
    send();
    code = 1;
    send();
    expect(results).toEqual([1, 1, 0, 1]);
    expect(problems).toEqual(Array(2).fill('traces for OTLP could not be sent: refused'));
  });
});
