import { describe, expect, it } from 'vitest';
import { PLANTED } from './faults/planted';
import { catchPlanted, explainIn, withWorker } from './search/search';
import { LONG_PLANTED, ROOT, testPlanted } from './share';

describe('a planted fault', () => {
  testPlanted(LONG_PLANTED);

  it('is told by a history that is much smaller than the one that showed it', { timeout: 300_000 }, async () => {
    const name = 'monotonic-only';
    const planted = PLANTED.filter((one) => one.name === name);
    const [caught] = await catchPlanted(ROOT, () => undefined, { all: planted });
    const seed = caught?.failure?.seed ?? 0;
    const { failures, text, shrunk } = await withWorker(ROOT, planted[0], (bundle) =>
      explainIn(bundle, { seed, mix: 'plain', planted: name }),
    );
    expect(failures).toHaveLength(1);
    expect(shrunk?.stillFails).toBe(true);
    expect(shrunk?.from).toBeGreaterThan(10);
    expect(shrunk?.to).toBeLessThan((shrunk?.from ?? 0) / 2);
    expect(text).toContain(`npm run soak -- --seed ${String(seed)} --plant ${name}`);
    expect(text).toContain('!!!');
  });
});
