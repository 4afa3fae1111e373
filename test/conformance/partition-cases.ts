import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ETag, LeaseId } from '../../src/core/brand';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import type { Links } from '../support/links';
import { JOB, jobName, newLeaseId, readRow } from './cases/support';
import { startClaiming } from './claiming';
import { answered, rowIn } from './cluster-calls';

/** Three members of one cluster, with relays between them. Clients reach each of them straight. */
export interface Group {
  readonly links: Links;
  /** A store that asks only these members. */
  store(members: readonly number[], container: string): LeaseStore;
  /** The leader of these members. Rejects unless all of them name the same one, and it is one of them. */
  leader(among: readonly number[]): Promise<number>;
  stop(): Promise<void>;
}

const ALL = [0, 1, 2] as const;
const LEASE_MS = 15_000;
const TEST_MS = 400_000;
const PATIENCE = { timeout: 90_000, interval: 200 };

function othersThan(member: number): number[] {
  return ALL.filter((one) => one !== member);
}

interface Guard {
  readonly leaseId: LeaseId;
  readonly ifMatch: ETag;
}

async function acquired(store: LeaseStore, { leaseId, ifMatch }: Guard, leaseMs: number): Promise<void> {
  await answered(async () =>
    expect(await store.acquire(JOB, { leaseId, leaseMs, ifMatch })).toMatchObject({ kind: 'acquired' }),
  );
}

/** @returns when the renewal was sent that is known to have succeeded */
async function renewed(store: LeaseStore, leaseId: LeaseId): Promise<number> {
  return answered(async () => {
    const sentAt = performance.now();
    expect(await store.renew(JOB, leaseId)).toBe('renewed');
    return sentAt;
  });
}

async function written(store: LeaseStore, guard: Guard, token: string): Promise<ETag> {
  return answered(async () => {
    const before = await readRow(store);
    if (before.metadata['token'] !== token) {
      await store.renew(JOB, guard.leaseId);
      await store.writeRow(JOB, { token }, guard);
    }
    const { etag, metadata } = await readRow(store);
    expect(metadata).toEqual({ token });
    return etag;
  });
}

/** A holder that goes on renewing and writing through a member. */
function startHolding(store: LeaseStore, guard: Guard) {
  const answers: unknown[] = [];
  const unanswered = new Set<string>();
  let isOver = false;
  const attempt = async (name: string, call: () => Promise<unknown>): Promise<void> => {
    try {
      answers.push(await call());
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      unanswered.add(name);
    }
  };
  const done = (async () => {
    while (!isOver) {
      await attempt('renewal', () => store.renew(JOB, guard.leaseId));
      await attempt('write', () => store.writeRow(JOB, { token: '9' }, guard));
      // A server that has no leader refuses at once.
      await pause(100);
    }
  })();
  return {
    answers,
    unanswered,
    async stop(): Promise<void> {
      isOver = true;
      await done;
    },
  };
}

async function isUnavailable(call: () => Promise<unknown>): Promise<void> {
  await expect(call()).rejects.toMatchObject({ code: 'StoreUnavailable' });
}

async function leaderCutOff(group: Group): Promise<void> {
  const container = 'leader';
  const first = await rowIn(group.store(ALL, container));
  const old = await answered(() => group.leader(ALL));
  const others = othersThan(old);
  const [alone, majority] = [group.store([old], container), group.store(others, container)];
  const holder = newLeaseId();
  await acquired(alone, { leaseId: holder, ifMatch: first }, LEASE_MS);
  const guard = { leaseId: holder, ifMatch: await written(alone, { leaseId: holder, ifMatch: first }, '1') };
  const sentAt = await renewed(alone, holder);
  group.links.isolate(old);
  const holding = startHolding(alone, guard);
  const successor = { leaseId: newLeaseId(), ifMatch: guard.ifMatch };
  try {
    await acquired(majority, successor, 60_000);
    expect(performance.now() - sentAt).toBeGreaterThan(LEASE_MS - 1_000);
    expect(others).toContain(await answered(() => group.leader(others)));
    await vi.waitFor(() => expect(holding.unanswered).toEqual(new Set(['renewal', 'write'])), PATIENCE);
  } finally {
    await holding.stop();
  }
  const etag = await written(majority, successor, '2');
  expect(holding.answers).toEqual([]);
  await isUnavailable(() => readRow(alone));
  group.links.heal();
  // Its first answer is right.
  expect(await answered(() => readRow(alone))).toMatchObject({ etag, metadata: { token: '2' } });
  expect(await answered(() => alone.writeRow(JOB, { token: '9' }, guard))).toEqual({ kind: 'refused' });
  expect(await answered(() => alone.renew(JOB, holder))).toBe('lost');
  await answered(() => group.leader(ALL));
  expect(await answered(() => readRow(majority))).toMatchObject({ etag, metadata: { token: '2' } });
}

