import { describe } from 'vitest';
import { everydayHistories, longHistories, testHistories } from './share';

describe('every further history of simulated faults', () => {
  testHistories((mix) => ({ first: 1 + everydayHistories(mix), histories: longHistories(mix) }));
});
