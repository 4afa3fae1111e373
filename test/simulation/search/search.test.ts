import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PlantingError } from './bundle';
import type { Slice } from './search';
import { catchPlanted, searchSlices, withWorker } from './search';

const ROOT = path.join(__dirname, '../../..');

describe('a fault that is to be planted', () => {
  it.each([
    [
      'in a decision',
      'core/decide/verdict.ts',
      'pause = pauseAt(control, actual)',
      'pause = pauseAt(undefined as never, actual)',
    ],
    ['in an attempt', 'coordinator/settle.ts', '...(passed || waits ?', '...(nobody || waits ?'],
    ['in a hand-over, which is logged', 'coordinator/tick/race.ts', 'row: packRow(row),', 'row: packRow(none),'],
    [
      'as an error of its own',
      'core/decide/unfinished.ts',
      'const cancel = cancelReason(s);',
      "throw new Error('moved');",
    ],
  ])('is refused where it makes the source crash: %s', { timeout: 300_000 }, async (_where, file, from, to) => {
    const crashing = { name: 'crashing', what: '', edits: [{ file, from, to }] };
    const [caught] = await catchPlanted(ROOT, () => undefined, { all: [crashing] });
    expect(caught?.refused).toBeInstanceOf(PlantingError);
    expect(caught?.refused?.message).toContain('"crashing" makes the source crash');
  });
});

describe('a search by slices', () => {
  it('plays them all, and tells of each in its order', { timeout: 300_000 }, async () => {
    const slices: readonly Slice[] = [
      { mix: 'plain', first: 1, histories: 21 },
      { mix: 'kills', first: 7, histories: 1 },
      { mix: 'loss', first: 1, histories: 5 },
    ];
    const waiting = [...slices];
    const played: Slice[] = [];
    const search = (bundle: string) =>
      searchSlices(
        () => bundle,
        () => waiting.shift(),
        (slice) => {
          played.push(slice);
        },
      );
    expect(await withWorker(ROOT, undefined, search)).toBeUndefined();
    expect(played).toEqual(slices);
  });

  it('ends at a failure, and does not count its slice', { timeout: 300_000 }, async () => {
    const edits = [{ file: 'core/decide/unfinished.ts', from: 'const cancel = cancelReason(s);', to: 'throw 1;' }];
    const played: Slice[] = [];
    let asked = 0;
    const failure = await withWorker(ROOT, { name: 'failing', what: '', edits }, (bundle) =>
      searchSlices(
        () => bundle,
        () => {
          asked += 1;
          return { mix: 'kills', first: 1, histories: 40 };
        },
        (slice) => {
          played.push(slice);
        },
      ),
    );
    expect(failure).toMatchObject({ mix: 'kills' });
    expect(played).toEqual([]);
    expect(asked).toBeLessThanOrEqual(2);
  });
});
