import type { Redis as Client } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { clientAt, storeAt, testRedis, urlAt } from '../support/redis';
import { redisHarness } from './redis-harness';
import { fakeServers, remoteStoreConformance } from './remote';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

let server: StorageServer;
let client: Client;
let containers = 0;
beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function freshName(): string {
  containers += 1;
  return `conformance-${String(containers)}`;
}

const openHarness = (): Promise<BreakingHarness> => redisHarness(client, server.url, freshName());

leaseStoreConformance('redis', openHarness);
brokenLeaseConformance('redis', openHarness);

/** A start, no memory, a script that is too slow, files that cannot be written, no primary, keys that move, a fault. */
const FAILURES = ['LOADING', 'OOM', 'BUSY', 'MISCONF', 'CLUSTERDOWN', 'ASK', 'READONLY', 'ERR'];

remoteStoreConformance('redis', FAILURES, async () => {
  const { at, close } = fakeServers((port, timeout) =>
    storeAt({ url: urlAt(port), container: freshName(), ...timeout }),
  );
  /** Each command of the client is an array. */
  const commandsIn = (data: Buffer): number => data.toString('latin1').split(/^\*\d+\r$/m).length - 1;
  return {
    stopped: async () => {
      const other = await testRedis();
      const store = storeAt({ url: other.url, container: freshName() });
      await store.prepare();
      await other.stop();
      return store;
    },
    silent: () => at(() => undefined, 300),
    answering: (code) =>
      at((socket) => {
        socket.on('data', (data) => socket.write(`-${code} planned by a test\r\n`.repeat(commandsIn(data))));
      }),
    cutting: () =>
      at((socket) => {
        // The beginning of a text.
        socket.on('data', () => socket.end('$100\r\nabc'));
      }),
    missing: async () => storeAt({ url: server.url, container: freshName() }),
    denied: async () => storeAt({ url: server.url.replace('//', '//nobody-here:wrong@'), container: freshName() }),
    close,
  };
});
