import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import type { StorageServer } from '../../src/local/servers/server';
import { postgres } from '../../src/stores/postgres/store';
import { databaseOf } from '../../src/stores/postgres/settings';
import { systemClock } from '../../src/system-clock';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer';
import { storeAt, testPostgres } from '../support/postgres';
import { postgresHarness } from './postgres-harness';
import { brokenLeaseConformance, leaseStoreConformance } from './suite';

let server: StorageServer;
let pooler: PgBouncer;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
  pooler = await startPgBouncer(server);
});
afterAll(async () => {
  await pooler.stop();
  await server.stop();
});

function freshName(): string {
  schemas += 1;
  return `pooled-${String(schemas)}`;
}

const NAME = 'postgres behind PgBouncer in transaction mode';
leaseStoreConformance(NAME, () => postgresHarness(pooler.url, freshName()));
brokenLeaseConformance(NAME, () => postgresHarness(pooler.url, freshName()));

/** The process of the server that answers. */
async function backendOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

it('the pooler gives one client after another the same session of the server', async () => {
  const clients = Array.from({ length: 8 }, () => new Client(pooler.url));
  await Promise.all(clients.map((client) => client.connect()));
  const pids = new Set(await Promise.all(clients.map(backendOf)));
  await Promise.all(clients.map((client) => client.end()));
  expect(pids.size).toBeLessThanOrEqual(3);
});

const WAYS = { directly: () => server.url, 'through the pooler': () => pooler.url };
const NAMES = ['directly', 'through the pooler'] as const;

it.each(NAMES)('instances that start together create the tables, and one of them gets the lease (%s)', async (way) => {
  const schema = freshName();
  const job = 'contended' as JobName;
  const stores = Array.from({ length: 8 }, () => storeAt({ url: WAYS[way](), schema }));
  await Promise.all(stores.map((store) => store.prepare()));
  const created = await Promise.all(stores.map((store) => store.createRow(job, { token: '0' })));
  expect(created.filter((answer) => answer === 'created')).toHaveLength(1);
  const ifMatch = (await stores[0]?.readRow(job))?.etag;
  if (ifMatch === undefined) throw new Error('the row is gone');
  const answers = await Promise.all(
    stores.map((store, index) =>
      store.acquire(job, { leaseId: `lease-${String(index)}` as LeaseId, leaseMs: 15_000, ifMatch }),
    ),
  );
  expect(answers.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
});

it('a trial by cronlease doctor finds nothing missing', async () => {
  const schema = freshName();
  await storeAt({ url: pooler.url, schema }).prepare();
  const database = databaseOf(pooler.url);
  const trial = await postgres({
    server: database,
    container: schema,
    clock: systemClock,
    callTimeoutMs: 10_000,
  }).trial('aaaa');
  expect([...trial.failures]).toEqual([]);
  expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
});
