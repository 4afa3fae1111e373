import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';
import { runAttempt } from '../../../src/coordinator/attempt';
import type { AttemptInput } from '../../../src/coordinator/message';
import { packRow } from '../../../src/coordinator/message';

// Durable's timer goes by the host's clock, not-before by the service's: on a host that is a minute ahead (and knows
// it) the timer fires a minute early, and the attempt waits for a second of it.
it('a retry is not begun before its not-before time on a host whose clock is known to be ahead', async () => {
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { retry: { attempts: 3, backoffMs: 120_000, factor: 1, maxBackoffMs: 120_000, jitter: 'none' } })],
    handler: () => {
      throw new Error('no');
    },
  });
  const on = sim.instances[0]!;
  on.skewMs = 60_000;
  await sim.clock.advance(3_600_000 + 2_000);
  expect(on.coordinator.serviceTime.skewMs).toBeGreaterThan(50_000);
  const row = await sim.row('a');
  expect(row.phase).toBe('retrying');
  const { jobs } = await sim.store.list({ job: 'a' as never });
  // The durable timer on the host's clock fires 60 s early.
  await sim.clock.advance(row.notBefore! - 60_000 - sim.clock.now());
  const input: AttemptInput = { kind: 'again', job: 'a', etag: jobs.get('a' as never)!.row!.etag, row: packRow(row), known: '[]' };
  void runAttempt(on.coordinator, input, on.report);
  await sim.clock.advance(30_000);
  expect(sim.calls.filter(({ attempt }) => attempt === 2).map(({ at }) => at - row.notBefore!)).toEqual([]);
});
