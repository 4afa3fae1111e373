import { describe, expect, it } from 'vitest';
import { calibration } from '../support/cpu';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

describe('10,000 jobs of which nothing is due', () => {
  it('cost a tick less CPU than writing and reading them as JSON three times', { timeout: 60_000 }, async () => {
    const jobs = Array.from({ length: 10_000 }, (_, index) => jobSpec(`job-${String(index)}`, '0 12 * * *'));
    const sim = rivalTicks({ jobs, sweepIntervalMs: 600_000 });
    await sim.clock.advance(60_000);
    const [instance] = sim.instances;
    instance?.calls.clear();
    const before = process.cpuUsage();
    const ticks = 8;
    await sim.clock.advance(ticks * 15_000);
    const { user, system } = process.cpuUsage(before);
    expect(instance?.calls.size).toBe(0);
    const once = calibration();
    const each = (user + system) / 1000 / ticks;
    console.log(`a tick over 10,000 idle jobs: ${each.toFixed(2)} ms of CPU; as JSON once: ${once.toFixed(2)} ms`);
    expect(each / once).toBeLessThan(3);
  });
});

describe('a sweep of rows that are as they were', () => {
  it('reads no metadata: their ETags show it', async () => {
    const jobs = Array.from({ length: 50 }, (_, index) => jobSpec(`job-${String(index)}`, '0 12 * * *'));
    const sim = rivalTicks({ jobs, sweepIntervalMs: 60_000 });
    const store = sim.instances[0]?.coordinator.store;
    if (store === undefined) throw new Error('no instance');
    let read = 0;
    const list = store.list.bind(store);
    Object.assign(store, {
      list: async (...options: Parameters<typeof list>) => {
        const listing = await list(...options);
        const watched = [...listing.jobs].map(([name, job]) => {
          if (job.row === undefined) return [name, job] as const;
          const { metadata, ...rest } = job.row;
          const row = {
            ...rest,
            get metadata() {
              read += 1;
              return metadata;
            },
          };
          return [name, { ...job, row }] as const;
        });
        return { ...listing, jobs: new Map(watched) };
      },
    });
    await sim.clock.advance(150_000);
    expect(read).toBeGreaterThanOrEqual(50);
    read = 0;
    const listings = sim.instances[0]?.calls.get('list') ?? 0;
    await sim.clock.advance(300_000);
    expect((sim.instances[0]?.calls.get('list') ?? 0) - listings).toBeGreaterThanOrEqual(4);
    expect(read).toBe(0);
  });
});
