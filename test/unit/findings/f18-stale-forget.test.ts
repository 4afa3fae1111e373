import { expect, it } from 'vitest';
import type { JobName } from '../../../src/core/brand';
import { forgetJob } from '../../../src/operator/forget';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// The operator's machine sleeps between the row and the record of `forget --end-run`. Its lease of 15 s runs out, and a
// deployment that still has the job takes the run over with a higher token. Then the machine wakes.
it('a stale `forget --end-run` does not overwrite the open record of a higher token', async () => {
  let finish: (() => void) | undefined;
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly')],
    handler: async ({ attempt }) => {
      if (attempt === 1) return new Promise(() => undefined);
      await new Promise<void>((resolve) => (finish = resolve));
      return 'done';
    },
  });
  await sim.clock.advance(3_600_000 + 5_000);
  sim.instances[0]!.kill();
  await sim.clock.advance(40_000); // the lease has run out
  const store = new Proxy(sim.store, {
    get: (target, property) =>
      property === 'createRecord'
        ? async (...given: Parameters<typeof target.createRecord>) => {
            sim.startInstance('d2');
            await sim.clock.advance(60_000); // asleep
            return target.createRecord(...given);
          }
        : Reflect.get(target, property),
  });
  await forgetJob(
    { store, clock: sim.clock, newId: () => 'ffffffff-0000-4000-8000-000000000000', waiting: () => undefined },
    { job: 'a' as JobName, revision: 1, endRun: true },
  ).catch((error: unknown) => error); // Contended would be right
  expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 3]); // the take-over is at work
  const [during] = await sim.records('a');
  expect([during?.state, during?.token]).toEqual(['open', sim.calls[1]!.token]);
  finish?.();
  await sim.clock.advance(60_000);
  expect((await sim.records('a'))[0]).toMatchObject({ outcome: 'succeeded' });
});
