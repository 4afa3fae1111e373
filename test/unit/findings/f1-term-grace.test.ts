import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// semantics.md: `grace`: how long a handler may take to obey its signal. Only a shutdown cuts it to 1 s.
it('a leader whose term ends gets its own grace, not the 1 s of a shutdown', async () => {
  const ended: string[] = [];
  const sim = simulation({
    jobs: [jobSpec('lead', '@always', { graceMs: 8_000 })],
    handler: async (context) => {
      if (context.attempt !== 1 || ended.length > 0) await new Promise(() => undefined);
      ended.push('started');
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
      // Winds down for 5 s, within its grace of 8 s, and then writes down where it is.
      const at = sim.clock.now();
      await new Promise<void>((resolve) => sim.clock.after(5_000, resolve));
      try {
        context.fence.check();
        ended.push(`in time after ${String(sim.clock.now() - at)}`);
      } catch (error) {
        ended.push((error as Error).message);
      }
    },
  });
  await sim.clock.advance(31 * 60_000);
  expect(ended).toEqual(['started', 'in time after 5000']);
});
