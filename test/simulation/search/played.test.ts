import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../support/scratch';
import { MIX_NAMES, PAIRS } from '../faults/mixes';
import { type BuildOf, type Played, buildsOf, nextSlice, readPlayed, totalsOf, withSlice, writePlayed } from './played';

const root = path.join(__dirname, '../../..');
const NOTHING: Played = { first: 50_000_001, mixes: new Map() };

/** The same build of all mixes, except for failovers. */
const buildOf =
  (hash: string, ofFailover = hash): BuildOf =>
  (mixture) =>
    mixture === 'failover' ? ofFailover : hash;

describe('the histories that a build has played', () => {
  it('grow by slices of the mix that has the fewest, until each has its number', () => {
    let played = NOTHING;
    const slices: string[] = [];
    const next = () => nextSlice(played, MIX_NAMES, { each: 700, atOnce: 500 });
    for (let slice = next(); slice !== undefined; slice = next()) {
      slices.push(`${slice.mix} ${String(slice.first - played.first)}+${String(slice.histories)}`);
      played = withSlice(played, slice, buildOf('abc'));
    }
    expect(slices.slice(0, 2)).toEqual(['plain 0+500', 'wide 0+500']);
    expect(slices.slice(-1)).toEqual([`${MIX_NAMES.at(-1) ?? ''} 500+200`]);
    expect(slices).toHaveLength(2 * MIX_NAMES.length);
    expect(totalsOf(played, MIX_NAMES)).toEqual({ all: 700 * MIX_NAMES.length, least: 700 });
  });

  it('of pairs are counted apart from those of single mixes', () => {
    const [first, second] = PAIRS;
    if (first === undefined) throw new Error('no pair');
    const played = withSlice(NOTHING, { mix: first, histories: 3 }, buildOf('abc'));
    expect(totalsOf(played, PAIRS)).toEqual({ all: 3, least: 0 });
    expect(totalsOf(played, MIX_NAMES)).toEqual({ all: 0, least: 0 });
    expect(nextSlice(played, PAIRS, { each: 2_000, atOnce: 500 })).toEqual({
      ...{ mix: second, first: 50_000_001, histories: 500 },
    });
  });

  it('are kept in a file, for the same build of a mix alone', () => {
    const file = path.join(scratchFolder('played'), 'played.json');
    expect(readPlayed(file, buildOf('abc'))).toEqual(NOTHING);
    const loss = withSlice(NOTHING, { mix: 'loss', histories: 500 }, buildOf('abc'));
    const played = withSlice(loss, { mix: 'failover', histories: 20 }, buildOf('abc'));
    writePlayed(file, played);
    expect(existsSync(file)).toBe(true);
    expect(readPlayed(file, buildOf('abc'))).toEqual(played);
    expect(readPlayed(file, buildOf('def'))).toEqual(NOTHING);
    expect(readPlayed(file, buildOf('abc', 'def'))).toEqual(loss);
  });

  it('are of builds that have the same hash each time, and share it where they call the same', async () => {
    const hashOf = await buildsOf(root);
    expect(hashOf('plain')).toMatch(/^[0-9a-f]{12}$/);
    expect([hashOf('wide'), hashOf('loss+kills')]).toEqual([hashOf('plain'), hashOf('plain')]);
    expect(hashOf('kills+failover')).toBe(hashOf('failover'));
    const all = (['plain', 'failover', 'elections', 'elections+failover'] as const).map(hashOf);
    expect(new Set(all).size).toBe(4);
    expect((await buildsOf(root))('plain')).toBe(hashOf('plain'));
  });
});
