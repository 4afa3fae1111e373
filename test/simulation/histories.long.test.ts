import { describe } from 'vitest';
import { PAIRS } from './faults/mixes';
import { everydayHistories, HISTORIES_OF_A_PAIR, longHistories, testHistories } from './share';

describe('every further history of simulated faults', () => {
  testHistories((mix) => ({ first: 1 + everydayHistories(mix), histories: longHistories(mix) }), {
    of: PAIRS,
    histories: HISTORIES_OF_A_PAIR,
  });
});
