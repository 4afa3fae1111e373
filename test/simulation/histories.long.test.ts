import { describe, expect, it } from 'vitest';
import { everydayHistories, failuresOf, longHistories, PLAYED_MIXES } from './share';

describe('every further history of simulated faults', () => {
  it.each(PLAYED_MIXES)('keeps the promises, in the mix %s', { timeout: 900_000 }, async (mix) => {
    const range = { first: 1 + everydayHistories(mix), histories: longHistories(mix) };
    expect(await failuresOf(mix, range)).toEqual([]);
  });
});
