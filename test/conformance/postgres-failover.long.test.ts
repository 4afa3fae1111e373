import { Client } from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { storeAt, testPostgres, urlAt } from '../support/postgres';
import { startStandby } from '../support/postgres-standby';
import { type Switch, switchTo } from '../support/switch';
import { acquire, createRow, JOB, readRow, times, writeRow } from './cases/support';
import { ask } from './postgres-harness';

let primary: StorageServer;
let standby: StorageServer;
let endpoint: Switch;
beforeEach(async () => {
  primary = await testPostgres();
  standby = await startStandby(primary);
  endpoint = await switchTo(primary.port);
});
afterEach(async () => {
  endpoint.close();
  await standby.stop();
  await primary.stop();
});

/** The old primary becomes read only, as a service leaves it that fences it; its connections stay open. */
async function failOver(): Promise<void> {
  const row = await readRow(storeAt({ url: primary.url, schema: 'failover' }));
  await vi.waitFor(async () => {
    expect((await readRow(storeAt({ url: standby.url, schema: 'failover' }))).etag).toBe(row.etag);
  });
  const session = new Client(primary.url);
  await session.connect();
  await session.query('alter system set default_transaction_read_only = on');
  await session.query('select pg_reload_conf()');
  await session.end();
  await ask(standby.url, 'select pg_promote(true, 30)');
  endpoint.leadTo(standby.port);
}

/** A store through the endpoint, and with as many open connections as calls side by side need. */
async function openAt(endpointPort: number, onOutcome?: (outcome: CallOutcome) => void): Promise<LeaseStore> {
  const store = storeAt({ url: urlAt(endpointPort), schema: 'failover', ...(onOutcome && { onOutcome }) });
  await store.prepare();
  return store;
}

it('after a failover that leaves connections open, one write fails, and all calls go to the new primary', async () => {
  const store = await openAt(endpoint.port);
  const ifMatch = await createRow(store);
  const leaseId = await acquire(store, ifMatch);
  await Promise.all(times(10, () => store.list()));
  await failOver();

  // Not known yet: the old server answers.
  await expect(writeRow(store, { leaseId, ifMatch }, { token: '1' })).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringContaining('connect to the primary'),
  });
  const etag = await writeRow(store, { leaseId, ifMatch }, { token: '1' });
  // No read comes from the old one, whose row is older, although nine connections to it were open.
  for (const row of await Promise.all(times(10, () => readRow(store)))) expect(row.etag).toBe(etag);
  expect(await store.renew(JOB, leaseId)).toBe('renewed');
  const old = await readRow(storeAt({ url: primary.url, schema: 'failover' }));
  expect(old.metadata).toEqual({ token: '0' });
});

it('after a failover that ends the primary, the calls of a second go to the new one', async () => {
  const store = await openAt(endpoint.port);
  const ifMatch = await createRow(store);
  const leaseId = await acquire(store, ifMatch);
  await Promise.all(times(10, () => store.list()));
  await failOver();
  await primary.stop('SIGINT');
  await vi.waitFor(async () => expect(await store.renew(JOB, leaseId)).toBe('renewed'), { timeout: 1_000 });
  for (const row of await Promise.all(times(10, () => readRow(store)))) expect(row.etag).toBe(ifMatch);
});

it('while the endpoint leads to a server that takes no writes, nothing is read there, and each call says why', async () => {
  const store = await openAt(endpoint.port);
  const ifMatch = await createRow(store);
  const leaseId = await acquire(store, ifMatch);
  await failOver();
  endpoint.leadTo(primary.port);
  for (const call of [() => store.renew(JOB, leaseId), () => store.list(), () => store.readRow(JOB)]) {
    await expect(call()).rejects.toMatchObject({ message: expect.stringMatching(/25006 .* connect to the primary/) });
  }
  endpoint.leadTo(standby.port);
  expect(await store.renew(JOB, leaseId)).toBe('renewed');
});
