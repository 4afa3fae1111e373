import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { MIXES, MIX_NAMES, type MixName, type Mixture, PAIRS } from './faults/mixes';
import { PLANTED, type Planted } from './faults/planted';
import { seedsShown } from './search/caught';
import { describe as inWords, replayLine } from './search/explain';
import { type Caught, WITHIN, catchPlanted, searchHistories, searchSlices, withWorker } from './search/search';
import type { Failure } from './search/worker';

export const ROOT = path.join(__dirname, '../..');

/** The mixes whose histories the tests play. */
const PLAYED_MIXES = MIX_NAMES.filter((mix) => MIXES[mix].share > 0);

/** The number of a mix's histories in `npm test`: a fiftieth. */
export function everydayHistories(mix: MixName): number {
  return Math.ceil(MIXES[mix].share / 50);
}

/** The number of further histories in `npm run test:all`. */
export function longHistories(mix: MixName): number {
  return MIXES[mix].share - everydayHistories(mix);
}

/** The pairs of which `npm test` plays one history: one in 20. */
export const EVERYDAY_PAIRS = PAIRS.filter((_, index) => index % 20 === 0);

/** The number of histories of each pair in `npm run test:all`. Some thousands belong to `npm run soak -- --pairs`. */
export const HISTORIES_OF_A_PAIR = 2;

/** A test for each mix, and one for all these pairs of mixes, which plays these histories of it. A failure is a line with the command that replays it. */
export function testHistories(
  rangeOf: (mix: MixName) => { readonly first: number; readonly histories: number },
  pairs: { readonly of: readonly Mixture[]; readonly histories: number },
): void {
  let bundle: string;

  beforeAll(async () => {
    bundle = await withWorker(ROOT, undefined, (file) => Promise.resolve(file));
  });

  it.each(PLAYED_MIXES)('keeps the promises, in the mix %s', { timeout: 900_000 }, async (mix) => {
    const range = rangeOf(mix);
    const { histories, failures } = await searchHistories(bundle, { mix, ...range, stopAtFirst: false });
    expect(histories).toBe(range.histories);
    expect(failures.map(inOneLine)).toEqual([]);
  });

  it('keeps the promises in pairs of mixes', { timeout: 900_000 }, async () => {
    const waiting = [...pairs.of];
    let played = 0;
    const failure = await searchSlices(
      () => bundle,
      () => {
        const mix = waiting.shift();
        return mix && { mix, first: 1, histories: pairs.histories };
      },
      () => {
        played += 1;
      },
    );
    expect(failure && inOneLine(failure)).toBeUndefined();
    expect(played).toBe(pairs.of.length);
  });
}

function inOneLine(failure: Failure): string {
  return `${replayLine(failure)}  ${inWords(failure.violations)}`;
}

const isEveryday = (_: Planted, index: number): boolean => index % 24 === 0;

/** The faults that `npm test` plants: one in 24. */
export const EVERYDAY_PLANTED = PLANTED.filter(isEveryday);

/** The faults that only `npm run test:all` plants. */
export const LONG_PLANTED = PLANTED.filter((planted, index) => !isEveryday(planted, index));

/** A test for each of these faults. All are planted before the first of them. */
export function testPlanted(all: readonly Planted[]): void {
  let results: ReadonlyMap<string, Caught>;

  beforeAll(async () => {
    const caught = await catchPlanted(ROOT, () => undefined, { all, seeds: seedsShown(ROOT) });
    results = new Map(caught.map((one) => [one.planted.name, one]));
  }, 2_400_000);

  it.each(all)(`is caught within ${String(WITHIN)} histories: $what`, ({ name }) => {
    const { failure, refused } = results.get(name) ?? {};
    if (refused !== undefined) throw refused;
    expect(failure?.violations[0]?.text).toBeDefined();
  });
}
