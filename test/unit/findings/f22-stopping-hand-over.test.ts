import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';
import { drain } from '../../../src/coordinator/drain';

// A shutdown that begins while an attempt's claim is on its way: drain() knows of no attempt, and is over at once, so
// the process may end with the claim made and nothing let go: the run waits for lease + tick, and an attempt is used.
it('drain waits for a claim that is being made', async () => {
  const sim = simulation({ jobs: [jobSpec('a', '@hourly')], latencyMs: 400 });
  const on = sim.instances[0]!;
  const { store } = on.coordinator;
  let drained: number | undefined;
  let claimed = 0;
  (on.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'writeRow'
        ? async (...given: Parameters<typeof store.writeRow>) => {
            if (drained === undefined && claimed === 0) {
              void Promise.resolve()
                .then(() => drain(on.coordinator))
                .then(() => {
                  drained = sim.clock.now();
                  on.kill(); // the process ends with its hook
                });
            }
            const answer = await store.writeRow(...given);
            claimed = sim.clock.now();
            return answer;
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(3_600_000 + 5_000);
  expect((await sim.row('a')).phase).toBe('retrying'); // let go: any tick resumes it at once
});
