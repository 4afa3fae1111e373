import { expect, it } from 'vitest';
import { explainRequest } from '../../src/operator/explain';
import { requestRun } from '../../src/operator/request';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

it('a request at the very time of a due time has its own outcome', async () => {
  const job = jobSpec('a', '* * * * * *', {
    overlap: 'queue',
    retry: { ...jobSpec('a', '@hourly').retry, attempts: 1 },
  });
  const sim = rivalTicks({
    jobs: [job],
    handler: ({ trigger }) => {
      if (trigger !== 'manual') throw new Error('only requests succeed');
    },
  });
  await sim.clock.advance(40_000);
  const { requestedAt } = await requestRun(sim.store, job, { id: 'r1' });
  const outcome = async (): Promise<unknown> => explainRequest(sim.store, job, 0, { time: requestedAt, id: 'r1' });
  expect(requestedAt % 1000).toBe(0);
  expect(await outcome()).toMatchObject({ fate: 'pending', reason: 'requested' });
  await sim.clock.advance(90_000);
  expect(await outcome()).toMatchObject({ fate: 'succeeded', reason: 'completed', record: { trigger: 'manual' } });
});
