import type { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { describeWith } from '../support/needs';
import { clientAt, testRedis } from '../support/redis';
import { redisHarness } from './redis-harness';
import { brokenLeaseConformance, leaseStoreShare } from './suite';

let server: StorageServer;
let client: Redis;
let containers = 0;
beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const open = () => {
  containers += 1;
  return redisHarness(client, server.url, `share-${String(containers)}`);
};
describeWith('redis-server', 'a share of the conformance suite on Redis')('Redis', () => {
  leaseStoreShare('redis', open);
  brokenLeaseConformance('redis', open);
});
