import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ETag, JobName, LeaseId, Millis } from '../../../src/core/brand';
import type { LeaseStore } from '../../../src/lease/store';
import type { Harness } from '../suite';
import { acquire, createRow, jobName, LEASE_MS, leaseOf, newLeaseId, readRow, writeRow } from './support';

interface Held {
  readonly job: JobName;
  readonly etag: ETag;
  readonly leaseId: LeaseId;
}

const TENDED = ['renewed', 'reacquired', 'lengthened', 'written'] as const;
const UNTENDED = [
  'listed',
  'renewed-late',
  'stolen',
  'taken-over',
  'raced',
  'written-late',
  'released-late',
  'asked-again',
  'renewed-by-stranger',
] as const;

/**
 * Leases of 15 s, all taken at the same time, looked at 16 s later: each case has its own job. The service's time must
 * not be asked for in between, so that a lease that was renewed after 8 s is seen to outlive those that were not.
 */
export function expiryCases(open: () => Promise<Harness>): void {
  let harness: Harness;
  let store: LeaseStore;
  const held = new Map<string, Held>();
  const heldBy = (name: (typeof UNTENDED)[number] | (typeof TENDED)[number]): Held => {
    const found = held.get(name);
    if (found === undefined) throw new Error(`no lease of ${name}`);
    return found;
  };

  const reacquire = async ({ job, etag, leaseId }: Held, leaseMs: Millis): Promise<void> => {
    expect(await store.acquire(job, { leaseId, leaseMs, ifMatch: etag })).toMatchObject({ kind: 'acquired' });
  };

  beforeAll(async () => {
    harness = await open();
    store = harness.open();
    for (const name of [...TENDED, ...UNTENDED]) {
      const job = jobName(name);
      const etag = await createRow(store, job);
      held.set(name, { job, etag, leaseId: await acquire(store, etag, job) });
    }
    await reacquire(heldBy('lengthened'), 30_000);
    await harness.pass(8000);
    await reacquire(heldBy('reacquired'), LEASE_MS);
    const { job, leaseId } = heldBy('renewed');
    expect(await store.renew(job, leaseId)).toBe('renewed');
    const { etag, ...written } = heldBy('written');
    await writeRow(store, { leaseId: written.leaseId, ifMatch: etag }, { token: '1' }, written.job);
    await harness.pass(8000);
  });
  afterAll(() => harness.close());

  it('is renewed by a renewal and by an acquisition, and not by a write', async () => {
    expect(await leaseOf(store, heldBy('renewed').job)).toBe('leased');
    expect(await leaseOf(store, heldBy('reacquired').job)).toBe('leased');
    expect(await leaseOf(store, heldBy('written').job)).toBe('expired');
  });

  it('lasts as long as was asked for last', async () => {
    expect(await leaseOf(store, heldBy('lengthened').job)).toBe('leased');
  });

  it('is listed as expired, with the row as it was', async () => {
    const { job, etag } = heldBy('listed');
    const { date, jobs } = await store.list({ job });
    expect(jobs.get(job)).toStrictEqual({ row: { etag, lease: 'expired', metadata: { token: '0' } }, date });
  });

  it('can be renewed late while it is nobody else’s', async () => {
    const { job, leaseId } = heldBy('renewed-late');
    expect(await store.renew(job, leaseId)).toBe('renewed');
    expect(await leaseOf(store, job)).toBe('leased');
  });

  it('is lost to its old holder once another has taken it', async () => {
    const { job, etag, leaseId } = heldBy('stolen');
    const successor = await acquire(harness.open(), etag, job);
    expect(await store.renew(job, leaseId)).toBe('lost');
    expect(await store.writeRow(job, { token: '1' }, { leaseId, ifMatch: etag })).toStrictEqual({ kind: 'refused' });
    expect(await store.release(job, leaseId)).toBe('lost');
    expect(await store.acquire(job, { leaseId, leaseMs: LEASE_MS, ifMatch: etag })).toStrictEqual({ kind: 'lost' });
    expect(await store.renew(job, successor)).toBe('renewed');
  });

  it('goes to one of many successors', async () => {
    const { job, etag } = heldBy('raced');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        harness.open().acquire(job, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch: etag }),
      ),
    );
    expect(answers.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
  });

  it('leaves its old holder nothing after the successor has written and released', async () => {
    const { job, etag, leaseId } = heldBy('taken-over');
    const successor = await acquire(store, etag, job);
    const newer = await writeRow(store, { leaseId: successor, ifMatch: etag }, { token: '1' }, job);
    expect(await store.release(job, successor)).toBe('released');
    expect(await store.renew(job, leaseId)).toBe('lost');
    expect(await store.acquire(job, { leaseId, leaseMs: LEASE_MS, ifMatch: etag })).toStrictEqual({ kind: 'lost' });
    expect(await store.writeRow(job, { token: '9' }, { leaseId, ifMatch: newer })).toStrictEqual({ kind: 'refused' });
    expect((await readRow(store, job)).metadata).toStrictEqual({ token: '1' });
  });

  it('cannot be written under, although the ETag still fits', async () => {
    const { job, etag, leaseId } = heldBy('written-late');
    expect(await store.writeRow(job, { token: '1' }, { leaseId, ifMatch: etag })).toStrictEqual({ kind: 'refused' });
    expect((await readRow(store, job)).etag).toBe(etag);
  });

  it('can be released late while it is nobody else’s', async () => {
    const { job, leaseId } = heldBy('released-late');
    expect(await store.release(job, leaseId)).toBe('released');
    expect(await leaseOf(store, job)).toBe('available');
  });

  it('can be acquired again with the same id', async () => {
    const held = heldBy('asked-again');
    await reacquire(held, LEASE_MS);
    await writeRow(store, { leaseId: held.leaseId, ifMatch: held.etag }, { token: '1' }, held.job);
  });

  it('is not renewed by a stranger, whatever the service answers', async () => {
    expect(await store.renew(heldBy('renewed-by-stranger').job, newLeaseId())).toBe('lost');
  });
}
