import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type Sampler,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { NO_TELEMETRY, type TracedEnd } from '../../src/coordinator/telemetry';
import { recordKey } from '../../src/core/key';
import {
  formatTraceparent,
  idsOf,
  IdSource,
  parseTraceparent,
  remembering,
  type Spans,
  createSpans,
  unexportedSpans,
} from '../../src/telemetry/spans';
import { jobSpec } from '../support/job';
import { firstInstance } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { type Instance, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 1, 12);
const END: TracedEnd = {
  outcome: 'succeeded',
  reason: 'completed',
  trigger: 'schedule',
  since: NOW - 5_000,
  attempts: 1,
};
const RUN = { job: jobSpec('nightly', '0 3 * * *'), key: recordKey(Date.UTC(2026, 0, 1, 3)) };

/** The spans of one instance. */
function instance(options: { readonly isApps?: boolean; readonly sampler?: Sampler; readonly location?: string } = {}) {
  const exporter = new InMemorySpanExporter();
  const ids = options.isApps === true ? undefined : new IdSource();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(ids && { idGenerator: ids }),
    ...(options.sampler && { sampler: options.sampler }),
  });
  const { location = 'https://a/cronlease' } = options;
  const spans: Spans = createSpans({
    ...{ tracer: provider.getTracer('test'), ids, deployment: 'eu', now: () => NOW },
    idsOf: (runId) => idsOf(location, runId),
  });
  const seen = () =>
    exporter.getFinishedSpans().map((span) => {
      const { traceId, spanId } = span.spanContext();
      const [seconds, nanoseconds] = span.endTime;
      const endedAt = new Date(seconds * 1_000 + nanoseconds / 1_000_000).toISOString();
      const parent = span.parentSpanContext?.spanId;
      return { name: span.name, traceId, spanId, parent, endedAt, attributes: span.attributes };
    });
  return { spans, seen };
}

