import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { StoreUnavailableError, type Strays } from '../../src/lease/store';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;

function instanceOf(sim: RivalTicks): Instance {
  const [instance] = sim.instances;
  if (instance === undefined) throw new Error('no instance');
  return instance;
}

/** The reasons that were given, each once. */
function troublesOf({ events }: RivalTicks): readonly (string | undefined)[] {
  return [...new Set(events.filter(({ event }) => event === 'unhealthy').map(({ reason }) => reason))];
}

describe('blobs in the container that cronlease did not write', () => {
  it('are said while they stop other programs from listing, and the jobs go on', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
    const instance = instanceOf(sim);
    let strays: Strays | undefined = { count: 2, names: ['jobs/a/x', 'jobs/evil'], harmful: ['jobs/evil'] };
    interceptStore(instance, 'list', (list) => async (options) => ({
      ...(await list(options)),
      ...(strays && options?.job === undefined && { strays }),
    }));
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(5);
    const said = troublesOf(sim);
    expect(said).toEqual([expect.stringMatching(/^jobs\/evil: .*delete the blob/)]);
    expect(instance.coordinator.health.healthy).toBe(false);

    strays = { count: 1, names: ['jobs/a/x'], harmful: [] };
    await sim.clock.advance(2 * MINUTE);
    expect(sim.events.filter(({ event }) => event === 'healthy')).toHaveLength(1);
    expect(instance.coordinator.health.healthy).toBe(true);
  });

  it.each(['constructor', 'prototype', '__proto__'])('a row with metadata key %s is left alone', async (key) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *'), jobSpec('b', '* * * * *')] });
    interceptStore(instanceOf(sim), 'list', (list) => async (options) => {
      const listing = await list(options);
      const jobs = new Map(listing.jobs);
      const seen = jobs.get('a' as JobName);
      if (seen?.row !== undefined) {
        const metadata = Object.fromEntries([...Object.entries(seen.row.metadata), [key, 'x']]);
        jobs.set('a' as JobName, { ...seen, row: { ...seen.row, metadata } });
      }
      return { ...listing, jobs };
    });
    await sim.clock.advance(3 * MINUTE);
    expect(new Set(sim.calls.map(({ job }) => job))).toEqual(new Set(['b']));
    expect(troublesOf(sim)).toEqual([expect.stringContaining(`job "a" is left alone: metadata "${key}"`)]);
  });
});

describe('a listing of several pages', () => {
  it('has no say in when a run ended that it showed later', async () => {
    // The run lasts over the due time at :30, and ends within the same second.
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '*/30 * * * * *', { overlap: 'skip' })],
      handler: ({ scheduledFor }) => (scheduledFor.getTime() % MINUTE === 0 ? sleep(sim.clock, 30_600) : undefined),
    });
    // The first page of each listing is 1 s older than the one with the row.
    interceptStore(instanceOf(sim), 'list', (list) => async (options) => {
      const listing = await list(options);
      return { ...listing, date: listing.date - 1000 };
    });
    await sim.clock.advance(5 * MINUTE - 20_000);
    const overlapped = (await sim.records('a')).filter(({ outcome }) => outcome === 'overlapped');
    expect(overlapped.map(({ scheduledFor }) => scheduledFor.slice(17, 19))).toEqual(['30', '30', '30']);
    const first = sim.calls[0]?.scheduledFor;
    expect(sim.calls.filter(({ scheduledFor }) => scheduledFor % MINUTE > 0).map((call) => call.scheduledFor)).toEqual([
      first,
    ]);
  });
});

describe('a listing that takes longer than a tick allows', () => {
  it('is read in parts, and no job waits for it', async () => {
    const names = ['a', 'b', 'c'];
    const sim = rivalTicks({ jobs: names.map((name) => jobSpec(name, '* * * * *')) });
    const instance = instanceOf(sim);
    let junk = true;
    interceptStore(instance, 'list', (list) => async (options) => {
      const listing = await list(options);
      if (!junk || options?.job !== undefined) return listing;
      // One job a part, and 7 s of someone else's blobs before it.
      await sleep(sim.clock, 7_000);
      const index = Number(options?.from ?? 0);
      const jobs = new Map([...listing.jobs].filter(([job]) => job === names[index]));
      const strays: Strays = { count: 5_000, names: [`jobs/junk-${String(index)}`], harmful: [] };
      return { ...listing, jobs, strays, ...(index < 2 && { continuation: String(index + 1) }) };
    });
    await sim.clock.advance(10 * MINUTE + 5_000);
    for (const name of names) {
      const late = sim.calls.filter(({ job }) => job === name).map((call) => call.at - call.scheduledFor);
      expect(late.length, name).toBeGreaterThanOrEqual(8);
      // The first ones, until each job was seen once, apart.
      expect(Math.max(...late.slice(2)), name).toBeLessThanOrEqual(8_000);
    }
    // Said again after some minutes, with a blob of the part that is read then.
    const said = new Set(troublesOf(sim).map((reason) => reason?.replace(/\d$/, 'N')));
    expect([...said]).toEqual([expect.stringMatching(/^one listing of jobs\/ takes longer .*jobs\/junk-N/)]);
    const distinct = new Set(sim.calls.map(({ job, scheduledFor }) => `${job} ${String(scheduledFor)}`));
    expect(distinct.size).toBe(sim.calls.length);

    junk = false;
    await sim.clock.advance(3 * MINUTE);
    expect(instance.coordinator.health.healthy).toBe(true);
  });

  it('is cheaper than a call for each of many jobs that are due', async () => {
    const jobs = Array.from({ length: 300 }, (_, index) => jobSpec(`job-${String(index)}`, '* * * * *'));
    const sim = rivalTicks({ jobs });
    let single = 0;
    interceptStore(instanceOf(sim), 'list', (list) => async (options) => {
      if (options?.job !== undefined) single += 1;
      const listing = await list(options);
      if (options?.job !== undefined) return listing;
      await sleep(sim.clock, 500);
      const isFirst = options?.from === undefined;
      const shown = [...listing.jobs].filter((_, index) => index < 150 === isFirst);
      return { ...listing, jobs: new Map(shown), ...(isFirst && { continuation: 'second' }) };
    });
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2 * jobs.length);
    const distinct = new Set(sim.calls.map(({ job, scheduledFor }) => `${job} ${String(scheduledFor)}`));
    expect(distinct.size).toBe(sim.calls.length);
    expect(single).toBeLessThan(jobs.length);
    expect(troublesOf(sim)).toEqual([]);
  });

  it('begins anew after an error', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
    let errors = 0;
    interceptStore(instanceOf(sim), 'list', (list) => async (options) => {
      if (options?.from !== undefined) {
        errors += 1;
        throw new StoreUnavailableError('400 OutOfRangeInput');
      }
      return { ...(await list(options)), ...(errors === 0 && { continuation: 'gone' }) };
    });
    await sim.clock.advance(3 * MINUTE);
    expect(errors).toBe(1);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2);
  });
});
