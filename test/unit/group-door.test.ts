import { describe, expect, it } from 'vitest';
import type { ETag, JobName, LeaseId } from '../../src/core/brand';
import { EMPTY_GROUP, type Group, enter, isOut } from '../../src/core/group';
import { recordKey } from '../../src/core/key';
import { encodeRow } from '../../src/core/row';
import { createDoor } from '../../src/coordinator/groups';
import { memoryService } from '../../src/stores/memory/store';
import { calibration, cpuTime } from '../support/cpu';
import { jobSpec } from '../support/job';
import { ranRow } from '../support/situation';
import { settableClock } from '../support/clock';

const T0 = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

function member(name: string, token = 1, due = T0): Parameters<typeof enter>[1] {
  return { job: name as JobName, token, key: recordKey(due), priority: 5, came: due };
}

describe('the door of a group', () => {
  it('reads the group after a refused write, also for an attempt that leaves', async () => {
    const clock = settableClock(T0);
    const store = memoryService(clock).open();
    const doorOf = (): ReturnType<typeof createDoor> =>
      createDoor({ clock, store, health: new Map() as never, serviceTime: undefined as never }, 'db');
    const [one, other] = [doorOf(), doorOf()];
    const { seen } = await one.current(true);
    const late = await other.current(true);
    const taken = enter(EMPTY_GROUP, member('a'), 1);
    expect(await one.write(taken, seen)).toBe(true);
    expect(await other.write(enter(EMPTY_GROUP, member('b'), 1), late.seen)).toBe(false);
    const again = await other.current(false);
    expect(again).toMatchObject({ isRead: true, seen: { group: { running: [{ job: 'a' }] } } });
    expect(await other.write(enter(again.seen.group, member('b'), 2), again.seen)).toBe(true);
  });

  it.each([
    ['leased', false],
    ['broken', false],
    ['available', true],
  ] as const)('counts a member whose row is %s as out: %s', async (lease, isOut) => {
    const clock = settableClock(T0);
    const store = memoryService(clock).open();
    const row = ranRow(jobSpec('a', '@hourly'));
    const one = { ...member('a', row.token), key: row.run?.key ?? '' };
    await store.createRow(one.job, encodeRow(row));
    if (lease !== 'available') {
      const ifMatch = (await store.readRow(one.job))?.etag as ETag;
      const leaseId = '00000001-0000-4000-8000-000000000000' as LeaseId;
      await store.acquire(one.job, { leaseId, leaseMs: 60_000, ifMatch });
      if (lease === 'broken') await store.breakLease(one.job, ifMatch);
    }
    const door = createDoor({ clock, store, health: new Map() as never, serviceTime: undefined as never }, 'db');
    expect([await door.checkRows([one]), door.isOut(one)]).toEqual([isOut, isOut]);
  });
});

describe('an attempt in a group whose row another program has overwritten', () => {
  it.each([
    ['keeps its place, because items of its run may be at work', 'running', false],
    ['waits no longer', 'waiting', true],
  ] as const)('%s', async (_, list, isOut) => {
    const clock = settableClock(T0);
    const store = memoryService(clock).open();
    const [one] = enter(EMPTY_GROUP, member('a'), list === 'running' ? 1 : 0)[list];
    if (one === undefined) throw new Error('it is not there');
    await store.createRow(one.job, { owner: 'of another program' });
    const door = createDoor({ clock, store, health: new Map() as never, serviceTime: undefined as never }, 'db');
    expect([await door.checkRows([one]), door.isOut(one)]).toEqual([isOut, isOut]);
  });
});

describe('a member of a group', () => {
  it('is out once another run of its job was claimed, although somebody holds the lease', () => {
    const sight = { isHeld: true, date: T0 + MINUTE };
    const row = ranRow(jobSpec('a', '@hourly'), { token: 2 as never });
    const own = { ...member('a', 1), key: row.run?.key ?? '' };
    expect(isOut(own, { ...sight, row })).toBe(false);
    expect(isOut({ ...own, key: recordKey(T0 - MINUTE) }, { ...sight, row })).toBe(true);
    // The row was read before the member's claim.
    expect(isOut({ ...own, key: recordKey(T0 + MINUTE), token: 3 }, { ...sight, row })).toBe(false);
  });
});

describe('a group whose places are taken', () => {
  it('costs 1,000 runs that ask again and again little CPU', () => {
    const members = Array.from({ length: 1_000 }, (_, index) => member(`job-${String(index)}`, 1, T0 + (index % 7)));
    const asked = (before: Group): Group => members.reduce((group, one) => enter(group, one, 5), before);
    const full = asked(EMPTY_GROUP);
    expect(full.waiting).toHaveLength(995);
    const times = Array.from({ length: 5 }, () => cpuTime(() => void asked(full)));
    expect(asked(full)).toBe(full);
    expect((times.toSorted((a, b) => a - b)[2] ?? Infinity) / calibration()).toBeLessThan(15);
  });
});
