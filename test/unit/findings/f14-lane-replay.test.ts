import { expect, it } from 'vitest';
import { orchestrateItems } from '../../../src/functions/orchestrator';

// Durable replays the generator from the start with each answer. What one lane of `concurrency: 1` costs:
it('a lane of 10000 items (maxItems) is worked through with a bounded history', () => {
  const items = Array.from({ length: 10_000 }, (_, index) => ({ index, item: '1' }));
  let actions = 0;
  const play = (answers: number): void => {
    actions = 0;
    const run = orchestrateItems({
      df: { getInput: () => ({ job: 'a', key: 'k', token: 1, until: 1, attempts: 3, items }), callActivity: () => ({}), createTimer: () => ({}) },
    } as never);
    let step = run.next();
    for (let n = 0; n < answers && step.done !== true; n += 1) {
      actions += 1;
      step = run.next({ kind: 'item', state: 'done' } as never);
    }
  };
  const began = performance.now();
  play(10_000);
  const last = performance.now() - began;
  console.log(`one replay with ${String(actions)} answers takes ${last.toFixed(0)} ms; there are 10000 replays`);
  expect(actions).toBeLessThan(1_000); // then continueAsNew
});
