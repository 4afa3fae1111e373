import { describe, expect, it } from 'vitest';
import { encodeLayout, type Layout, listHash } from '../../src/core/layout';
import { encodePresence } from '../../src/core/presence';
import type { ListedControl, Presences } from '../../src/lease/store';
import { checkLayouts } from '../../src/operator/doctor/deployments';
import type { JobList } from '../../src/operator/views/list-jobs';

const NOW = Date.UTC(2026, 0, 1);
const LIST = ['https://a.example.net/cronlease', 'https://b.example.net/cronlease'];

function layoutOf(changes: Partial<Layout> = {}): ListedControl {
  const layout: Layout = {
    ...{ version: 1, state: 'settled', list: listHash(LIST), before: undefined },
    ...{ accounts: LIST, left: false, since: NOW },
    ...changes,
  };
  return { etag: '"1"' as ListedControl['etag'], metadata: encodeLayout(layout) };
}

function presences(accounts: number): Presences {
  const facts = {
    instance: 'i',
    hub: 'h',
    version: '1',
    revision: 1,
    jobs: 'x',
    tickEveryMs: 15_000,
    skewMs: 0,
    rival: undefined,
  };
  const presence = { ...facts, tickedAt: NOW, hubProven: true, ...(accounts > 0 && { accounts }) };
  const listed = { etag: '"1"' as ListedControl['etag'], metadata: encodePresence(presence) };
  return { date: NOW, presences: new Map([['eu', listed]]) };
}

function check(
  list: Partial<Pick<JobList, 'layouts' | 'missing'>>,
  accounts: number | undefined = 2,
): readonly string[] {
  const found = checkLayouts(LIST[0] ?? '', { layouts: {}, missing: [], ...list }, presences(accounts));
  return found.map(({ status, subject, message }) => `${status} ${subject ?? ''}: ${message}`);
}

const both = (first: ListedControl | undefined | 'missing', second: ListedControl | undefined | 'missing') => ({
  layouts: {
    accounts: [first, second].map((layout, index) => ({ location: LIST[index] ?? '', layout })),
  },
});

describe('the accounts that doctor checks', () => {
  it('are no subject where there is one, without a layout', () => {
    expect(check({}, 0)).toStrictEqual([]);
  });

  it('are well if every layout fits', () => {
    expect(check(both(layoutOf(), layoutOf()))).toStrictEqual([
      'ok : the jobs are distributed over 2 accounts, whose layouts fit',
    ]);
  });

  it('are named if one has no layout, another list, or one that is being changed', () => {
    expect(check(both(layoutOf(), undefined)).join()).toMatch(
      /problem : .*b\.example.* has no layout.*nothing is claimed there/,
    );
    expect(check(both(layoutOf({ list: 'f'.repeat(16) }), layoutOf())).join()).toMatch(
      /problem : this deployment deals/,
    );
    expect(check(both(layoutOf(), layoutOf({ state: 'changing' }))).join()).toMatch(
      /problem : .*is being changed in .*b\.example/,
    );
    expect(check({ layouts: { layout: layoutOf() } }, 0).join()).toMatch(/over 1 account .*over 2 accounts/);
  });

  it('are named if something else wrote a layout', () => {
    const foreign = { etag: '"1"' as ListedControl['etag'], metadata: { hello: 'world' } };
    expect(check(both(layoutOf(), foreign)).join()).toMatch(/the layout in .*b\.example.* cannot be read/);
  });

  it('are named if one does not answer', () => {
    const missing = [{ location: LIST[1] ?? '', reason: '503' }];
    expect(check({ ...both(layoutOf(), 'missing'), missing })).toStrictEqual([`problem ${LIST[1] ?? ''}: 503`]);
  });

  it('differ from those of a deployment that has another number of them', () => {
    expect(check(both(layoutOf(), layoutOf()), 0)).toStrictEqual([
      'problem eu: distributes its jobs over 1 account(s), but this list has 2',
    ]);
  });
});
