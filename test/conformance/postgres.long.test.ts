import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { refusal, storeAt, testPostgres, urlAt, WELCOME } from '../support/postgres';
import { ask, postgresHarness, serializableDatabase } from './postgres-harness';
import { fakeServers, remoteStoreConformance } from './remote';
import { brokenLeaseConformance, leaseStoreConformance } from './suite';

let server: StorageServer;
let serializable: string;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
  serializable = await serializableDatabase(server.url);
});
afterAll(() => server.stop());

function freshName(): string {
  schemas += 1;
  return `conformance-${String(schemas)}`;
}

leaseStoreConformance('postgres', () => postgresHarness(server.url, freshName()));
brokenLeaseConformance('postgres', () => postgresHarness(server.url, freshName()));

const SERIALIZABLE = 'postgres with serializable transactions';
leaseStoreConformance(SERIALIZABLE, () => postgresHarness(serializable, freshName()));
brokenLeaseConformance(SERIALIZABLE, () => postgresHarness(serializable, freshName()));

/** Too many connections, a start, a rollback for another's sake, a cancel, a fault of the server's own. */
const FAILURES = ['53300', '57P03', '40001', '57014', 'XX000'];

remoteStoreConformance('postgres', FAILURES, async () => {
  const { at, close } = fakeServers((port, timeout) => storeAt({ url: urlAt(port), schema: freshName(), ...timeout }));
  return {
    stopped: async () => {
      const other = await testPostgres();
      const store = storeAt({ url: other.url, schema: freshName() });
      await store.prepare();
      await other.stop();
      return store;
    },
    silent: () => at(() => undefined, 300),
    answering: (state) =>
      at((socket) => {
        socket.once('data', () => {
          socket.write(WELCOME);
          socket.on('data', () => socket.write(refusal(state)));
        });
      }),
    cutting: () =>
      at((socket) => {
        socket.once('data', () => {
          socket.write(WELCOME);
          // The beginning of a row.
          socket.on('data', () => socket.end('D\0\0'));
        });
      }),
    missing: async () => storeAt({ url: server.url, schema: freshName() }),
    denied: async () => {
      await ask(server.url, `do $$ begin create role nobody_here; exception when duplicate_object then null; end $$`);
      const url = server.url.replace('postgres://postgres@', 'postgres://nobody_here:wrong@');
      return storeAt({ url, schema: freshName() });
    },
    close,
  };
});
