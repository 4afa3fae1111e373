import { describe } from 'vitest';
import { everydayHistories, HISTORIES_OF_A_PAIR, longHistories, PLAYED_PAIRS, testHistories } from './share';

describe('every further history of simulated faults', () => {
  testHistories((mix) => ({ first: 1 + everydayHistories(mix), histories: longHistories(mix) }), {
    of: PLAYED_PAIRS,
    histories: HISTORIES_OF_A_PAIR,
  });
});
