import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import type { StorageServer } from '../../src/local/cluster/server';
import { storeAt, testPostgres } from '../support/postgres';
import type { Call } from './calls';
import { postgresProtocol } from './postgres-protocol';
import { type Proxy, startProxy } from './proxy';

const JOB = 'a' as JobName;
const LEASE = 'lease-1' as LeaseId;

let server: StorageServer;
let proxy: Proxy;
const seen: { readonly call: Call; readonly status: number }[] = [];
beforeAll(async () => {
  server = await testPostgres();
  proxy = await startProxy({
    protocol: postgresProtocol,
    target: () => server.port,
    onRequest: () => undefined,
    onAnswer(call, status) {
      seen.push({ call, status });
      return undefined;
    },
  });
});
afterAll(async () => {
  proxy.close();
  await server.stop();
});

it('the proxy before PostgreSQL sees each call of the coordinator, and its result', async () => {
  const url = server.url.replace(String(server.port), String(proxy.port));
  const store = storeAt({ url, schema: 'seen' });
  const row = { format: '1', phase: 'running', attempt: '2', token: '7' };
  await store.prepare();
  await store.createRow(JOB, { format: '1' });
  const ifMatch = (await store.readRow(JOB))?.etag;
  if (ifMatch === undefined) throw new Error('the row is gone');
  seen.length = 0;
  await store.list();
  await store.acquire(JOB, { leaseId: LEASE, leaseMs: 15_000, ifMatch });
  await store.acquire(JOB, { leaseId: 'other' as LeaseId, leaseMs: 15_000, ifMatch });
  await store.renew(JOB, LEASE);
  await store.writeRow(JOB, row, { leaseId: LEASE, ifMatch });
  await store.writeRow(JOB, row, { leaseId: LEASE, ifMatch });
  const body = '{}\n'.repeat(50_000);
  const through = '2026-01-01T00:00:00.000Z';
  await store.createRecord(JOB, 'key', { body, summary: { state: 'final', through } });
  await store.createRecord(JOB, 'key', { body, summary: { state: 'final', through } });
  // An answer of many packets is passed on as a whole.
  expect((await store.readRecord(JOB, 'key'))?.body).toBe(body);
  await store.release(JOB, LEASE);

  const written = { kind: 'row', job: JOB, phase: 'running', attempt: 2, token: 7, ends: false };
  const record = { kind: 'record', job: JOB, key: 'key', state: 'final', through: Date.parse(through) };
  expect(seen.map(({ call, status }) => [call, status])).toEqual([
    [{ kind: 'list' }, 200],
    [{ kind: 'acquire', job: JOB, leaseId: LEASE }, 201],
    [{ kind: 'acquire', job: JOB, leaseId: 'other' }, 409],
    [{ kind: 'renew', job: JOB, leaseId: LEASE }, 200],
    [written, 200],
    [written, 409],
    [record, 201],
    [record, 409],
    [{ kind: 'other' }, 200],
    [{ kind: 'release', job: JOB, leaseId: LEASE }, 200],
  ]);
});
