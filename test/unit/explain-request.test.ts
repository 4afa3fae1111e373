import { expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import type { LeaseStore } from '../../src/lease/store';
import { explainManualRun, explainTime } from '../../src/operator/views/explain';
import { requestRun } from '../../src/operator/operations/run';
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
  const { requestedAt } = await requestRun(sim, job, { id: 'r1' });
  const outcome = async (): Promise<unknown> => explainManualRun(sim.store, job, 0, { time: requestedAt, id: 'r1' });
  expect(requestedAt % 1000).toBe(0);
  expect(await outcome()).toMatchObject({ outcome: 'pending', reason: 'requested' });
  await sim.clock.advance(90_000);
  expect(await outcome()).toMatchObject({ outcome: 'succeeded', reason: 'completed', record: { trigger: 'manual' } });
});

/** The answers for a request and for a due time whose runs end right after the ledger has given its nth answer. */
async function whileRunsEnd(nth: number): Promise<readonly string[]> {
  const job = jobSpec('a', '0 * * * * *', { overlap: 'queue' });
  const sim = rivalTicks({
    jobs: [job],
    handler: ({ signal }, { coordinator }) => sleep(coordinator.clock, 5_000, signal),
  });
  let answers = 0;
  const ending = (): LeaseStore => {
    answers = 0;
    const endRun = async <T>(answer: Promise<T>): Promise<T> => {
      const value = await answer;
      answers += 1;
      if (answers === nth) await sim.clock.advance(20_000);
      return value;
    };
    return {
      ...sim.store,
      readRecord: async (...args) => endRun(sim.store.readRecord(...args)),
      listRecords: async (...args) => endRun(sim.store.listRecords(...args)),
    };
  };
  const untilRunning = async (calls: number): Promise<void> => {
    while (sim.calls.length < calls) await sim.clock.advance(1_000);
  };

  await untilRunning(1);
  const due = await explainTime(ending(), job, 0, sim.calls[0]?.scheduledFor ?? 0);
  await sim.clock.advance(20_000);
  const { requestedAt } = await requestRun(sim, job, { id: 'r1' });
  await untilRunning(2);
  const requested = await explainManualRun(ending(), job, 0, { time: requestedAt, id: 'r1' });
  return [due.outcome, requested.outcome];
}

it('a run that ends while its answer is read is never said to be not due', async () => {
  for (let nth = 1; nth <= 6; nth += 1) {
    for (const outcome of await whileRunsEnd(nth)) expect(['running', 'succeeded']).toContain(outcome);
  }
});
