import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { INSTRUMENTS, type Instrument } from '../../src/telemetry/instruments';
import { type CallTarget, callTarget } from '../support/call-target';
import { type CoordinatedApp, coordinatedApp } from '../support/coordinated';
import { type DevRun, type Ready, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { type Collector, type ReceivedSpan, startCollector } from '../support/otlp/collector';

const PATIENCE = { timeout: 90_000, interval: 100 };

let app: CoordinatedApp;
let collector: Collector;
let target: CallTarget;
let dev: DevRun;
let instances: Ready['instances'];

beforeAll(async () => {
  collector = await startCollector();
  target = await callTarget((_, response) => response.writeHead(204).end());
  app = coordinatedApp(
    {
      often: { schedule: '*/2 * * * * *', handler: 'mark', alertAfter: '1h' },
      refused: { schedule: '*/5 * * * * *', handler: 'giveUp' },
      fanned: { schedule: '*/10 * * * * *', handler: 'wide', input: { count: 3, ms: 10 } },
      called: { schedule: '*/5 * * * * *', call: { url: '%TARGET%/x' } },
      long: { schedule: '*/30 * * * * *', handler: 'slow', input: { ms: 60_000 }, lease: '15s' },
    },
    { exports: true },
  );
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_RESOURCE_ATTRIBUTES: 'team=night',
    CRONLEASE_LOG_FORMAT: 'json',
    TARGET: target.url,
  };
  // An instance that came back could take over the run of the killed one, which belongs to the same deployment.
  dev = startDev(buildLocal(), { app: app.folder, instances: 2, restart: false }, { ...app.env, ...env });
  ({ instances } = await dev.ready());
});
afterAll(async () => {
  endAll();
  target.close();
  await collector.close();
});

function spansOf(job: string): Map<string, ReceivedSpan[]> {
  const traces = new Map<string, ReceivedSpan[]>();
  for (const span of collector.spans.filter(({ attributes }) => attributes['cronlease.job'] === job)) {
    traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span]);
  }
  return traces;
}

/** A trace of the job whose run is over and has these spans. */
async function traceOf(
  job: string,
  names: readonly string[],
  isWhole: (spans: readonly ReceivedSpan[]) => boolean = () => true,
): Promise<readonly ReceivedSpan[]> {
  return vi.waitFor(() => {
    const whole = [...spansOf(job).values()].find(
      (spans) =>
        ['cronlease.run', ...names].every((name) => spans.some((span) => span.name === name)) && isWhole(spans),
    );
    if (whole === undefined) throw new Error(`no trace of ${job} has ${names.join(', ')}`);
    return whole;
  }, PATIENCE);
}

function one(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).toHaveLength(1);
  return found[0] as ReceivedSpan;
}

