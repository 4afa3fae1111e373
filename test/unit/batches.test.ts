import { describe, expect, it } from 'vitest';
import { runTogether } from '../../src/coordinator/attempt/together';
import type { Batch, HandedOver } from '../../src/coordinator/message';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { NonRetryableError } from '../../src/handler/handler';
import { durableCalls } from '../../src/operator/cost/situation';
import { listedRow } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T0 = Date.UTC(2026, 0, 1);
const DUE = T0 + MINUTE;

const named = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `job-${String(index).padStart(3, '0')}`);

/** Jobs that are due together, once. */
function together(count: number, options: Partial<SimulationOptions> = {}): RivalTicks {
  const jobs = named(count).map((name) => jobSpec(name, '1 0 1 1 *', { retry: RETRY }));
  return rivalTicks({ jobs, latencyMs: 10, ...options });
}

const RETRY = { attempts: 3, backoffMs: 2_000, factor: 1, maxBackoffMs: 300_000, jitter: 'none' } as const;

/** The numbers of claims in the activities of each orchestration. */
function shape({ hubs }: RivalTicks): readonly (readonly number[])[] {
  return hubs.orchestrations.map(({ input }) =>
    input.kind === 'batch' ? input.activities.map(({ claims }) => claims.length) : [],
  );
}

describe('claims that are acquired together', () => {
  it('are handed over in one orchestration, whose activities have as many each', async () => {
    const sim = together(20);
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(shape(sim)).toEqual([[7, 7, 6]]);
    expect(sim.calls.map(({ job }) => job).toSorted()).toEqual(named(20));
    expect(new Set(sim.calls.map(({ at }) => at - DUE))).toEqual(new Set([0]));
  });

  it('need at most 3 calls of Durable and 0.3 executions a run, if 300 are due at once', async () => {
    const sim = together(300);
    await sim.clock.advanceTo(DUE + MINUTE);
    const { orchestrations, activities, turns } = sim.hubs;
    expect(new Set(sim.calls.map(({ job }) => job)).size).toBe(300);
    expect(sim.calls).toHaveLength(300);
    const calls = durableCalls({ orchestrations: orchestrations.length, activities: activities.length, turns });
    expect((calls.queue + calls.table) / 300).toBeLessThanOrEqual(3);
    expect((activities.length + turns) / 300).toBeLessThanOrEqual(0.3);
    // One result for each activity.
    expect(Math.max(...shape(sim).map((parts) => parts.length))).toBe(4);
  });

  it('go one by one to activities where one handler runs at once', async () => {
    const sim = together(6, { maxConcurrentRuns: 1 });
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(shape(sim)).toEqual([
      [1, 1, 1, 1],
      [1, 1],
    ]);
  });

  it('have no more text than a message of Durable may have', async () => {
    const name = (index: number): string => `job-${String(index)}-${'x'.repeat(50)}`;
    const jobs = Array.from({ length: 32 }, (_, index) => jobSpec(name(index), '* * * * *'));
    const sim = rivalTicks({ jobs, latencyMs: 10 });
    await sim.clock.advanceTo(T0 + 30 * MINUTE);
    const batches = sim.hubs.orchestrations.flatMap(({ input }) => (input.kind === 'batch' ? [input] : []));
    const largest = Math.max(...batches.map((input) => JSON.stringify(input).length));
    expect(2 * largest).toBeLessThan(60 * 1024);
    expect(batches.some(({ activities }) => activities.length >= 3)).toBe(true);
  });
});

describe('a claim that is acquired alone', () => {
  it('has an orchestration of its own, which is named after its run', async () => {
    const sim = together(1);
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(sim.hubs.orchestrations).toMatchObject([
      { id: expect.stringMatching(/^job-000-20260101T000100Z-[0-9a-f]{8}$/) as string, input: { kind: 'handedOver' } },
    ]);
    const { activities, turns } = sim.hubs;
    expect(durableCalls({ orchestrations: 1, activities: activities.length, turns })).toEqual({ queue: 12, table: 11 });
  });

  it('does not wait for one that storage does not answer', async () => {
    const sim = together(2);
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    const { store } = on.coordinator;
    Object.assign(on.coordinator, {
      store: new Proxy(store, {
        get: (target, property: keyof typeof store) =>
          property === 'acquire'
            ? async (...given: Parameters<typeof store.acquire>) => {
                if (given[0] === named(2)[1]) await sleep(sim.clock, 3 * SECOND);
                return target.acquire(...given);
              }
            : target[property],
      }),
    });
    await sim.clock.advanceTo(DUE + MINUTE);
    const [first, second] = sim.hubs.orchestrations;
    expect(first?.input.kind).toBe('handedOver');
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(2_500);
    expect(sim.calls).toHaveLength(2);
  });
});

