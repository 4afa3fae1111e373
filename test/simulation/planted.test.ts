import { describe, expect, it } from 'vitest';
import { PLANTED } from './faults/planted';
import { become, call, drop, operator, test } from './faults/edit';
import { PlantingError, plantedSources } from './search/planting';
import { EVERYDAY_PLANTED, ROOT, testPlanted } from './share';

describe('a planted fault', () => {
  testPlanted(EVERYDAY_PLANTED);

  it.each(PLANTED)('has its rule in one place: $name', (planted) => {
    expect(plantedSources(ROOT, planted).size).toBeGreaterThan(0);
  });

  it.each([
    [
      'is no longer in its rule',
      drop('core/key.ts:runIdOf', call('unknown')),
      'src/core/key.ts:runIdOf has 0 times, not once, the call of unknown',
    ],
    [
      'is in another rule',
      drop('core/job.ts:actualTime', call('max')),
      'src/core/job.ts:actualTime has 0 times, not once, the call of max',
    ],
    [
      'is in its rule twice',
      drop('core/decide/unfinished.ts:decideUnfinished', test('phase')),
      'times, not once, the test with phase',
    ],
    [
      'leaves no program',
      drop('core/job.ts:marginOf', call('max')),
      'nothing is left of src/core/job.ts:marginOf without the call of max',
    ],
    [
      'has no two sides',
      operator('core/job.ts:marginOf', call('max'), '<'),
      'the call of max in src/core/job.ts:marginOf has no two sides',
    ],
    [
      'needs a name that its file lacks',
      become('core/job.ts:marginOf', call('max'), 'formerName'),
      '"formerName" is no name in src/core/job.ts',
    ],
  ])('is refused where what it changes %s', (_where, edit, says) => {
    const planting = (): unknown => plantedSources(ROOT, { name: 'moved', what: '', edits: [edit] });
    expect(planting).toThrow(PlantingError);
    expect(planting).toThrow(says);
  });
});
