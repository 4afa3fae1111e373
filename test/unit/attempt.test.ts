import { describe, expect, it } from 'vitest';
import { dispatch } from '../../src/coordinator/attempt/together';
import type { JobName } from '../../src/core/brand';
import { type AttemptInput, packRow } from '../../src/coordinator/message';
import { defineJob } from '../../src/handler/handler';
import { firstInstance, leaveRow, listedRow, withoutTicks } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = 'a' as JobName;

const every = (backoffMs: number, attempts: number) => ({
  ...{ attempts, backoffMs, factor: 1, maxBackoffMs: backoffMs, jitter: 'none' as const },
});

/** What the run's orchestration sends once the row's not-before time has come. */
async function nextAttempt(sim: RivalTicks, known = '[]'): Promise<AttemptInput> {
  const { etag } = await listedRow(sim, A);
  return { kind: 'again', job: 'a', etag, row: packRow(await sim.row('a')), known };
}

describe('an attempt that is held back until it is due', () => {
  it('is not held for as long as its clock is set back', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const on = firstInstance(sim);
    await sim.clock.advanceTo(T0 + HOUR - 3 * SECOND);
    expect((await sim.row('a')).phase).toBe('running');
    on.skewMs = -HOUR;
    await sim.clock.advance(5 * MINUTE);
    expect(Math.abs(on.coordinator.serviceTime.now() - sim.clock.now())).toBeLessThan(2 * SECOND);
    expect(sim.calls).toHaveLength(1);
    expect(sim.calls[0]?.at).toBeGreaterThanOrEqual(T0 + HOUR);
    expect(sim.calls[0]?.at).toBeLessThan(T0 + HOUR + MINUTE);
  });
});

describe('an attempt of a run that had begun before its job got a spread', () => {
  it('is not held back until the new time of its due time', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      handler: ({ attempt, signal }) =>
        attempt === 1 ? new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })) : 'done',
    });
    await sim.clock.advance(HOUR + 10 * SECOND);
    const spread = jobSpec('a', '@hourly', { offsetMs: HOUR / 2, scheduleHash: 'hash with a spread' });
    const next = sim.startInstance('d2', { jobs: [spread], revision: 1 });
    void firstInstance(sim).drain();
    await sim.clock.advance(MINUTE);
    expect(sim.calls.map(({ attempt, deployment }) => [attempt, deployment])).toMatchObject([
      [1, firstInstance(sim).deployment],
      [2, next.deployment],
    ]);
    expect((await sim.row('a')).started).toBeLessThan(sim.clock.now());
    const [record] = (await sim.records('a')).filter(({ trigger }) => trigger === 'schedule');
    expect(record).toMatchObject({ outcome: 'succeeded', attempts: [{ attempt: 1 }, { attempt: 2 }] });
  });
});

describe('an attempt that was claimed long before its due time', () => {
  it('ends before its host would end it', async () => {
    const retry = { ...jobSpec('a', '@hourly').retry, attempts: 1 };
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:02:00Z', { timeoutMs: 50 * SECOND, retry })],
      settings: { functionTimeoutMs: MINUTE, lookAheadMs: 30 * SECOND },
      handler: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
    });
    await sim.clock.advance(4 * MINUTE);
    const at = (name: string): number => sim.events.find(({ event }) => event === name)?.at ?? NaN;
    expect(at('started') - at('claimed')).toBeGreaterThan(25 * SECOND);
    expect(at('timedOut') - at('claimed')).toBeLessThan(MINUTE);
    const [record] = await sim.records('a');
    expect(record?.attempts[0]?.error?.message).toContain('before the functionTimeout of its host');
  });
});

