import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const T0 = Date.UTC(2026, 0, 1, 0, 0, 5);
const JOB = jobSpec('billing', '@every 1m');

/** Two instances, and a store whose container can be deleted, with everything in it, as FLUSHALL does. */
function deletable() {
  const sim = rivalTicks({ jobs: [JOB], start: T0, deployments: 2 });
  let isThere = true;
  const made: number[] = [];
  for (const { coordinator } of sim.instances) {
    const { list, prepare } = coordinator.store;
    Object.assign(coordinator.store, {
      list: (options: Parameters<typeof list>[0]) =>
        isThere ? list(options) : Promise.reject(new StoreUnavailableError('no such container', { noContainer: true })),
      prepare: async (options: Parameters<typeof prepare>[0]) => {
        await prepare(options);
        if (!isThere) made.push(sim.clock.now());
        isThere = true;
      },
    });
  }
  const remove = (): void => {
    const { rows, folders } = sim.service.checkpoint();
    const empty = { rows: new Map(), folders: new Map() };
    const kinds = [...folders].filter(([, entries]) => entries.size > 0).map(([name]) => name.split('/')[0]);
    expect([rows.size, kinds]).toEqual([1, ['runs']]);
    sim.service.failOver([empty], () => empty, 'kept');
    isThere = false;
  };
  return { sim, made, remove };
}

describe('a container that was deleted while apps run', () => {
  it('is made again once no lease from before can be trusted, and a warning says what that means', async () => {
    const { sim, made, remove } = deletable();
    await sim.clock.advance(5 * 60_000);
    const before = sim.calls.length;
    const removedAt = sim.clock.now();
    remove();
    await sim.clock.advance(60_000 + 15_000);
    expect(made).toEqual([]);
    await sim.clock.advance(60_000);
    expect(made).toHaveLength(1);
    expect((made[0] ?? 0) - removedAt).toBeGreaterThanOrEqual(75_000);
    await sim.clock.advance(5 * 60_000);
    expect(sim.calls.length - before).toBeGreaterThanOrEqual(4);
    const starts = sim.calls.map(({ scheduledFor }) => scheduledFor);
    expect(new Set(starts).size).toBe(starts.length);
    const said = sim.events.filter(({ event, reason }) => event === 'warning' && reason?.includes('was created again'));
    expect(said.length).toBeGreaterThanOrEqual(1);
    expect(said[0]?.reason).toContain('cronlease recover --after-failover');
  });

  it('is not made again by one whom another has forestalled', async () => {
    const { sim, made, remove } = deletable();
    await sim.clock.advance(60_000);
    remove();
    await sim.clock.advance(40_000);
    await sim.instances[0]?.coordinator.store.prepare();
    await sim.clock.advance(10 * 60_000);
    expect(made).toHaveLength(1);
    expect(sim.events.filter(({ reason }) => reason?.includes('was created again'))).toEqual([]);
  });
});
