import { expect, it } from 'vitest';
import { defineFanOut } from '../../../src/coordinator/define-fan-out';
import { NonRetryableError } from '../../../src/coordinator/handler';
import { StoreUnavailableError } from '../../../src/lease/store';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

it('failFast starts no more items, also where the answer to the write of the failure was lost', async () => {
  const done: number[] = [];
  const sim = simulation({
    jobs: [jobSpec('fan', '@hourly')],
    fanOut: {
      fan: () =>
        defineFanOut({
          concurrency: 1,
          plan: () => [0, 1, 2, 3],
          each: (_context, item) => {
            done.push(item as number);
            if (item === 0) throw new NonRetryableError('no');
            return item;
          },
          gather: () => 1,
        }),
    },
  });
  const on = sim.instances[0]!;
  const { store } = on.coordinator;
  let lost = false;
  (on.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'createPiece'
        ? async (...given: Parameters<typeof store.createPiece>) => {
            const answer = await store.createPiece(...given);
            if (given[2] === 'item-00000' && !lost) {
              lost = true;
              throw new StoreUnavailableError('the answer was lost');
            }
            return answer;
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(62 * 60_000);
  expect((await sim.records('fan')).map(({ outcome, reason }) => [outcome, reason])).toEqual([['failed', 'itemFailed']]);
  expect(done).toEqual([0]);
});
