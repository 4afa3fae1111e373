import { expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const A = 'a' as JobName;

it('a request from before a job became a leader job ends none of its terms', async () => {
  const job = jobSpec('a', '@always', { overlap: 'cancel', leaseMs: 15_000 });
  const sim: RivalTicks = rivalTicks({ jobs: [job], handler: ({ signal }) => sleep(sim.clock, 600_000, signal) });
  const request = { number: 1, id: 'r1', time: sim.clock.now() };
  await sim.control(A, (control) => ({ ...control, manualRuns: [request] }));
  await sim.clock.advance(120_000);
  expect(sim.events.filter(({ event }) => event === 'cancelled')).toEqual([]);
  expect(sim.calls).toHaveLength(1);
  const [on] = sim.instances;
  on?.kill();
  sim.startInstance('d2');
  await sim.clock.advance(120_000);
  expect(sim.events.filter(({ event }) => event === 'cancelled')).toEqual([]);
  expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
});
