import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { MIX_NAMES, MIXES } from './faults/mixes';
import type { MixName } from './faults/mixes';
import { PLANTED } from './faults/planted';
import type { Planted } from './faults/planted';
import { describe as inWords, replayLine } from './search/explain';
import type { Caught } from './search/search';
import { catchPlanted, searchHistories, WITHIN, withWorker } from './search/search';

export const ROOT = path.join(__dirname, '../..');

/** The mixes whose histories the tests play. */
export const PLAYED_MIXES = MIX_NAMES.filter((mix) => MIXES[mix].share > 0);

/** The number of a mix's histories in `npm test`: a twentieth. */
export function everydayHistories(mix: MixName): number {
  return Math.ceil(MIXES[mix].share / 20);
}

/** The number of further histories in `npm run test:all`. */
export function longHistories(mix: MixName): number {
  return MIXES[mix].share - everydayHistories(mix);
}

/** Plays these histories, and returns a line for each that breaks a promise. */
export async function failuresOf(
  mix: MixName,
  range: { readonly first: number; readonly histories: number },
): Promise<readonly string[]> {
  const { histories, failures } = await withWorker(ROOT, undefined, (bundle) =>
    searchHistories(bundle, { mix, ...range, stopAtFirst: false }),
  );
  expect(histories).toBe(range.histories);
  return failures.map((failure) => `${replayLine(failure)}  ${inWords(failure.violations)}`);
}

const isEveryday = (_: Planted, index: number): boolean => index % 16 === 0;

/** The faults that `npm test` plants: every sixteenth. */
export const EVERYDAY_PLANTED = PLANTED.filter(isEveryday);

/** The faults that only `npm run test:all` plants. */
export const LONG_PLANTED = PLANTED.filter((planted, index) => !isEveryday(planted, index));

/** A test for each of these faults. All are planted before the first of them. */
export function testPlanted(all: readonly Planted[]): void {
  let results: ReadonlyMap<string, Caught>;

  beforeAll(async () => {
    const caught = await catchPlanted(ROOT, () => undefined, all);
    results = new Map(caught.map((one) => [one.planted.name, one]));
  }, 900_000);

  it.each(all)(`is caught within ${String(WITHIN)} histories: $what`, ({ name }) => {
    const { failure, refused } = results.get(name) ?? {};
    if (refused !== undefined) throw refused;
    expect(failure?.violations[0]?.text).toBeDefined();
  });
}
