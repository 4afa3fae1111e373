import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../support/scratch';
import { MIX_NAMES } from '../faults/mixes';
import type { Builds, Played } from './played';
import { buildsOf, nextSlice, readPlayed, totalsOf, unplayed, withSlice, writePlayed } from './played';

const root = path.join(__dirname, '../../..');

/** The same build of all mixes, except for some. */
function builds(hash: string, others: Partial<Builds> = {}): Builds {
  return { ...(Object.fromEntries(MIX_NAMES.map((mix) => [mix, hash])) as Builds), ...others };
}

describe('the histories that a build has played', () => {
  it('grow by slices of the mix that has the fewest, until each has its number', () => {
    let played = unplayed(builds('abc'));
    const slices: string[] = [];
    for (let slice = nextSlice(played, 700, 500); slice !== undefined; slice = nextSlice(played, 700, 500)) {
      slices.push(`${slice.mix} ${String(slice.first - played.first)}+${String(slice.histories)}`);
      played = withSlice(played, slice);
    }
    expect(slices.slice(0, 2)).toEqual(['plain 0+500', 'wide 0+500']);
    expect(slices.slice(-1)).toEqual([`${MIX_NAMES.at(-1) ?? ''} 500+200`]);
    expect(slices).toHaveLength(2 * MIX_NAMES.length);
    expect(totalsOf(played)).toEqual({ all: 700 * MIX_NAMES.length, least: 700 });
  });

  it('are kept in a file, for the same build of a mix alone', () => {
    const file = path.join(scratchFolder('played'), 'played.json');
    expect(readPlayed(file, builds('abc'))).toEqual(unplayed(builds('abc')));
    const played = withSlice(withSlice(unplayed(builds('abc')), { mix: 'loss', histories: 500 }), {
      ...{ mix: 'failover', histories: 20 },
    });
    writePlayed(file, played);
    expect(existsSync(file)).toBe(true);
    expect(readPlayed(file, builds('abc'))).toEqual(played);
    expect(readPlayed(file, builds('def'))).toEqual(unplayed(builds('def')));
    const changed = readPlayed(file, builds('abc', { failover: 'def' }));
    expect(changed.mixes.loss).toEqual({ build: 'abc', histories: 500 });
    expect(changed.mixes.failover).toEqual({ build: 'def', histories: 0 });
    // A mix that did not exist then has played nothing.
    const { wide, ...others } = played.mixes;
    expect(wide.histories).toBe(0);
    writePlayed(file, { ...played, mixes: others as typeof played.mixes });
    expect(readPlayed(file, builds('abc'))).toEqual(played);
  });

  it('are of builds that have the same hash each time, and share it where they call the same', async () => {
    const hashes = await buildsOf(root);
    expect(hashes.plain).toMatch(/^[0-9a-f]{12}$/);
    expect(hashes.wide).toBe(hashes.plain);
    expect(new Set([hashes.plain, hashes.failover, hashes.elections]).size).toBe(3);
    expect(await buildsOf(root)).toEqual(hashes);
  });

  it('are as many as the reliability page says', () => {
    const played = JSON.parse(readFileSync(path.join(root, 'test/simulation/played.json'), 'utf8')) as Played;
    const page = readFileSync(path.join(root, 'docs/reliability.md'), 'utf8');
    const [, all, least] = /have played ([\d,]+) histories, at least ([\d,]+) of each mix/.exec(page) ?? [];
    const totals = totalsOf(played);
    expect(all).toBe(totals.all.toLocaleString('en-US'));
    expect(least).toBe(totals.least.toLocaleString('en-US'));
  });
});
