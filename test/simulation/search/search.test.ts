import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PlantingError } from './bundle';
import { catchPlanted } from './search';

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
    const [caught] = await catchPlanted(ROOT, () => undefined, [crashing]);
    expect(caught?.refused).toBeInstanceOf(PlantingError);
    expect(caught?.refused?.message).toContain('"crashing" makes the source crash');
  });
});
