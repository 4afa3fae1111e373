import { expect } from 'vitest';
import type { Test } from '../suite';
import { callsOf } from './calls';
import { acquire, createRow, JOB, newLeaseId, readRow } from './support';

/** The caller's signal, and being prepared twice. */
export function signalCases(test: Test): void {
  test('of a caller who has given up ends every call with its reason, and nothing is done', async ({ open }) => {
    const store = open();
    const etag = await createRow(store);
    const leaseId = await acquire(store, etag);
    const reason = new Error('the tick is over');
    const signal = AbortSignal.abort(reason);
    for (const call of Object.values(callsOf(store))) await expect(call(store, { signal })).rejects.toBe(reason);
    await expect(store.release(JOB, leaseId, { signal })).rejects.toBe(reason);
    await expect(store.writeRow(JOB, { token: '9' }, { leaseId, ifMatch: etag }, { signal })).rejects.toBe(reason);
    expect(await readRow(store)).toStrictEqual({ etag, lease: 'leased', metadata: { token: '0' } });
    expect((await store.readControl(JOB)).control).toBeUndefined();
    expect((await store.listRecords(JOB, { limit: 10 })).records).toStrictEqual([]);
  });

  test('that is never aborted changes nothing, and keeps no listener', async ({ open }) => {
    const store = open();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const etag = await createRow(store);
    const request = { leaseId: newLeaseId(), leaseMs: 60_000, ifMatch: etag };
    expect(await store.acquire(JOB, request, { signal })).toMatchObject({ kind: 'acquired' });
    expect((await store.list({ signal })).jobs.size).toBe(1);
    expect(listeners).toBe(0);
  });

  test('or none: preparing what is prepared is no error, side by side neither', async ({ open }) => {
    await createRow(open());
    await Promise.all([open().prepare(), open().prepare(), open().prepare()]);
    expect((await open().list()).jobs.size).toBe(1);
  });
}
