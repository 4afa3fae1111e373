import { expect, it } from 'vitest';
import type { JobContext } from '../../../src/coordinator/handler';
import { StoreUnavailableError } from '../../../src/lease/store';
import { jobSpec } from '../../support/job';
import type { Instance } from '../../support/simulation';
import { simulation } from '../../support/simulation';

// A new jobs file raises a job's `lease` from 30s to 60s (no schedule change, so no revision is compared). While the
// deployment is rolled out, the tick of an old instance acquires for 30 s, and an instance with the new file gets the
// attempt. The service renews a lease for its own 30 s; the holder trusts each renewal for 60 s less the margin.
it('at most one execution trusts its lease, also where tick and attempt have different jobs files', async () => {
  const running: { context: JobContext; on: Instance }[] = [];
  const both: string[] = [];
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { leaseMs: 30_000, timeoutMs: 20 * 60_000 })],
    handler: (context, on) => {
      running.push({ context, on });
      return new Promise(() => undefined);
    },
  });
  const old = sim.instances[0]!; // d1, ticks, and gets no attempts any more
  const fresh = sim.startInstance('d1', { jobs: [jobSpec('a', '@hourly', { leaseMs: 60_000, timeoutMs: 20 * 60_000 })] });
  await sim.clock.advance(3_600_000 - 10_000);
  // The probes are through; from now on attempts go to the instance with the new file, and only the old one ticks.
  const { store } = fresh.coordinator;
  let cut = false;
  (fresh.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'renew'
        ? async (...given: Parameters<typeof store.renew>) => {
            if (cut) throw new StoreUnavailableError('cut off');
            return store.renew(...given);
          }
        : Reflect.get(target, property),
  });
  const acquire = store.acquire.bind(store);
  void acquire;
  await sim.clock.advance(10_000 + 1_000);
  if (running[0]?.on !== fresh) throw new Error('the attempt went to the old instance: run with the other order');
  await sim.clock.advance(20_000); // one renewal, 20 s after the claim
  cut = true;
  sim.startInstance('d2', { jobs: [jobSpec('a', '@hourly', { leaseMs: 30_000, timeoutMs: 20 * 60_000 })] });
  void old;
  for (let s = 0; s < 120; s += 1) {
    await sim.clock.advance(1_000);
    const trusting = running.filter(({ context }) => {
      if (context.signal.aborted) return false;
      try {
        context.fence.check();
        return true;
      } catch {
        return false;
      }
    });
    if (trusting.length > 1) both.push(`${String(s)} s after the cut: tokens ${trusting.map(({ context }) => context.fence.token).join(' and ')}`);
  }
  expect(running.length).toBeGreaterThan(1);
  expect(both).toEqual([]);
});
