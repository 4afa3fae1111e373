import { expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

it('a run whose handler is over renews its lease, and reads no control any more', async () => {
  let isOver = false;
  const sim = rivalTicks({
    jobs: [jobSpec('a', '* * * * *', { leaseMs: 15_000 })],
    latencyMs: (call) => (isOver && (call === 'writeRow' || call === 'createRecord') ? 4_500 : 0),
    handler: () => {
      isOver = true;
      throw new NonRetryableError('down');
    },
  });
  await sim.clock.advance(90_000);
  expect((await sim.records('a')).map(({ outcome }) => outcome)).toEqual(['failed']);
  const calls = sim.instances[0]?.calls ?? new Map<string, number>();
  expect(calls.get('renew')).toBeGreaterThan(0);
  expect(calls.get('readControl') ?? 0).toBe(0);
});
