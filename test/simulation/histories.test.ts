import { describe, expect, it } from 'vitest';
import { runHistory } from './search/history';
import { planOf } from './faults/mixes';
import { EVERYDAY_PAIRS, everydayHistories, testHistories } from './share';

describe('every history of simulated faults', () => {
  testHistories((mix) => ({ first: 1, histories: everydayHistories(mix) }), { of: EVERYDAY_PAIRS, histories: 1 });

  it('is the same history again for the same seed, and for the faults that struck in it', async () => {
    const plan = planOf(12);
    const once = await runHistory(plan, true);
    expect(once.trace(Infinity).length).toBeGreaterThan(100);
    expect(once.struck.length).toBeGreaterThan(0);
    expect((await runHistory(plan, true)).trace(Infinity)).toEqual(once.trace(Infinity));

    const told = { ...plan, faults: { kind: 'listed', faults: once.struck } } as const;
    expect((await runHistory(told, true)).trace(Infinity)).toEqual(once.trace(Infinity));
  });

  it('is the same whether anybody reads it or not', async () => {
    const [read, unread] = [await runHistory(planOf(9), true), await runHistory(planOf(9))];
    expect(unread.counts).toEqual(read.counts);
    expect(unread.trace(Infinity)).toEqual([]);
  });
});
