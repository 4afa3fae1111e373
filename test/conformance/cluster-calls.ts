import { expect, vi } from 'vitest';
import type { ETag, LeaseId } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import { JOB, newLeaseId, readRow } from './cases/support';

/* Calls to a cluster that may elect a leader meanwhile, and lose an answer. They are repeated until they have taken effect. */

/** Waits out calls that the cluster cannot answer yet. */
export function answered<T>(call: () => Promise<T>): Promise<T> {
  return vi.waitFor(call, { timeout: 90_000, interval: 200 });
}

/** The ETag of the row as the test leaves it. */
export async function rowIn(store: LeaseStore): Promise<ETag> {
  await answered(() => store.prepare());
  return answered(async () => {
    await store.createRow(JOB, { token: '0' });
    return (await readRow(store)).etag;
  });
}

export async function acquired(store: LeaseStore, ifMatch: ETag, leaseMs: number): Promise<LeaseId> {
  const leaseId = newLeaseId();
  await answered(async () =>
    expect(await store.acquire(JOB, { leaseId, leaseMs, ifMatch })).toMatchObject({ kind: 'acquired' }),
  );
  return leaseId;
}

export function written(store: LeaseStore, guard: { leaseId: LeaseId; ifMatch: ETag }, token: string): Promise<ETag> {
  return answered(async () => {
    const before = await readRow(store);
    if (before.metadata['token'] !== token) await store.writeRow(JOB, { token }, guard);
    const { etag, metadata } = await readRow(store);
    expect(metadata).toEqual({ token });
    return etag;
  });
}
