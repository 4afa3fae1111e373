import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import { runHistory } from './history';
import { planOf } from './plan';

/** Within this many histories each planted fault must be seen. */
const WITHIN = 500;

const etagOf = async (store: LeaseStore, job: JobName) => {
  const row = await store.readRow(job);
  if (row === undefined) throw new Error(`no row of ${job}`);
  return row.etag;
};

/** A storage service that does not keep its word, in one way each. */
const FAULTS: Readonly<Record<string, (store: LeaseStore) => LeaseStore>> = {
  'no If-Match on the claim': (store) => ({
    ...store,
    writeRow: async (job, metadata, guard) =>
      store.writeRow(job, metadata, { ...guard, ifMatch: await etagOf(store, job) }),
  }),
  'a stale ETag accepted by all writes': (store) => ({
    ...store,
    acquire: async (job, request) => store.acquire(job, { ...request, ifMatch: await etagOf(store, job) }),
    writeRow: async (job, metadata, guard) =>
      store.writeRow(job, metadata, { ...guard, ifMatch: await etagOf(store, job) }),
  }),
  'records written over those that exist': (store) => ({
    ...store,
    createRecord: async (job, key, record) => {
      const found = await store.readRecord(job, key);
      if (found === undefined) return store.createRecord(job, key, record);
      const replaced = await store.replaceRecord(job, key, record, found.etag);
      return replaced.kind === 'replaced' ? { kind: 'created', etag: replaced.etag } : { kind: 'exists' };
    },
  }),
  'a renewal that succeeds whoever holds the lease': (store) => ({
    ...store,
    renew: async (job, leaseId) => {
      await store.renew(job, leaseId);
      return 'renewed';
    },
  }),
};

/** Where to begin, for a fault that few histories show: from 1 it takes 166 of them, and 20 s. */
const FIRST_TRIED: Readonly<Record<string, number>> = { 'a renewal that succeeds whoever holds the lease': 160 };

describe('a planted fault', () => {
  it.each(Object.entries(FAULTS))('is seen: %s', { timeout: 600_000 }, async (name, tamper) => {
    const first = FIRST_TRIED[name] ?? 1;
    let violations: readonly string[] = [];
    for (let seed = first; seed < first + WITHIN && violations.length === 0; seed += 1) {
      violations = (await runHistory(planOf(seed), tamper)).violations;
    }
    expect(violations).not.toEqual([]);
  });
});
