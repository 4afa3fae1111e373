import { expect } from 'vitest';
import type { Test } from '../suite';
import {
  acquire,
  createRow,
  JOB,
  jobName,
  LEASE_MS,
  leaseOf,
  newLeaseId,
  readRow,
  tally,
  times,
  writeRow,
} from './support';

/** Acquiring, renewing and releasing a row's lease. */
export function leaseCases(test: Test): void {
  races(test);
  conditions(test);
  givenBack(test);
  askedAgain(test);
}

function races(test: Test): void {
  test('of 50 acquirers with one handle and one ETag exactly one wins', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const answers = await Promise.all(
      times(50, () => store.acquire(JOB, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch })),
    );
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ acquired: 1, lost: 49 });
  });

  test('of 50 acquirers with handles of their own exactly one wins, and holds the lease', async ({ open }) => {
    const ifMatch = await createRow(open());
    const racers = times(50, () => ({ store: open(), leaseId: newLeaseId() }));
    const answers = await Promise.all(
      racers.map(({ store, leaseId }) => store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch })),
    );
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ acquired: 1, lost: 49 });
    const renewals = await Promise.all(racers.map(({ store, leaseId }) => store.renew(JOB, leaseId)));
    expect(renewals.map((answer) => answer === 'renewed')).toStrictEqual(
      answers.map(({ kind }) => kind === 'acquired'),
    );
  });

  test('a late racer loses after the winner has written and released, by its stale ETag alone', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await open().acquire(JOB, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch })).toStrictEqual({
      kind: 'lost',
    });
    expect(await leaseOf(store)).toBe('available');
  });
}

function conditions(test: Test): void {
  test('an acquisition answers with the service’s date, in whole seconds', async ({ open, now }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const answer = await store.acquire(JOB, { leaseId: newLeaseId(), leaseMs: 60_000, ifMatch });
    const date = answer.kind === 'acquired' ? answer.date : NaN;
    expect(date % 1000).toBe(0);
    expect(Math.abs(date - now())).toBeLessThan(10_000);
  });

  test('a row that is not there cannot be acquired, renewed or released', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const other = jobName('other-job');
    const leaseId = newLeaseId();
    expect(await store.acquire(other, { leaseId, leaseMs: LEASE_MS, ifMatch })).toStrictEqual({ kind: 'lost' });
    expect(await store.renew(other, leaseId)).toBe('lost');
    expect(await store.release(other, leaseId)).toBe('lost');
    expect(await store.readRow(other)).toBeUndefined();
  });

  test('a row that nobody holds cannot be renewed or released', async ({ open }) => {
    const store = open();
    await createRow(store);
    expect(await store.renew(JOB, newLeaseId())).toBe('lost');
    expect(await store.release(JOB, newLeaseId())).toBe('lost');
  });

  test('a stranger can neither renew nor release', async ({ open }) => {
    const store = open();
    const leaseId = await acquire(store, await createRow(store));
    expect(await open().renew(JOB, newLeaseId())).toBe('lost');
    expect(await open().release(JOB, newLeaseId())).toBe('lost');
    expect(await leaseOf(store)).toBe('leased');
    expect(await store.renew(JOB, leaseId)).toBe('renewed');
  });

  test('acquiring, renewing and releasing leave ETag and metadata as they are', async ({ open }) => {
    const store = open();
    const etag = await createRow(store);
    const leaseId = await acquire(store, etag);
    expect(await store.renew(JOB, leaseId)).toBe('renewed');
    expect(await readRow(store)).toStrictEqual({ etag, lease: 'leased', metadata: { token: '0' } });
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await readRow(store)).toStrictEqual({ etag, lease: 'available', metadata: { token: '0' } });
  });

  test('a released row can be acquired by another at once', async ({ open }) => {
    const store = open();
    const etag = await createRow(store);
    expect(await store.release(JOB, await acquire(store, etag))).toBe('released');
    await acquire(open(), etag);
  });
}

function givenBack(test: Test): void {
  test('a release with an ETag is lost once the row was written, and lets go of an unwritten one', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    expect(await open().release(JOB, leaseId, { ifMatch })).toBe('released');
    expect(await leaseOf(store)).toBe('available');
    // The same id again, as a late attempt acquires what was given back.
    expect(await store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch })).toMatchObject({ kind: 'acquired' });
    const written = await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(await open().release(JOB, leaseId, { ifMatch })).toBe('lost');
    expect(await leaseOf(store)).toBe('leased');
    expect(await store.release(JOB, leaseId, { ifMatch: written })).toBe('released');
  });

  test('a write under a lease that was given back is refused', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    await store.release(JOB, leaseId, { ifMatch });
    expect(await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch })).toStrictEqual({ kind: 'refused' });
    const other = await acquire(open(), ifMatch);
    expect(await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch })).toStrictEqual({ kind: 'refused' });
    expect(await store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch })).toStrictEqual({ kind: 'lost' });
    expect(await store.release(JOB, leaseId, { ifMatch })).toBe('lost');
    expect(await store.renew(JOB, other)).toBe('renewed');
  });
}

function askedAgain(test: Test): void {
  test('the same id again is a renewal, also with another length', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    expect(await open().acquire(JOB, { leaseId, leaseMs: 60_000, ifMatch })).toMatchObject({ kind: 'acquired' });
    expect(await store.acquire(JOB, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch })).toStrictEqual({
      kind: 'lost',
    });
  });

  test('the same id again is lost once the row was written', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const etag = await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(await store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch })).toStrictEqual({ kind: 'lost' });
    expect(await store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch: etag })).toMatchObject({ kind: 'acquired' });
  });

  test('a release asked again is lost, and disturbs nobody', async ({ open }) => {
    const store = open();
    const etag = await createRow(store);
    const leaseId = await acquire(store, etag);
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await store.release(JOB, leaseId)).toBe('lost');
    await acquire(open(), etag);
    expect(await store.release(JOB, leaseId)).toBe('lost');
    expect(await leaseOf(store)).toBe('leased');
  });
}
