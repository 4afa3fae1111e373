import type { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, vi } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { clientAt, storeAt, testRedis } from '../support/redis';
import { randomAgreement } from './random-agreement';

/** The scripts ask the server for its time in one place. Here they read it from a key. */
vi.mock('../../src/stores/redis/now', () => ({ NOW: "tonumber(redis.call('GET', '{random}:clock'))" }));

const CONTAINER = 'random';

let server: StorageServer;
let client: Client;
beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Breaks a lease as the adapter writes it. */
async function breakOutside(job: string, periodMs: number): Promise<void> {
  const key = `{${CONTAINER}}:jobs`;
  const [version, lease, length, ends] = ((await client.hget(key, job)) ?? '').split(' ');
  if (lease === undefined || lease === '-') return;
  await client.hset(key, job, [version, lease, length, Math.min(Number(ends), clock.now() + periodMs), 1].join(' '));
}

const clock = randomAgreement({
  name: 'Redis',
  setClock: async (now) => {
    await client.set(`{${CONTAINER}}:clock`, now);
  },
  async withEmpty(use) {
    await client.flushdb();
    await clock.pass(0);
    const store = storeAt({ url: server.url, container: CONTAINER });
    await store.prepare();
    await use({ store, breakOutside });
  },
});
