import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/cluster/server';
import { testPostgres } from '../support/postgres';
import { postgresHarness } from './postgres-harness';
import { brokenLeaseConformance, leaseStoreShare } from './suite';

let server: StorageServer;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
});
afterAll(() => server.stop());

const open = () => {
  schemas += 1;
  return postgresHarness(server.url, `share-${String(schemas)}`);
};
leaseStoreShare('postgres', open);
brokenLeaseConformance('postgres', open);