describe('an attempt whose process stands still while it reports its start', () => {
  it('does not call its handler any more', async () => {
    const spec = jobSpec('a', '@hourly');
    const sim = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    await leaveRow(sim, A, ranRow(spec, { phase: 'retrying', notBefore: 0 }), 'letGo');
    const seen: string[] = [];
    const event: typeof on.report.event = (told) => {
      seen.push(told.event);
      // A pipe that no one reads blocks for longer than it trusts.
      if (told.event === 'started') on.skewMs = MINUTE;
    };
    const attempt = dispatch(on.coordinator, await nextAttempt(sim), { ...on.report, event });
    await sim.clock.advance(SECOND);
    expect(await attempt).toMatchObject({ kind: 'lost' });
    expect(seen).toContain('started');
    expect(sim.calls).toEqual([]);
  });
});

describe('a retry', () => {
  // Durable timers go by their host's clock, and not-before times by the service's.
  it('that comes a minute early, on a host that is known to be ahead, waits for its time', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const ahead = MINUTE;
    firstInstance(sim).skewMs = ahead;
    const on: Instance = await withoutTicks(sim);
    expect(on.coordinator.serviceTime.skewMs).toBeGreaterThan(ahead - 2 * SECOND);
    const notBefore = sim.clock.now() + 2 * MINUTE;
    await leaveRow(sim, A, ranRow(jobSpec('a', '@hourly'), { phase: 'retrying', notBefore }), 'letGo');
    await sim.clock.advanceTo(notBefore - ahead);
    const tooEarly = dispatch(on.coordinator, await nextAttempt(sim), on.report);
    await sim.clock.advance(30 * SECOND);
    expect(sim.calls).toEqual([]);
    const early = await tooEarly;
    if (early.kind !== 'again') throw new Error(early.kind);
    await sim.clock.advanceTo(early.notBefore - ahead);
    const inTime = dispatch(on.coordinator, early.next, on.report);
    await sim.clock.advance(10 * SECOND);
    expect(await inTime).toMatchObject({ kind: 'ended', record: { outcome: 'succeeded' } });
    expect(Math.abs((sim.calls[0]?.at ?? 0) - notBefore)).toBeLessThan(2 * SECOND);
  });

  it('keeps the larger revision, as every write does', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly', { retry: every(MINUTE, 2) })],
      handler: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error('no')) : new Promise(() => undefined)),
    });
    await sim.clock.advance(HOUR + 5 * SECOND);
    expect((await sim.row('a')).phase).toBe('retrying');
    // The host of the retry has the newer file.
    const file: { revision: number } = firstInstance(sim).coordinator;
    file.revision = 7;
    await sim.clock.advance(65 * SECOND);
    expect(await sim.row('a')).toMatchObject({ phase: 'running', attempt: 2, revision: 7 });
  });

  it('follows at once where there is no back-off, after more than a thousand attempts too', async () => {
    const retry = { ...jobSpec('a', '@hourly').retry, attempts: 5_000, backoffMs: 0 };
    const spec = jobSpec('a', '@hourly', { retry });
    const sim = rivalTicks({ jobs: [spec], handler: () => Promise.reject(new Error('no')) });
    const on = await withoutTicks(sim);
    await leaveRow(sim, A, ranRow(spec, { phase: 'retrying', notBefore: 0, attempt: 1_100 }), 'letGo');
    const attempt = dispatch(on.coordinator, await nextAttempt(sim), on.report);
    await sim.clock.advance(SECOND);
    expect(await attempt).toMatchObject({ kind: 'again' });
    const row = await sim.row('a');
    expect(row).toMatchObject({ phase: 'retrying', attempt: 1_101 });
    expect(row.notBefore).toBeLessThanOrEqual(sim.clock.now());
  });

  it('is sent little of the attempts before it, however many they were', async () => {
    const spec = jobSpec('a', '@hourly', { retry: every(SECOND, 500) });
    const sim = rivalTicks({
      jobs: [spec],
      handler: () => {
        throw new Error('x'.repeat(8_000));
      },
    });
    const on = await withoutTicks(sim);
    await leaveRow(sim, A, ranRow(spec, { phase: 'retrying', notBefore: 0 }), 'letGo');
    let next = await nextAttempt(sim);
    const sizes: number[] = [];
    for (let count = 0; count < 130; count += 1) {
      const attempt = dispatch(on.coordinator, next, on.report);
      await sim.clock.advance(5 * SECOND);
      const result = await attempt;
      if (result.kind !== 'again') throw new Error(result.kind);
      next = result.next;
      sizes.push(JSON.stringify(next).length);
    }
    expect(sim.calls).toHaveLength(130);
    // No more than the last hundred travel, which a digit more or less in their numbers changes by a little.
    expect(Math.max(...sizes)).toBeLessThan(130_000);
    expect(Math.max(...sizes.slice(110)) - Math.min(...sizes.slice(110))).toBeLessThan(500);
  });
});