describe('where no spans are exported', () => {
  const spans = unexportedSpans((runId) => idsOf('https://a/cronlease', runId));

  it('the trace is passed on, from the message or from the name of the run', () => {
    const other = instance();
    other.spans.begin('attempt', RUN).end();
    const traceId = other.seen()[0]?.traceId ?? '';
    const own = spans.begin('tick', RUN);
    expect(own.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(own.begin('race').traceparent).toBe(own.traceparent);
    const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect(spans.begin('attempt', RUN, { parent }).traceparent).toBe(parent);
    expect(spans.begin('attempt', RUN, { parent: 'nonsense' }).traceparent).toBe(own.traceparent);
  });

  it('work is called, and nothing else happens', () => {
    const span = spans.begin('handler', RUN);
    expect(span.within(() => 7)).toBe(7);
    span.end({ isError: true });
    spans.ended(RUN, END);
  });
});

describe('what is computed once for each key', () => {
  it('is remembered for the last keys, and forgotten for older ones', () => {
    const computed: string[] = [];
    const of = remembering((key) => {
      computed.push(key);
      return key.toUpperCase();
    }, 2);
    expect(['a', 'b', 'a', 'c', 'b'].map(of)).toEqual(['A', 'B', 'A', 'C', 'B']);
    expect(computed).toEqual(['a', 'b', 'c']);
    // Two younger keys at the least, and four at the most.
    expect(['d', 'e', 'f', 'e', 'd'].map(of)).toEqual(['D', 'E', 'F', 'E', 'D']);
    expect(computed).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(of('a')).toBe('A');
    expect(computed.at(-1)).toBe('a');
  });
});

describe('the trace of a run', () => {
  it('is the same for instances that have told each other nothing', () => {
    const one = instance();
    const other = instance();
    one.spans.begin('attempt', RUN).end();
    other.spans.begin('attempt', RUN).end();
    other.spans.ended(RUN, END);
    const [first] = one.seen();
    const [second, run] = other.seen();
    expect(first?.traceId).toBe(second?.traceId);
    expect(first?.spanId).not.toBe(second?.spanId);
    expect(run).toMatchObject({ name: 'cronlease.run', traceId: first?.traceId, parent: undefined });
    expect([first?.parent, second?.parent]).toEqual([run?.spanId, run?.spanId]);
  });

  it('is another one for another run, and in another container', () => {
    const of = (location: string, key: string): string | undefined => {
      const { spans, seen } = instance({ location });
      spans.begin('tick', { ...RUN, key }).end();
      return seen()[0]?.traceId;
    };
    const traces = [of('https://a/one', RUN.key), of('https://a/two', RUN.key), of('https://a/one', recordKey(NOW))];
    expect(new Set(traces).size).toBe(3);
  });

  it('continues from the span of a message, and from the run if the message has none', () => {
    const { spans, seen } = instance();
    const tick = spans.begin('tick', RUN);
    spans.begin('handOver', RUN, { parent: tick.traceparent }).end();
    spans.begin('handOver', RUN, { parent: 'no trace context' }).end();
    const [inTick, inRun] = seen();
    expect(inTick?.parent).toBe(parseTraceparent(tick.traceparent ?? '')?.spanId);
    expect(inRun?.parent).toBe(idsOf('https://a/cronlease', 'nightly-20260101T030000Z').spanId);
  });

  it('is sampled as a whole or not at all, by every instance alike', () => {
    const runs = Array.from({ length: 40 }, (_, index) => ({ ...RUN, key: recordKey(NOW + index * 60_000) }));
    const sampledBy = () => {
      const { spans, seen } = instance({ sampler: new TraceIdRatioBasedSampler(0.5) });
      for (const run of runs) {
        const attempt = spans.begin('attempt', run);
        attempt.begin('handler').end();
        attempt.end();
        spans.ended(run, END);
      }
      const counts = new Map<string, number>();
      for (const { traceId } of seen()) counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
      return counts;
    };
    const counts = sampledBy();
    expect(counts.size).toBeGreaterThan(5);
    expect(counts.size).toBeLessThan(35);
    expect(new Set(counts.values())).toEqual(new Set([3]));
    expect(sampledBy()).toEqual(counts);
  });

  it("has the run beside its stages where the app's own SDK makes the ids", () => {
    const { spans, seen } = instance({ isApps: true });
    spans.begin('attempt', RUN).end();
    spans.ended(RUN, END);
    const [attempt, run] = seen();
    expect(run?.traceId).toBe(attempt?.traceId);
    expect(run?.parent).toBe(attempt?.parent);
  });

  it('names the schedule only where it is cron, and the trigger by what started it', () => {
    const attributesOf = (run: typeof RUN) => {
      const { spans, seen } = instance();
      spans.begin('attempt', run).end();
      return seen()[0]?.attributes ?? {};
    };
    expect(attributesOf(RUN)).toMatchObject({ 'faas.trigger': 'timer', 'faas.cron': '0 3 * * *' });
    const every = attributesOf({ ...RUN, job: jobSpec('often', '@every 90s') });
    expect(every['faas.trigger']).toBe('timer');
    expect(every).not.toHaveProperty('faas.cron');
    const asked = attributesOf({ ...RUN, key: recordKey(NOW, 'abc') });
    expect(asked['faas.trigger']).toBe('other');
    expect(asked).not.toHaveProperty('faas.cron');
  });
});

describe('W3C trace context', () => {
  it('is read as it is written, and nothing else is', () => {
    const ids = idsOf('place', 'run');
    const text = formatTraceparent({ ...ids, flags: 1 });
    expect(text).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(parseTraceparent(text)).toEqual({ ...ids, flags: 1 });
    for (const bad of ['', text.slice(1), text.replace('00-', '01-'), `00-${'0'.repeat(32)}-${ids.spanId}-01`]) {
      expect(parseTraceparent(bad), bad).toBeUndefined();
    }
  });
});

describe('deployments with and without telemetry', () => {
  /** Two deployments, of which the first one has telemetry, as beside an older build. Returns what it was told. */
  async function besideOneWithout(kill: 'with' | 'without') {
    const told: string[] = [];
    const sim = rivalTicks({ jobs: [jobSpec('often', '* * * * *')], deployments: 2 });
    const [one, other] = sim.instances;
    if (one === undefined || other === undefined) throw new Error('there are two instances');
    const { spans, seen } = instance();
    one.coordinator.telemetry = {
      ...NO_TELEMETRY,
      begin: spans.begin,
      ended: spans.ended,
      arrived: (_, { parent }) => told.push(`arrived ${String(parseTraceparent(parent) !== undefined)}`),
      claimed: (job, stage, result) => told.push(`${job} ${stage} ${result}`),
      swept: ({ jobs }) => told.push(`swept ${String(jobs.size)}`),
    };
    await sim.clock.advance(130_000);
    (kill === 'with' ? one : other).kill();
    await sim.clock.advance(240_000);
    return { told, seen, sim };
  }

  it('run each due time once, whichever of them stays', async () => {
    for (const kill of ['with', 'without'] as const) {
      const { told, sim, seen } = await besideOneWithout(kill);
      const due = sim.calls.map(({ scheduledFor }) => scheduledFor);
      expect(new Set(due).size).toBe(due.length);
      expect(due.length).toBeGreaterThanOrEqual(5);
      if (kill === 'with') continue;
      expect(told).toContain('arrived true');
      expect(told).toContain('often race won');
      expect(told).toContain('often claim won');
      expect(told).toContain('swept 1');
      expect(seen().map(({ name }) => name)).toContain('cronlease.settle');
    }
  });
});

describe('the span of a run whose holder died', () => {
  const traced = (on: Instance): ReturnType<typeof instance>['seen'] => {
    const { spans, seen } = instance();
    on.coordinator.telemetry = { ...NO_TELEMETRY, begin: spans.begin, ended: spans.ended };
    return () => seen().filter(({ name }) => name === 'cronlease.run');
  };

  it('is sent by the claim that finds its record, with the end that the record has', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const first = firstInstance(sim);
    let late: Parameters<typeof sim.store.createRecord> | undefined;
    interceptStore(first, 'createRecord', () => (...given) => {
      late = given;
      first.kill();
      return new Promise(() => undefined);
    });
    await sim.clock.advance(HOUR + 10_000);
    const second = sim.startInstance('d2');
    const runs = traced(second);
    // The dead holder's record arrives after the check of the second one, and before its mark.
    interceptStore(second, 'createRecord', (create) => async (...given) => {
      if (late !== undefined) await sim.store.createRecord(...late);
      late = undefined;
      return create(...given);
    });
    await sim.clock.advance(5 * MINUTE);
    const [record] = await sim.records('a');
    expect(record).toMatchObject({ outcome: 'succeeded', attempts: [{ deployment: 'd1' }] });
    expect(runs()).toMatchObject([
      {
        endedAt: record?.endedAt,
        attributes: { 'cronlease.outcome': 'succeeded', 'cronlease.reason': 'completed', 'cronlease.attempts': 1 },
      },
    ]);
  });

  it('is sent with the record of an end that nobody can know, once', async () => {
    const job = jobSpec('a', '5 0 1 * *', { keepMs: 7 * 24 * HOUR });
    const sim = rivalTicks({ jobs: [job], handler: () => new Promise(() => undefined) });
    await sim.clock.advance(6 * MINUTE);
    firstInstance(sim).kill();
    await sim.clock.advance(8 * 24 * HOUR);
    const runs = ['d2', 'd3'].map((name) => traced(sim.startInstance(name)));
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ outcome: 'failed', reason: 'outcomeUnknown' })]) as object,
    );
    const unknown = runs
      .flatMap((seen) => seen())
      .filter(({ attributes }) => attributes['error.type'] === 'outcomeUnknown');
    expect(unknown).toMatchObject([{ attributes: { 'cronlease.outcome': 'failed', 'cronlease.attempts': 1 } }]);
  });
});
