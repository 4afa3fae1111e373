import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';
import type { AttemptResult } from '../../../src/coordinator/message';
import { runAttempt } from '../../../src/coordinator/attempt';
import { packRow } from '../../../src/coordinator/message';

// retry.attempts has no upper limit, and each earlier attempt travels with the orchestration with a message of up to
// 8 KB (only stacks are cut): the message to the n-th attempt has n × 8 KB, its history the square of that.
it('what travels to the next attempt stays small', async () => {
  const retry = { attempts: 500, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' as const };
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { retry })],
    handler: () => {
      throw new Error('x'.repeat(8_000));
    },
  });
  const on = sim.instances[0]!;
  await sim.clock.advance(3_600_000 + 500);
  on.coordinator.stopping = true;
  await sim.clock.advance(20_000);
  on.coordinator.stopping = false;
  let known = '[]';
  for (let n = 0; n < 50; n += 1) {
    const row = await sim.row('a');
    const { jobs } = await sim.store.list({ job: 'a' as never });
    const etag = jobs.get('a' as never)!.row!.etag;
    const attempt = runAttempt(on.coordinator, { kind: 'again', job: 'a', etag, row: packRow(row), known }, on.report);
    await sim.clock.advance(5_000);
    const result: AttemptResult = await attempt;
    if (result.kind !== 'again' || result.next.kind !== 'again') throw new Error(JSON.stringify(result).slice(0, 200));
    known = result.next.known;
  }
  expect(known.length).toBeLessThan(60_000); // after 50 of 500
});