describe('the input of a job', () => {
  it('is new to each attempt, whatever an earlier one did to it', async () => {
    const input = (): { readonly list: number[]; readonly of: Record<string, unknown> } => ({
      list: [1, 2],
      of: { at: new Date(T0), none: null },
    });
    const seen: unknown[] = [];
    const handler = defineJob<ReturnType<typeof input>>({
      run: (_, { list, of }) => {
        seen.push({ list: [...list], of: { ...of } });
        list.pop();
        delete of['at'];
        if (seen.length === 1) throw new Error('once');
      },
    });
    const spec = jobSpec('a', '@hourly', { input: input(), retry: every(10 * SECOND, 2) });
    const sim = rivalTicks({ jobs: [spec], fanOut: { a: () => handler } });
    await sim.clock.advance(2.5 * HOUR);
    expect(seen).toEqual([input(), input(), input()]);
    expect(spec.input).toEqual(input());
  });

  it('is given as it is if a schema has made something of it that cannot be copied', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    const lazy = {
      get value() {
        throw new Error('not yet');
      },
    };
    const inputs: unknown[] = [];
    const jobs = [jobSpec('a', '@hourly', { input: proxy }), jobSpec('b', '@hourly', { input: lazy })];
    const handler = defineJob({ run: (_, input) => void inputs.push(input) });
    const sim = rivalTicks({ jobs, fanOut: { a: () => handler, b: () => handler } });
    revoke();
    await sim.clock.advance(1.5 * HOUR);
    expect(inputs.length).toBe(2);
    expect(inputs.includes(proxy)).toBe(true);
  });
});

describe('a result with values that JSON cannot hold', () => {
  it('succeeds, and its record names them', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      handler: () => ({
        ...{ mean: NaN, big: 2n ** 60n, byKey: new Map([['a', 1]]), at: new Date(0), missing: undefined },
        rows: [{ share: -Infinity }, undefined, () => 1],
      }),
    });
    await sim.clock.advance(HOUR + 30 * SECOND);
    expect(await sim.records('a')).toMatchObject([
      {
        outcome: 'succeeded',
        result: {
          ...{ mean: null, big: '1152921504606846976', byKey: {}, at: '1970-01-01T00:00:00.000Z' },
          rows: [{ share: null }, null, null],
        },
        resultChanges: [
          'mean: NaN, kept as null',
          'big: a BigInt, kept as text',
          'byKey: a Map, kept as {}',
          'rows[0].share: -Infinity, kept as null',
          'rows[1]: undefined, kept as null',
          'rows[2]: a function, kept as null',
        ],
      },
    ]);
  });
});

describe('an error', () => {
  it.each([
    ['message', { message: { code: 17 } }],
    ['stack', { stack: [{ file: 'a', line: 1 }] }],
  ])('whose %s is no text fails its attempt like any other', async (_what, odd) => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly', { retry: every(5 * SECOND, 2) })],
      handler: () => {
        throw Object.assign(new Error('no'), odd);
      },
    });
    await sim.clock.advance(HOUR + 30 * SECOND);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', reason: 'handlerError' }]);
    expect(sim.calls).toHaveLength(2);
  });
});
