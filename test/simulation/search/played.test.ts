import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../support/scratch';
import { MIX_NAMES } from '../faults/mixes';
import type { Played } from './played';
import { hashOfBuild, nextSlice, readPlayed, unplayed, withSlice, writePlayed } from './played';

const root = path.join(__dirname, '../../..');

describe('the histories that a build has played', () => {
  it('grow by slices of the mix that has the fewest, until each has its number', () => {
    let played = unplayed('abc');
    const slices: string[] = [];
    for (let slice = nextSlice(played, 700, 500); slice !== undefined; slice = nextSlice(played, 700, 500)) {
      slices.push(`${slice.mix} ${String(slice.first - played.first)}+${String(slice.histories)}`);
      played = withSlice(played, slice);
    }
    expect(slices.slice(0, 2)).toEqual(['plain 0+500', 'wide 0+500']);
    expect(slices.slice(-1)).toEqual([`${MIX_NAMES.at(-1) ?? ''} 500+200`]);
    expect(slices).toHaveLength(2 * MIX_NAMES.length);
    expect(new Set(Object.values(played.histories))).toEqual(new Set([700]));
  });

  it('are kept in a file, for the same build alone', () => {
    const file = path.join(scratchFolder('played'), 'played.json');
    expect(readPlayed(file, 'abc')).toEqual(unplayed('abc'));
    const played = withSlice(unplayed('abc'), { mix: 'loss', histories: 500 });
    writePlayed(file, played);
    expect(existsSync(file)).toBe(true);
    expect(readPlayed(file, 'abc')).toEqual(played);
    expect(readPlayed(file, 'def')).toEqual(unplayed('def'));
    // A mix that did not exist then has played nothing.
    const { wide, ...others } = played.histories;
    expect(wide).toBe(0);
    writePlayed(file, { ...played, histories: others as typeof played.histories });
    expect(readPlayed(file, 'abc')).toEqual(played);
  });

  it('are of a build that has the same hash each time', async () => {
    const hash = await hashOfBuild(root);
    expect(hash).toMatch(/^[0-9a-f]{12}$/);
    expect(await hashOfBuild(root)).toBe(hash);
  });

  it('are as many as the reliability page says', () => {
    const played = JSON.parse(readFileSync(path.join(root, 'test/simulation/played.json'), 'utf8')) as Played;
    const page = readFileSync(path.join(root, 'docs/reliability.md'), 'utf8');
    const sentence = /The build `(\w+)` has played ([\d,]+) histories, at least ([\d,]+) of each mix/;
    const [, hash, count, least] = sentence.exec(page) ?? [];
    expect(hash).toBe(played.build);
    const each = Object.values(played.histories);
    expect(count).toBe(each.reduce((sum, histories) => sum + histories, 0).toLocaleString('en-US'));
    expect(least).toBe(Math.min(...each).toLocaleString('en-US'));
  });
});
