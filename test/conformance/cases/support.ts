import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ETag, JobName, LeaseId } from '../../../src/core/brand';
import type { LeaseStore, ListedRow, Metadata } from '../../../src/lease/store';

export const LEASE_MS = 15_000;
export const JOB = jobName('nightly-report');

export function jobName(name: string): JobName {
  return name as JobName;
}

export function newLeaseId(): LeaseId {
  return randomUUID() as LeaseId;
}

/** Makes a row and gives its ETag. */
export async function createRow(
  store: LeaseStore,
  job: JobName = JOB,
  metadata: Metadata = { token: '0' },
): Promise<ETag> {
  expect(await store.createRow(job, metadata)).toBe('created');
  return (await readRow(store, job)).etag;
}

export async function readRow(store: LeaseStore, job: JobName = JOB): Promise<ListedRow> {
  const row = await store.readRow(job);
  if (row === undefined) throw new Error(`no row of ${job}`);
  return row;
}

export async function leaseOf(store: LeaseStore, job: JobName = JOB): Promise<string> {
  return (await readRow(store, job)).lease;
}

/** Takes the lease, which must succeed, and gives its id. */
export async function acquire(store: LeaseStore, ifMatch: ETag, job: JobName = JOB): Promise<LeaseId> {
  const leaseId = newLeaseId();
  expect(await store.acquire(job, { leaseId, leaseMs: LEASE_MS, ifMatch })).toMatchObject({ kind: 'acquired' });
  return leaseId;
}

/** Writes the row under its lease, which must succeed, and gives the new ETag. */
export async function writeRow(
  store: LeaseStore,
  guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag },
  metadata: Metadata,
  job: JobName = JOB,
): Promise<ETag> {
  const answer = await store.writeRow(job, metadata, guard);
  if (answer.kind === 'refused') throw new Error(`the row of ${job} was not written`);
  return answer.etag;
}

/** How often each value occurs. */
export function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