describe('a run of a batch', () => {
  it('is tried again in an orchestration of its own, while another one of its activity still runs', async () => {
    const sim: RivalTicks = together(3, {
      handler: async ({ job, attempt }) => {
        if (job === 'job-000') await sleep(sim.clock, 5 * MINUTE);
        if (job === 'job-001' && attempt === 1) throw new Error('once');
      },
    });
    await sim.clock.advanceTo(DUE + 10 * MINUTE);
    expect(shape(sim)).toEqual([[3], []]);
    const [, second] = sim.hubs.orchestrations;
    expect(second).toMatchObject({
      id: expect.stringMatching(/^job-001-20260101T000100Z-/) as string,
      input: { kind: 'continued', result: { kind: 'again' } },
    });
    const again = sim.calls.filter(({ job }) => job === 'job-001').map(({ at }) => at - DUE);
    expect(again[0]).toBe(0);
    expect(again[1]).toBeLessThan(3 * SECOND);
    expect(again).toHaveLength(2);
    for (const job of named(3)) expect((await sim.records(job)).map(({ outcome }) => outcome)).toEqual(['succeeded']);
  });

  it('is continued by a tick if its orchestration cannot be started', async () => {
    const sim: RivalTicks = together(3, {
      handler: ({ job, attempt }) => {
        const [on] = sim.instances;
        if (on !== undefined) on.hubDead = job === 'job-001' && attempt === 1;
        if (job === 'job-001' && attempt === 1) throw new Error('once');
      },
    });
    await sim.clock.advanceTo(DUE + 20 * SECOND);
    for (const on of sim.instances) on.hubDead = false;
    await sim.clock.advanceTo(DUE + 5 * MINUTE);
    for (const job of named(3)) expect((await sim.records(job)).map(({ outcome }) => outcome)).toEqual(['succeeded']);
  });

  it('that was killed with the others is taken over by its own lease', async () => {
    const sim: RivalTicks = together(12, { handler: () => sleep(sim.clock, 10 * SECOND) });
    const second = sim.startInstance('d1');
    second.timerStopped = true;
    await sim.clock.advanceTo(DUE + 2 * SECOND);
    sim.instances[0]?.kill();
    second.timerStopped = false;
    await sim.clock.advanceTo(DUE + 5 * MINUTE);
    for (const job of named(12)) {
      const [record, ...others] = await sim.records(job);
      expect(record?.outcome).toBe('succeeded');
      expect(others).toEqual([]);
    }
    const tries = named(12).map((job) => sim.calls.filter((call) => call.job === job).length);
    expect(new Set(tries)).toEqual(new Set([1, 2]));
  });

  it('is claimed once, if its activity is delivered twice', async () => {
    const sim = together(5);
    await sim.clock.advanceTo(DUE + MINUTE);
    const [delivered] = sim.hubs.activities;
    const [on] = sim.instances;
    if (delivered?.kind !== 'together' || on === undefined) throw new Error('no batch');
    const again = runTogether(delivered, () => on, { start: async () => undefined });
    await sim.clock.advance(MINUTE);
    expect(await again).toEqual(Array(5).fill('lost'));
    expect(sim.calls).toHaveLength(5);
  });

  it('fails alone, if its claim is poisoned', async () => {
    const sim = together(3);
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    on.hubLateMs = (input) => (input.kind === 'probe' ? 5 : 60 * MINUTE);
    await sim.clock.advanceTo(DUE - 3 * SECOND);
    const [batch] = sim.hubs.orchestrations.map(({ input }) => input as Batch);
    const claims = batch?.activities[0]?.claims ?? [];
    const poisoned = claims.map((claim, index): HandedOver => (index === 1 ? { ...claim, row: '{' } : claim));
    const answer = runTogether({ kind: 'together', claims: poisoned }, () => on, { start: async () => undefined });
    await sim.clock.advance(MINUTE);
    expect(await answer).toEqual(['succeeded', 'failed', 'succeeded']);
    expect(sim.trouble.some((line) => line.startsWith('job "job-001": its attempt failed:'))).toBe(true);
  });

  it('has its end while another one of its activity still runs', async () => {
    const sim: RivalTicks = together(2, {
      handler: async ({ job }) => {
        if (job === 'job-000') await sleep(sim.clock, 5 * MINUTE);
        else throw new NonRetryableError('no');
      },
    });
    await sim.clock.advanceTo(DUE + SECOND);
    expect((await sim.records('job-001')).map(({ outcome }) => outcome)).toEqual(['failed']);
    expect((await listedRow(sim, 'job-001' as JobName)).lease).toBe('available');
  });
});