async function followerCutOff(group: Group): Promise<void> {
  const container = 'follower';
  const ifMatch = await rowIn(group.store(ALL, container));
  const leader = await answered(() => group.leader(ALL));
  const [follower = 0] = othersThan(leader);
  const [alone, majority] = [group.store([follower], container), group.store(othersThan(follower), container)];
  expect(await answered(() => readRow(alone))).toMatchObject({ etag: ifMatch });
  group.links.isolate(follower);
  const record = { body: '{}', summary: {} };
  const late = { leaseId: newLeaseId(), leaseMs: 60_000, ifMatch };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => alone.readRow(JOB),
    () => alone.list(),
    () => alone.readRecord(JOB, '1-s'),
    () => alone.acquire(JOB, late),
    () => alone.createRow(jobName('other'), { token: '0' }),
    () => alone.createRecord(JOB, '2-s', record),
  ];
  await Promise.all(calls.map(isUnavailable));
  const guard = { leaseId: newLeaseId(), ifMatch };
  await acquired(majority, guard, LEASE_MS);
  const etag = await written(majority, guard, '1');
  await answered(() => majority.createRecord(JOB, '1-s', record));
  await answered(() => majority.release(JOB, guard.leaseId));
  await isUnavailable(() => alone.list());
  group.links.heal();
  const row = await answered(() => readRow(alone));
  expect(row).toEqual({ etag, lease: 'available', metadata: { token: '1' } });
  expect(await answered(() => alone.readRecord(JOB, '1-s'))).toMatchObject({ body: '{}' });
  expect(await answered(() => alone.acquire(JOB, late))).toEqual({ kind: 'lost' });
  expect((await answered(() => alone.list())).jobs.get(JOB)?.row).toMatchObject({ etag });
}

type Direction = 'unheard' | 'deaf';

/** Two clients claim: one at the follower, one at the others. */
async function oneWay(group: Group, cut: Direction): Promise<void> {
  const container = cut;
  await rowIn(group.store(ALL, container));
  const leader = await answered(() => group.leader(ALL));
  const [follower = 0] = othersThan(leader);
  const others = othersThan(follower);
  const there = startClaiming(group.store(others, container));
  const here = startClaiming(group.store([follower], container));
  const grows = (claims: readonly number[]): Promise<void> => {
    const before = claims.length;
    return vi.waitFor(() => expect(claims.length).toBeGreaterThan(before + 5), PATIENCE);
  };
  try {
    await Promise.all([grows(there.answered), grows(here.answered)]);
    for (const other of others) {
      if (cut === 'unheard') group.links.cut(follower, other);
      else group.links.cut(other, follower);
    }
    const unanswered = here.unanswered();
    // The call under way may still be answered. The next one is made once a call has failed.
    await vi.waitFor(() => expect(here.unanswered()).toBeGreaterThan(unanswered), PATIENCE);
    const heard = here.answered.length;
    await grows(there.answered);
    expect(here.answered).toHaveLength(heard);
    group.links.heal();
    await Promise.all([grows(there.answered), grows(here.answered)]);
  } finally {
    await Promise.all([there.stop(), here.stop()]);
  }
  const tokens = [...there.answered, ...here.answered];
  expect(new Set(tokens).size).toBe(tokens.length);
  const last = await answered(() => readRow(group.store([follower], container)));
  expect(Number(last.metadata['token'])).toBeGreaterThanOrEqual(Math.max(...tokens));
}

/** The same for every store whose servers elect a leader among themselves. */
export function partitionCases(name: string, start: () => Promise<Group>): void {
  describe(`${name}, of which the network cuts off one`, () => {
    let group: Group;
    beforeAll(async () => {
      group = await start();
    }, TEST_MS);
    afterEach(() => group.links.heal());
    afterAll(() => group.stop());

    it(
      'elects another leader if that was the leader, grants only the ended lease, and refuses the old holder',
      () => leaderCutOff(group),
      TEST_MS,
    );
    it(
      'answers nothing there if that was a follower, and shows afterwards what the others wrote',
      () => followerCutOff(group),
      TEST_MS,
    );
    it.each([
      ['hears the others and is not heard', 'unheard'],
      ['is heard and does not hear the others', 'deaf'],
    ] as const)(
      'grants each token once if the network loses what goes to a follower, or what it sends (%s)',
      (_, cut) => oneWay(group, cut),
      TEST_MS,
    );
  });
}
