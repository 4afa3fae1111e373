import { expect, it } from 'vitest';
import { decide } from '../../../src/core/decide';
import { NO_CONTROL } from '../../../src/core/control';
import { decodeRow } from '../../../src/core/row';
import type { JobName, LeaseId } from '../../../src/core/brand';
import { runAttempt } from '../../../src/coordinator/attempt';
import { handOver } from '../../../src/coordinator/claim';
import type { AttemptInput } from '../../../src/coordinator/message';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// The default lease is 30 s: margin 3 s. Hand-overs of up to 20 s are what `validate` itself reckons with (HAND_OVER),
// and maxQueuePollingInterval is 30 s by default. First trust: 30 - age - 1 - 3; first renewal: 10 s after the claim.
it.each([2_000, 10_000, 15_000, 17_000, 20_000, 23_000])('an attempt whose hand-over took %i ms keeps its lease', async (handOverMs) => {
  const spec = jobSpec('a', '@hourly', { leaseMs: 30_000 });
  const sim = simulation({
    jobs: [spec],
    handler: async () => {
      await new Promise<void>((resolve) => sim.clock.after(60_000, resolve)); // one minute of work
    },
  });
  await sim.clock.advance(20_000); // the row is made
  const on = sim.instances[0]!;
  const listing = await sim.store.list({ job: 'a' as JobName });
  const seen = listing.jobs.get('a' as JobName)!.row!;
  const now = Date.UTC(2026, 0, 1, 1, 0, 2);
  on.coordinator.stopping = true; // no tick of its own
  await sim.clock.advance(now - sim.clock.now());
  on.coordinator.stopping = false;
  const decision = decide({
    job: spec, revision: 0, row: decodeRow(seen.metadata), lease: 'available', control: NO_CONTROL,
    listedAt: now, now, record: 'unread', lookAheadMs: 5_000, sweepIntervalMs: 60_000,
  });
  if (decision.kind !== 'claim') throw new Error(decision.kind);
  let input: AttemptInput | undefined;
  const hub = { start: async (_id: string, given: AttemptInput) => void (input = given), status: async () => 'completed' as const, purge: async () => undefined };
  const job = on.coordinator.jobs.get('a' as JobName)!;
  await handOver(on.coordinator, hub, job, { claim: decision.claim, etag: seen.etag, lease: 'available', leaseId: on.coordinator.newId() as LeaseId });
  await sim.clock.advance(handOverMs); // the queue
  const attempt = runAttempt(on.coordinator, input!, on.report);
  await sim.clock.advance(90_000);
  expect(await attempt).toMatchObject({ kind: 'ended', record: { outcome: 'succeeded' } });
});
