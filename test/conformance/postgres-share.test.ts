import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { describeWith } from '../support/needs';
import { testPostgres } from '../support/postgres';
import { postgresHarness, serializableDatabase } from './postgres-harness';
import { brokenLeaseConformance, leaseStoreShare } from './suite';

let server: StorageServer;
let serializable: string;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
  serializable = await serializableDatabase(server.url);
});
afterAll(() => server.stop());

const opening = (url: () => string) => () => {
  schemas += 1;
  return postgresHarness(url(), `share-${String(schemas)}`);
};
describeWith('postgres', 'a share of the conformance suite on PostgreSQL')('PostgreSQL', () => {
  leaseStoreShare(
    'postgres',
    opening(() => server.url),
  );
  brokenLeaseConformance(
    'postgres',
    opening(() => server.url),
  );
  leaseStoreShare(
    'postgres with serializable transactions',
    opening(() => serializable),
  );
});
