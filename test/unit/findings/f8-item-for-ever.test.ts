import { expect, it } from 'vitest';
import { defineFanOut } from '../../../src/coordinator/define-fan-out';
import { runAttempt } from '../../../src/coordinator/attempt';
import { StoreUnavailableError } from '../../../src/lease/store';
import { recordKey } from '../../../src/core/key';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

it('an item is not sent again for ever once the time of the items is over, while storage is away', async () => {
  const sim = simulation({
    jobs: [jobSpec('fan', '@daily')],
    fanOut: { fan: () => defineFanOut({ plan: () => [1], each: () => 1, gather: () => 1 }) },
  });
  const on = sim.instances[0]!;
  const coordinator = {
    ...on.coordinator,
    store: { ...on.coordinator.store, list: async () => { throw new StoreUnavailableError('away'); } } as never,
    stopping: false,
  };
  const until = sim.clock.now() + 60_000;
  await sim.clock.advance(24 * 3_600_000); // a day after their deadline
  const result = await runAttempt(
    coordinator,
    { kind: 'item', job: 'fan', key: recordKey(0), token: 1, until, index: 0, item: '1', attempt: 1 },
    on.report,
  );
  expect(result).toMatchObject({ kind: 'item', state: 'stopped' }); // is: again, every 2 s, each 3 events of history
});
