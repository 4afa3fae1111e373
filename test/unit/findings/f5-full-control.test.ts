import { expect, it } from 'vitest';
import { encodeControl } from '../../../src/core/control';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// People may fill a control record up to 8 KB (its writers are told `ControlFull`). Then the holder's own pause does
// not fit: StoreLimitError is no StoreError, and the failed run never gets its record.
it('a failed run ends although the control record has no room for its pause', async () => {
  const retry = { attempts: 1, backoffMs: 1000, factor: 1, maxBackoffMs: 1000, jitter: 'none' as const };
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { pauseAfterFailures: 1, retry })],
    handler: () => {
      throw new Error('no');
    },
  });
  const T0 = sim.clock.now();
  await sim.clock.advance(60_000);
  // Pauses as `cronlease pause` writes them, up to the service's limit, over by the time that the job is due.
  await sim.control('a', (control) => {
    let full = control;
    for (let n = 0; ; n += 1) {
      const pause = { by: 'ops', note: 'n'.repeat(n < 36 ? 150 : 1), since: T0 + n * 1000, until: T0 + n * 1000 + 500 };
      const next = { ...full, pauses: [...full.pauses, pause] };
      const bytes = Object.entries(encodeControl(next)).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
      if (bytes > 8192) return full;
      full = next;
    }
  });
  await sim.clock.advance(3 * 3_600_000);
  const records = await sim.records('a');
  expect({ calls: sim.calls.length, ended: records.map(({ state, outcome }) => [state, outcome]) }).toEqual({
    calls: 3, // or 1, if the run pauses the job after all
    ended: [
      ['final', 'failed'],
      ['final', 'failed'],
      ['final', 'failed'],
    ],
  });
});
