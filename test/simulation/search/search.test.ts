import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { argument, become, before, call, spread, statement, value } from '../faults/edit';
import { PlantingError } from './planting';
import { type Slice, catchPlanted, searchSlices, withWorker } from './search';

const ROOT = path.join(__dirname, '../../..');

describe('a fault that is to be planted', () => {
  it.each([
    [
      'in a decision',
      become('core/decide/verdict.ts:verdictOn', value('pause'), 'pauseAt(undefined as never, actual)'),
    ],
    ['in an attempt', become('coordinator/settle.ts:newsOf', spread('waits'), '...at.none.such')],
    ['in a hand-over, which is logged', become('coordinator/tick/race.ts:start', argument('packRow', 0), 'undefined')],
    [
      'as an error of its own',
      before('core/decide/unfinished.ts:decideUnfinished', call('cancelReason'), "throw new Error('moved');"),
    ],
  ])('is refused where it makes the source crash: %s', { timeout: 300_000 }, async (_where, edit) => {
    const crashing = { name: 'crashing', what: '', edits: [edit] };
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
    const edits = [become('core/decide/unfinished.ts:decideUnfinished', statement('cancelReason'), 'throw 1;')];
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
