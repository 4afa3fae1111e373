import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { sleep } from '../../src/core/clock';
import { claimLease } from '../../src/core/early-claim';
import { marginOf } from '../../src/core/job';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FIRST_DUE = T0 + 2 * MINUTE;

/** A job with a lease of 30 s is due every two minutes, and its runs take these times, one after the other. */
function running(durations: readonly number[], latencyMs = 0) {
  const sim = rivalTicks({
    latencyMs,
    jobs: [jobSpec('a', '*/2 * * * *', { leaseMs: 30 * SECOND, graceMs: SECOND })],
    start: T0 + 31 * SECOND,
    handler: async (_, { coordinator }) => {
      await sleep(coordinator.clock, durations[sim.calls.length - 1] ?? 0);
    },
  });
  const [on] = sim.instances;
  if (on === undefined) throw new Error('no instance');
  const leases: number[] = [];
  interceptStore(on, 'acquire', (acquire) => (...given) => {
    leases.push(given[1].leaseMs);
    return acquire(...given);
  });
  return { sim, leases };
}

/** The number of storage calls, without those of ticks. */
function callsOf({ instances }: RivalTicks): number {
  const calls = new Map(instances[0]?.calls);
  return [...calls].reduce((sum, [kind, count]) => sum + (kind === 'list' ? 0 : count), 0);
}

describe('the lease of a claim', () => {
  it('costs a run that ends within 5 s of its due time no call', async () => {
    const { sim, leases } = running([0, 4.9 * SECOND]);
    await sim.clock.advanceTo(FIRST_DUE + MINUTE);
    const before = callsOf(sim);
    await sim.clock.advanceTo(FIRST_DUE + 3 * MINUTE);
    expect(sim.calls).toHaveLength(2);
    expect(callsOf(sim) - before).toBe(4);
    expect(leases.every((leaseMs) => leaseMs < 21 * SECOND)).toBe(true);
  });

  it("costs one that lasts a call for the job's own length and a read of its control, and then thirds of that", async () => {
    const { sim, leases } = running([0, 6 * SECOND]);
    await sim.clock.advanceTo(FIRST_DUE + MINUTE);
    const before = callsOf(sim);
    leases.length = 0;
    await sim.clock.advanceTo(FIRST_DUE + 3 * MINUTE);
    expect(callsOf(sim) - before).toBe(4 + 2);
    expect(leases).toEqual([expect.any(Number), 30 * SECOND]);
    expect(leases[0]).toBeLessThan(21 * SECOND);
  });

  it("has the job's own length at once, if the last run lasted, until one is short again", async () => {
    const { sim, leases } = running([0, 6 * SECOND, 4 * SECOND, 0, 0]);
    await sim.clock.advanceTo(FIRST_DUE + 3 * MINUTE);
    const before = callsOf(sim);
    leases.length = 0;
    await sim.clock.advanceTo(FIRST_DUE + 5 * MINUTE);
    expect(leases).toEqual([30 * SECOND]);
    expect(callsOf(sim) - before).toBe(4);
    leases.length = 0;
    await sim.clock.advanceTo(FIRST_DUE + 9 * MINUTE);
    expect(leases.at(-1)).toBeLessThan(21 * SECOND);
  });

  it("has the job's own length at once where storage is slow, from the first claim on", async () => {
    const { sim, leases } = running([0, 0], 1_200);
    await sim.clock.advanceTo(FIRST_DUE + 3 * MINUTE);
    expect(sim.calls).toHaveLength(2);
    expect(leases).toEqual([30 * SECOND, 30 * SECOND]);
  });

  it('is no longer than that of the job, unless the claim waits, and leaves the grace of its handler', () => {
    const durations = fc.record({
      leaseMs: fc.integer({ min: 15, max: 60 }).map((seconds) => seconds * SECOND),
      share: fc.double({ min: 0, max: 0.99, noNaN: true }),
      aheadMs: fc.integer({ min: -MINUTE, max: 5 * SECOND }),
    });
    fc.assert(
      fc.property(durations, ({ leaseMs, share, aheadMs }) => {
        const graceMs = share * ((leaseMs * 2) / 3 - marginOf(leaseMs));
        const length = claimLease({ leaseMs, graceMs }, { recent: [], past: [] }, aheadMs);
        expect(length % SECOND).toBe(0);
        expect(length).toBeGreaterThanOrEqual(15 * SECOND);
        expect(length).toBeLessThanOrEqual(leaseMs);
        expect((length * 2) / 3 - marginOf(length)).toBeGreaterThan(graceMs);
      }),
    );
  });
});
