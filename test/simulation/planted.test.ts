import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { PlantingError, plantedSources } from './search/bundle';
import { PLANTED, plantedBy } from './faults/planted';
import type { Caught } from './search/search';
import { catchPlanted, explainIn, WITHIN, withWorker } from './search/search';

const ROOT = path.join(__dirname, '../..');

describe('a planted fault', () => {
  let results: ReadonlyMap<string, Caught>;

  beforeAll(async () => {
    const all = await catchPlanted(ROOT, () => undefined);
    results = new Map(all.map((caught) => [caught.planted.name, caught]));
  }, 900_000);

  it.each(PLANTED)(`is caught within ${String(WITHIN)} histories: $what`, ({ name }) => {
    const { failure, refused } = results.get(name) ?? {};
    if (refused !== undefined) throw refused;
    expect(failure?.violations[0]?.text).toBeDefined();
  });

  it('needs the rule to be where it was', () => {
    const moved = { name: 'moved', what: '', edits: [{ file: 'core/key.ts', from: 'no such text', to: '' }] };
    expect(() => plantedSources(ROOT, moved)).toThrow(PlantingError);
    const twice = { name: 'twice', what: '', edits: [{ file: 'core/key.ts', from: 'export', to: '' }] };
    expect(() => plantedSources(ROOT, twice)).toThrow(/times, not once/);
  });

  it('is told by a history that is much smaller than the one that showed it', { timeout: 300_000 }, async () => {
    const name = 'monotonic-only';
    const seed = results.get(name)?.failure?.seed ?? 0;
    const { failures, text, shrunk } = await withWorker(ROOT, plantedBy(name), (bundle) =>
      explainIn(bundle, { seed, mix: 'plain', planted: name }),
    );
    expect(failures).toHaveLength(1);
    expect(shrunk?.stillFails).toBe(true);
    expect(shrunk?.from).toBeGreaterThan(20);
    expect(shrunk?.to).toBeLessThan((shrunk?.from ?? 0) / 2);
    expect(text).toContain(`npm run soak -- --seed ${String(seed)} --plant ${name}`);
    expect(text).toContain('!!!');
  });
});
