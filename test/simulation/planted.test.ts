import { describe, expect, it } from 'vitest';
import { PLANTED } from './faults/planted';
import { PlantingError, plantedSources } from './search/bundle';
import { EVERYDAY_PLANTED, ROOT, testPlanted } from './share';

describe('a planted fault', () => {
  testPlanted(EVERYDAY_PLANTED);

  it.each(PLANTED)('has its rule in one place: $name', (planted) => {
    expect(plantedSources(ROOT, planted).size).toBeGreaterThan(0);
  });

  it('needs the rule to be where it was', () => {
    const moved = { name: 'moved', what: '', edits: [{ file: 'core/key.ts', from: 'no such text', to: '' }] };
    expect(() => plantedSources(ROOT, moved)).toThrow(PlantingError);
    const twice = { name: 'twice', what: '', edits: [{ file: 'core/key.ts', from: 'export', to: '' }] };
    expect(() => plantedSources(ROOT, twice)).toThrow(/times, not once/);
    const elsewhere = { file: 'core/job.ts', in: 'actualTime', from: 'return Math.max(2000, leaseMs / 10);', to: '' };
    expect(() => plantedSources(ROOT, { name: 'elsewhere', what: '', edits: [elsewhere] })).toThrow(
      /actualTime in src\/core\/job.ts has 0 times/,
    );
  });
});
