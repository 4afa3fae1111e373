import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { createGate } from '../../src/coordinator/gate';
import { Board } from '../../src/coordinator/tick/board';
import { createFirstSight } from '../../src/coordinator/tick/first-sight';
import { StoreUnavailableError } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const T0 = Date.UTC(2026, 0, 1, 0, 0, 5);

const NO_REPORT = { event: () => undefined, log: () => undefined };

const nameOf = (index: number): string => `new-${String(index).padStart(5, '0')}`;

/** @param frequent the schedule of one in a hundred; the others are not due for months */
function newJobs(count: number, frequent = '@yearly'): ReturnType<typeof jobSpec>[] {
  return Array.from({ length: count }, (_, index) => {
    const schedule = index % 100 === 0 ? frequent : '@yearly';
    return { ...jobSpec(nameOf(index), schedule), catchUp: 'all' as const };
  });
}

/** Numbers in [0, 1) that look random, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function callsOf(sim: RivalTicks, kind: string): number {
  return sim.instances.reduce((sum, { calls }) => sum + (calls.get(kind) ?? 0), 0);
}

async function rows(sim: RivalTicks): Promise<number> {
  return [...(await sim.store.list()).jobs.values()].filter(({ row }) => row !== undefined).length;
}

/** The due times of a job that have a record or were handed to a handler. */
async function decided(sim: RivalTicks, job: JobName, every: number): Promise<Set<number>> {
  const ran = sim.calls.filter((call) => call.job === job).map(({ scheduledFor }) => scheduledFor);
  const recorded = (await sim.records(job)).flatMap((record) => {
    const from = Date.parse(record.scheduledFor);
    const through = record.through === undefined ? from : Date.parse(record.through);
    return Array.from({ length: (through - from) / every + 1 }, (_, index) => from + index * every);
  });
  return new Set([...ran, ...recorded]);
}