describe('a cluster that exports by OTLP', () => {
  it('sends one trace for each run, from the tick to its end', async () => {
    // The spans come in any order: the race that was won may come after its tick, and the loser's tick before both.
    const winner = (spans: readonly ReceivedSpan[]): ReceivedSpan | undefined => {
      const won = spans.filter(({ attributes }) => attributes['cronlease.result'] === 'won');
      const race = won.find(({ name }) => name === 'cronlease.race');
      return spans.find(({ spanId }) => spanId === race?.parentSpanId);
    };
    const names = ['attempt', 'hand_over', 'claim', 'handler', 'settle'].map((name) => `cronlease.${name}`);
    const spans = await traceOf('often', names, (whole) => winner(whole) !== undefined);
    const run = one(spans, 'cronlease.run');
    const attempt = one(spans, 'cronlease.attempt');
    const tick = winner(spans) as ReceivedSpan;
    expect(run.parentSpanId).toBe('');
    expect(tick).toMatchObject({ name: 'cronlease.tick', parentSpanId: run.spanId });
    expect(one(spans, 'cronlease.hand_over').parentSpanId).toBe(tick.spanId);
    expect(attempt.parentSpanId).toBe(run.spanId);
    for (const name of ['cronlease.claim', 'cronlease.handler', 'cronlease.settle']) {
      expect(one(spans, name).parentSpanId, name).toBe(attempt.spanId);
    }
    expect(run.attributes).toMatchObject({
      'faas.trigger': 'timer',
      'faas.cron': '*/2 * * * * *',
      'faas.time': expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      'cronlease.outcome': 'succeeded',
      'cronlease.reason': 'completed',
      'cronlease.trigger': 'schedule',
      'cronlease.attempts': 1,
    });
    expect(attempt.attributes['faas.invocation_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(tick.attributes['faas.invocation_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(tick.attributes['faas.invocation_id']).not.toBe(attempt.attributes['faas.invocation_id']);
    expect(run.start).toBeLessThanOrEqual(tick.start + 1_000);
    expect(run.end).toBeGreaterThanOrEqual(one(spans, 'cronlease.handler').end);
    expect(collector.violations).toEqual([]);
  });

  it('gives handlers and items the trace context of their call', async () => {
    const count = (spans: readonly ReceivedSpan[], wanted: string): number =>
      spans.filter(({ name }) => name === wanted).length;
    const spans = await traceOf(
      'fanned',
      [],
      (whole) => count(whole, 'cronlease.item') >= 3 && count(whole, 'cronlease.handler') >= 2,
    );
    const [{ traceId } = { traceId: '' }] = spans;
    const run = one(spans, 'cronlease.run');
    const notes = app.notes().filter(({ traceparent }) => traceparent?.includes(traceId));
    for (const what of ['planned', 'item', 'gathered']) {
      const note = notes.find((candidate) => candidate.what === what);
      const spanId = /^00-[0-9a-f]{32}-([0-9a-f]{16})-01$/.exec(note?.traceparent ?? '')?.[1];
      const name = what === 'item' ? 'cronlease.item' : 'cronlease.handler';
      expect(spans.find((span) => span.spanId === spanId)?.name, what).toBe(name);
    }
    const items = spans.filter(({ name }) => name === 'cronlease.item');
    expect(new Set(items.map(({ attributes }) => attributes['cronlease.item']))).toEqual(new Set([0, 1, 2]));
    expect(new Set(items.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([run.spanId]));
  });

  it('marks the spans of a run that failed', async () => {
    const spans = await traceOf('refused', ['cronlease.handler']);
    expect(one(spans, 'cronlease.run')).toMatchObject({ isError: true });
    expect(one(spans, 'cronlease.run').attributes).toMatchObject({
      'cronlease.outcome': 'failed',
      'error.type': 'nonRetryable',
    });
    expect(one(spans, 'cronlease.handler').isError).toBe(true);
  });

  it('continues the trace of a run that another deployment takes over', async () => {
    const started = await dev.event(({ event, job }) => event === 'started' && job === 'long', 60_000);
    const holder = instances.find(({ deployment }) => deployment === started['deployment']);
    const tickers = (spans: readonly ReceivedSpan[]): ReadonlySet<unknown> =>
      new Set(
        spans.filter(({ name }) => name === 'cronlease.tick').map(({ resource }) => resource['cronlease.deployment']),
      );
    // What a killed process has not sent is lost.
    const sent = (): readonly ReceivedSpan[] => spansOf('long').get(String(started['traceId'])) ?? [];
    await vi.waitFor(() => expect([...tickers(sent())]).toContain(holder?.deployment), PATIENCE);
    process.kill(holder?.pid ?? 0, 'SIGKILL');
    const spans = await traceOf('long', ['cronlease.attempt'], (whole) => tickers(whole).size === 2);
    const attempts = spans.filter(({ name }) => name === 'cronlease.attempt');
    const run = one(spans, 'cronlease.run');
    const last = attempts.at(-1);
    expect(last?.attributes).toMatchObject({ 'cronlease.attempt': 2, 'cronlease.result': 'succeeded' });
    expect(last?.parentSpanId).toBe(run.spanId);
    const end = await dev.event(
      ({ event, job, runId }) => event === 'succeeded' && job === 'long' && runId === started['runId'],
    );
    expect(end['traceId']).toBe(run.traceId);
    expect(started['traceId']).toBe(run.traceId);
  });

  it('sends every metric of a process, under its name and in its unit', async () => {
    const all: readonly Instrument[] = Object.values(INSTRUMENTS);
    const expected = all.filter(({ source }) => source !== 'deployments');
    await vi.waitFor(() => {
      const seen = new Set(collector.points.map(({ metric }) => metric));
      expect(expected.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
    }, PATIENCE);
    for (const { name, unit, kind, attributes, buckets = [] } of expected) {
      for (const point of collector.latest(name)) {
        const kinds = { counter: 'sum', upDownCounter: 'sum', histogram: 'histogram', gauge: 'gauge' };
        expect(point, name).toMatchObject({
          unit,
          kind: kinds[kind],
          isMonotonic: kind === 'counter',
          bounds: buckets,
        });
        // A request that succeeds has no error, and one without an answer has no status.
        const mayLack = (one: string): boolean => one === 'error.type' || one === 'http.response.status_code';
        expect([...Object.keys(point.attributes), ...attributes.filter(mayLack)], name).toEqual(
          expect.arrayContaining([...attributes]),
        );
        expect(attributes, name).toEqual(expect.arrayContaining(Object.keys(point.attributes)));
        expect(point.resource).toMatchObject({ 'service.name': 'cronlease', team: 'night' });
      }
    }
    expect(collector.violations).toEqual([]);
  });

  it('counts what the runs came to', async () => {
    const ended = dev.events.filter(({ event, job }) => event === 'succeeded' && job === 'often').length;
    await vi.waitFor(() => {
      const counted = collector
        .latest('cronlease.runs')
        .filter(
          ({ attributes }) =>
            attributes['cronlease.job'] === 'often' && attributes['cronlease.outcome'] === 'succeeded',
        )
        .reduce((sum, { value }) => sum + value, 0);
      expect(counted).toBeGreaterThanOrEqual(ended);
    }, PATIENCE);
    await vi.waitFor(() => {
      const [takeOver] = collector.latest('cronlease.takeovers');
      expect(takeOver).toMatchObject({ value: 1, attributes: { 'cronlease.job': 'long' } });
      const reasons = collector.latest('cronlease.due_times').map(({ attributes }) => attributes);
      expect(reasons).toContainEqual({
        'cronlease.job': 'refused',
        'cronlease.outcome': 'failed',
        'cronlease.reason': 'nonRetryable',
      });
      const acquired = collector
        .latest('cronlease.storage.call.duration')
        .filter(({ attributes }) => attributes['cronlease.call'] === 'acquire');
      expect(acquired.length).toBeGreaterThan(0);
    }, PATIENCE);
  });
});
