import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowanceOf,
  decodeLayout,
  encodeLayout,
  isSameAccount,
  type Layout,
  listHash,
  shardOf,
} from '../../src/core/layout';

const account = fc.stringMatching(/^[a-z0-9]{3,24}$/).map((name) => `https://${name}.blob.core.windows.net/cronlease`);
const accounts = fc.uniqueArray(account, { minLength: 1, maxLength: 6 });
const job = fc.stringMatching(/^[a-z0-9]{1,20}(-[a-z0-9]{1,10})?$/);
const jobs = fc.uniqueArray(job, { minLength: 1, maxLength: 40 });

describe('the account of a job', () => {
  it('does not depend on the order of the list, on letter case or on a slash at the end', () => {
    fc.assert(
      fc.property(accounts, jobs, (list, names) => {
        const turned = [...list].reverse().map((one) => `${one.toUpperCase()}/`);
        for (const name of names) {
          const chosen = list[shardOf(name, list)] ?? '';
          expect(isSameAccount(turned[shardOf(name, turned)] ?? '', chosen)).toBe(true);
        }
        expect(listHash(turned)).toBe(listHash(list));
      }),
    );
  });

  it('changes only to an account that is added', () => {
    fc.assert(
      fc.property(accounts, account, jobs, (list, added, names) => {
        fc.pre(!list.includes(added));
        for (const name of names) {
          const before = list[shardOf(name, list)];
          const after = [...list, added][shardOf(name, [...list, added])];
          expect([before, added]).toContain(after);
        }
      }),
    );
  });

  it('changes only for jobs of an account that is removed', () => {
    fc.assert(
      fc.property(accounts, fc.nat(), jobs, (list, at, names) => {
        fc.pre(list.length > 1);
        const removed = list[at % list.length];
        const rest = list.filter((one) => one !== removed);
        for (const name of names) {
          const before = list[shardOf(name, list)];
          if (before !== removed) expect(rest[shardOf(name, rest)]).toBe(before);
        }
      }),
    );
  });

  it('is that of all jobs whose names begin alike before two hyphens', () => {
    fc.assert(
      fc.property(accounts, job, jobs, (list, group, names) => {
        for (const name of names) expect(shardOf(`${group}--${name}`, list)).toBe(shardOf(group, list));
      }),
    );
  });

  it.each([2, 3, 5])('is dealt evenly over %i accounts', (count) => {
    const list = Array.from({ length: count }, (_, index) => `https://account${index}.blob.core.windows.net/cronlease`);
    const names = Array.from({ length: 10_000 }, (_, index) => `report-${index}`);
    const dealt = list.map((_, index) => names.filter((name) => shardOf(name, list) === index).length);
    const even = names.length / count;
    for (const number of dealt) expect(Math.abs(number - even)).toBeLessThan(even * 0.1);
  });

  it('stays what it was in earlier versions, since every deployment must deal alike', () => {
    const list = ['https://one.blob.core.windows.net/cronlease', 'https://two.blob.core.windows.net/cronlease'];
    const names = ['nightly-report', 'billing--export', 'billing--invoices', 'a', '--', 'cleanup', 'sync-orders'];
    expect(names.map((name) => shardOf(name, list))).toStrictEqual([0, 0, 0, 1, 1, 0, 0]);
    expect(listHash(list)).toBe('977c97573b049be4');
  });
});

describe('a layout', () => {
  const layout = fc.record<Layout>({
    version: fc.integer({ min: 1, max: 1e9 }),
    state: fc.constantFrom('changing', 'settled'),
    list: fc.stringMatching(/^[0-9a-f]{16}$/),
    before: fc.option(fc.stringMatching(/^[0-9a-f]{16}$/), { nil: undefined }),
    accounts,
    left: fc.boolean(),
    since: fc.integer({ min: 0, max: 4e12 }),
  });

  it('is read as it was written', () => {
    fc.assert(
      fc.property(layout, (one) => {
        expect(decodeLayout(encodeLayout(one))).toEqual(one);
      }),
    );
  });

  it('lets two deployments begin runs of one job only if they deal it to the same account', () => {
    const many = fc.array(fc.record({ list: accounts, settled: fc.boolean() }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(many, accounts, accounts, job, (changes, one, other, name) => {
        // Each change of the list writes a layout into each account of the list that it begins or leaves.
        const layouts = new Map<string, Layout>();
        let before: string | undefined;
        for (const { list, settled } of changes) {
          const all = [...new Set([...layouts.keys(), ...list])];
          for (const place of all) {
            const state = settled ? 'settled' : 'changing';
            const left = settled && !list.includes(place);
            const shown = settled ? list : all;
            layouts.set(place, { version: 1, state, list: listHash(list), before, accounts: shown, left, since: 0 });
          }
          if (settled) before = listHash(list);
        }
        const placeOf = (list: readonly string[]): string | undefined => {
          const index = shardOf(name, list);
          const place = list[index] ?? '';
          // A deployment that is the only one in an account without a list is not concerned.
          if (!layouts.has(place)) return undefined;
          return allowanceOf({ accounts: list, index }, layouts.get(place)).claims === 'all' ? place : undefined;
        };
        const both = [placeOf(one), placeOf(other)].filter((place) => place !== undefined);
        expect(new Set(both).size).toBeLessThan(2);
      }),
      { numRuns: 2_000 },
    );
  });
});