describe('the first sight of many new jobs', () => {
  it('is shared: several instances create each row about once', { timeout: 60_000 }, async () => {
    const jobs = newJobs(2_000);
    const sim = rivalTicks({ jobs, deployments: 3, start: T0, latencyMs: 50, random: numbers(7) });
    await sim.clock.advance(90_000);
    expect(await rows(sim)).toBe(jobs.length);
    expect(callsOf(sim, 'createRow') / jobs.length).toBeLessThan(1.5);
    // The listings of three sweeps, and those that show the rows of others.
    expect(callsOf(sim, 'list')).toBeLessThan(30);
  });

  it('costs one instance a call for each job, and no second listing', async () => {
    const sim = rivalTicks({ jobs: newJobs(300), start: T0, latencyMs: 50 });
    await sim.clock.advance(30_000);
    expect(callsOf(sim, 'createRow')).toBe(300);
    expect(callsOf(sim, 'list')).toBe(1);
  });

  it('does not hold up a job that was seen before, and lasts as many ticks as it needs', async () => {
    const old = jobSpec('old', '@every 5s');
    const sim = rivalTicks({ jobs: [old], start: T0, latencyMs: 300 });
    await sim.clock.advance(60_000);
    const drained = sim.instances[0]?.drain();
    await sim.clock.advance(5_000);
    await drained;
    const begun = sim.clock.now();
    const next = sim.startInstance('d1', { jobs: [old, ...newJobs(2_500)] });
    await sim.clock.advance(20_000);
    const since = sim.clock.now();
    await sim.clock.advance(40_000);
    const late = sim.calls
      .filter(({ scheduledFor }) => scheduledFor > since)
      .map(({ at, scheduledFor }) => at - scheduledFor);
    expect(late.length).toBeGreaterThanOrEqual(7);
    expect(Math.max(...late)).toBeLessThan(2_000);
    expect(await rows(sim)).toBeGreaterThan(800);
    expect(await rows(sim)).toBeLessThan(2_501);
    expect(next.ticks()).toBeGreaterThanOrEqual(3);
    await sim.clock.advance(100_000);
    expect(await rows(sim)).toBe(2_501);
    expect(sim.clock.now() - begun).toBeLessThan(180_000);
  });

  it('has its share of the time, though checks of known jobs take all of it', async () => {
    const jobs = newJobs(200);
    const { clock, instances } = rivalTicks({ jobs, start: T0, latencyMs: 100, timersDead: true });
    const coordinator = instances[0]?.coordinator;
    if (coordinator === undefined) throw new Error('no instance');
    const state = { coordinator, board: new Board(jobs.map(({ name }) => name)), gate: createGate(32) };
    const firstSight = createFirstSight(state);
    const created = (): number => instances[0]?.calls.get('createRow') ?? 0;
    firstSight.lacking({ date: clock.now(), jobs: new Map() });
    for (let turn = 1; turn <= 3; turn += 1) {
      await clock.advance(1_500);
      const slice = firstSight.createSome(0, NO_REPORT);
      await clock.advance(1_000);
      await slice;
      // Half a second: five calls, two for each row, 16 side by side. Without a share it would be one.
      expect(created() / turn).toBeGreaterThanOrEqual(16 * 2);
      expect(created() / turn).toBeLessThanOrEqual(16 * 3);
    }
  });

  it('loses no due time that comes while rows are still missing', { timeout: 60_000 }, async () => {
    const jobs = newJobs(1_600, '@every 10s');
    const sim = rivalTicks({ jobs, start: T0, latencyMs: 300 });
    await sim.clock.advance(5_400);
    const listed = sim.clock.now();
    await sim.clock.advance(25_000);
    const early = await rows(sim);
    expect(early).toBeGreaterThan(100);
    expect(early).toBeLessThan(jobs.length);
    const frequent = jobs.filter(({ schedule }) => schedule === '@every 10s').map(({ name }) => name);
    const listedRows = (await sim.store.list()).jobs;
    expect(frequent.some((name) => listedRows.get(name)?.row === undefined)).toBe(true);
    await sim.clock.advance(120_000);
    const due = Array.from({ length: 10 }, (_, index) => Math.ceil(listed / 10_000) * 10_000 + index * 10_000);
    for (const name of frequent) {
      const known = await decided(sim, name, 10_000);
      for (const time of due) expect(known.has(time), `${name} at ${new Date(time).toISOString()}`).toBe(true);
    }
    for (const { name } of jobs) expect((await sim.row(name)).scheduleSince).toBeLessThanOrEqual(listed);
  });

  it('is finished by another instance when one dies, also the jobs that only the dead one knew', async () => {
    const jobs = newJobs(600, '@every 30s');
    const sim = rivalTicks({ jobs, deployments: 2, start: T0, latencyMs: 100, random: numbers(3) });
    await sim.clock.advance(7_000);
    expect(await rows(sim)).toBeLessThan(jobs.length);
    sim.instances[0]?.kill();
    await sim.clock.advance(150_000);
    expect(await rows(sim)).toBe(jobs.length);
    const ran = new Set(sim.calls.map(({ job }) => job));
    expect(ran.size).toBe(6);
  });

  it('continues after calls without an answer, some of which took effect', async () => {
    const jobs = newJobs(200);
    const sim = rivalTicks({ jobs, start: T0, latencyMs: 20 });
    const store = sim.instances[0]?.coordinator.store;
    if (store === undefined) throw new Error('no instance');
    const create = store.createRow.bind(store);
    let count = 0;
    Object.assign(store, {
      createRow: async (...call: Parameters<typeof create>) => {
        count += 1;
        if (count % 10 === 0) throw new StoreUnavailableError('lost before it took effect');
        const answer = await create(...call);
        if (count % 7 === 0) throw new StoreUnavailableError('its answer was lost');
        return answer;
      },
    });
    await sim.clock.advance(100_000);
    expect(await rows(sim)).toBe(jobs.length);
  });

  it('runs a new leader job, an `@at` that is overdue, and a request that waited for the row, at once', async () => {
    const jobs = [
      jobSpec('always', '@always'),
      jobSpec('late', '@at 2025-12-31T23:59:50Z'),
      jobSpec('manual', '@manual'),
      jobSpec('other', '@yearly'),
    ];
    const sim = rivalTicks({ jobs, start: T0 });
    await sim.control('manual', (control) => ({
      ...control,
      manualRuns: [{ number: 1, id: 'abcdefgh', time: T0 }],
    }));
    await sim.clock.advance(15_000);
    expect(new Set(sim.calls.map(({ job }) => job))).toEqual(new Set(['always', 'late', 'manual']));
  });
});
