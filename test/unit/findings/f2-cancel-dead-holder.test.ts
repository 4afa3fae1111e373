import { expect, it } from 'vitest';
import type { JobName } from '../../../src/core/brand';
import { cancelRun } from '../../../src/operator/cancel';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

it('a run whose holder died and that an operator cancelled is not given to its handler again', async () => {
  let hang = true;
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly')],
    deployments: 1,
    handler: () => (hang ? new Promise(() => undefined) : 'done'),
  });
  await sim.clock.advance(60 * 60_000 + 5_000);
  expect(sim.calls).toHaveLength(1);
  sim.instances[0]!.kill();
  hang = false;
  await sim.clock.advance(60_000); // the lease has run out
  const answer = await cancelRun(sim.store, { name: 'a' as JobName });
  expect(answer.endedBy).toBe('tick'); // "the run waits, and the next tick ends it"
  sim.startInstance('d2');
  await sim.clock.advance(3 * 60_000);
  expect((await sim.records('a')).map(({ outcome, reason }) => [outcome, reason])).toEqual([['cancelled', 'cancelRequested']]);
  expect(sim.calls).toHaveLength(1);
});
