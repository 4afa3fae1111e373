import { expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T0 = Date.UTC(2026, 0, 1);
const DUE = T0 + MINUTE;

it('shortens a lease that grew only after its holder had lost it, so that its run is taken over soon', async () => {
  const clock = settableClock(T0);
  // No call is lost: each takes effect when storage is back, after the 15 s of the claim's lease.
  const outage = { from: DUE + 4_900, until: DUE + 15_600 };
  const sim = rivalTicks({
    jobs: [jobSpec('close', '* * * * *', { leaseMs: 60 * SECOND, overlap: 'queue' })],
    clock,
    deployments: 2,
    latencyMs: () => (clock.now() >= outage.from && clock.now() < outage.until ? 2 * (outage.until - clock.now()) : 0),
    handler: ({ attempt, signal }) =>
      attempt > 1 ||
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  });

  // The service carries out an acquisition that its caller has given up.
  const acquire: LeaseStore['acquire'] = (name, request) => sim.store.acquire(name, request);
  for (const { coordinator } of sim.instances) Object.assign(coordinator.store, { acquire });

  await clock.advanceTo(DUE + MINUTE - SECOND);

  const [first, second] = sim.calls.filter(({ scheduledFor }) => scheduledFor === DUE);
  expect(first).toMatchObject({ at: DUE, attempt: 1 });
  expect(second).toMatchObject({ attempt: 2, trigger: 'takeOver' });
  // The shortened lease of 15 s, and a tick.
  expect(second?.at).toBeLessThan(outage.until + 15 * SECOND + 15 * SECOND);
  expect(sim.trouble.filter((line) => line.includes('error'))).toEqual([]);
});
