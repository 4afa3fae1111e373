import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// The clock is set back by an hour while the attempt waits for its due time. The next listing corrects the time, but
// the attempt has gone to sleep for an hour, keeps its lease all the while, and its timeout has not begun.
it('a clock that is set back while an attempt is held back does not hold it for that long', async () => {
  const sim = simulation({ jobs: [jobSpec('a', '@hourly')] });
  await sim.clock.advance(3_600_000 - 3_000);
  expect((await sim.row('a')).phase).toBe('running'); // claimed ahead
  sim.instances[0]!.skewMs = -3_600_000;
  await sim.clock.advance(5 * 60_000);
  expect(Math.abs(sim.instances[0]!.coordinator.serviceTime.now() - sim.clock.now())).toBeLessThan(2_000);
  expect(sim.calls.map(({ at }) => at - Date.UTC(2026, 0, 1, 1)).every((late) => late < 60_000)).toBe(true);
  expect(sim.calls).toHaveLength(1);
});
