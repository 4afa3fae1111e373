import { expect } from 'vitest';
import type { BreakingTest } from '../suite';
import { acquire, createRow, JOB, jobName, LEASE_MS, leaseOf, newLeaseId, readRow, writeRow } from './support';

/** Leases that someone else than their holder ends: by the store's own method, or from outside. */
export function brokenCases(test: BreakingTest): void {
  throughThePort(test);
  fromOutside(test);
  listed(test);
}

function throughThePort(test: BreakingTest): void {
  test('a lease is broken for what remains of it, never at once, and cannot be renewed', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const answer = await open().breakLease(JOB, ifMatch);
    const leftMs = answer.kind === 'broken' ? answer.leftMs : NaN;
    expect(leftMs).toBeGreaterThan(LEASE_MS / 2);
    expect(leftMs).toBeLessThanOrEqual(LEASE_MS);
    expect(await readRow(store)).toMatchObject({ lease: 'broken', isEnding: true });
    expect(await store.renew(JOB, leaseId)).toBe('lost');
    expect(await store.acquire(JOB, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch })).toEqual({ kind: 'lost' });
    // Its holder may still write down what it did.
    const etag = await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(await open().breakLease(JOB, etag)).toMatchObject({ kind: 'broken' });
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await leaseOf(store)).toBe('available');
  });

  test('a lease that another claim was made under meanwhile is not broken, nor is one that is not there', async ({
    open,
  }) => {
    const store = open();
    const old = await createRow(store);
    expect(await store.breakLease(JOB, old)).toEqual({ kind: 'lost' });
    const leaseId = await acquire(store, old);
    await writeRow(store, { leaseId, ifMatch: old }, { token: '1' });
    expect(await open().breakLease(JOB, old)).toEqual({ kind: 'lost' });
    expect(await leaseOf(store)).toBe('leased');
    expect(await store.breakLease('other-job' as typeof JOB, old)).toEqual({ kind: 'lost' });
  });
}

function fromOutside(test: BreakingTest): void {
  test('a broken lease cannot be renewed or written under, and the row can be acquired', async ({
    open,
    breakLease,
  }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    await breakLease(JOB, 0);
    expect(await readRow(store)).toMatchObject({ lease: 'broken' });
    expect((await readRow(store)).isEnding).not.toBe(true);
    expect(await store.renew(JOB, leaseId)).toBe('lost');
    expect(await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch })).toStrictEqual({ kind: 'refused' });
    await acquire(open(), ifMatch);
    expect(await leaseOf(store)).toBe('leased');
  });

  test('a breaking lease can be acquired by nobody, its holder included, who may still write', async (harness) => {
    const store = harness.open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    await harness.breakLease(JOB, 10_000);
    expect(await readRow(store)).toMatchObject({ lease: 'broken', isEnding: true });
    for (const id of [leaseId, newLeaseId()]) {
      const request = { leaseId: id, leaseMs: LEASE_MS, ifMatch };
      expect(await store.acquire(JOB, request)).toStrictEqual({ kind: 'lost' });
    }
    expect(await store.renew(JOB, leaseId)).toBe('lost');
    await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await leaseOf(store)).toBe('available');
  });
}

function listed(test: BreakingTest): void {
  test('a listing shows a broken lease, and whether it still lasts', async ({ open, breakLease }) => {
    const store = open();
    for (const job of ['ending', 'over'].map(jobName)) await acquire(store, await createRow(store, job), job);
    await breakLease(jobName('ending'), 10_000);
    await breakLease(jobName('over'), 0);
    const { jobs } = await open().list();
    expect(jobs.get(jobName('ending'))?.row).toMatchObject({ lease: 'broken', isEnding: true });
    expect(jobs.get(jobName('over'))?.row).toMatchObject({ lease: 'broken' });
    expect(jobs.get(jobName('over'))?.row?.isEnding).not.toBe(true);
  });
}
