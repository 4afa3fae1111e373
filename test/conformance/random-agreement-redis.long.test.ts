import fc from 'fast-check';
import type { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import type { Redis } from '../../src/local/cluster/redis';
import { memoryService } from '../../src/stores/memory/store';
import { clientAt, storeAt, testRedis } from '../support/redis';
import { type Call, sequences } from './random-calls';
import { faultsOf } from './random-faults';
import { play, type Sides } from './random-play';

/** The scripts ask the server for its time in one place. Here they read it from a key. */
vi.mock('../../src/stores/redis/now', () => ({ NOW: "tonumber(redis.call('GET', '{random}:clock'))" }));

const { RANDOM_SEQUENCES = '300', RANDOM_SEED, RANDOM_PATH } = process.env;
const SEQUENCES = Number(RANDOM_SEQUENCES);
/** Of a failure, as it was printed. */
const REPLAY = {
  ...(RANDOM_SEED !== undefined && { seed: Number(RANDOM_SEED) }),
  ...(RANDOM_PATH !== undefined && { path: RANDOM_PATH }),
};
/** On a machine that is very busy a part must do. */
const TIME_LIMIT_MS = 60_000;
const CONTAINER = 'random';

let server: Redis;
let client: Client;
let store: LeaseStore & Required<Pick<LeaseStore, 'breakLease'>>;
let now = Date.UTC(2026, 0, 1);

async function pass(ms: number): Promise<void> {
  now += ms;
  await client.set('{random}:clock', now);
}

beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
  store = storeAt({ url: server.url, container: CONTAINER });
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
  await client.hset(key, job, [version, lease, length, Math.min(Number(ends), now + periodMs), 1].join(' '));
}

async function sides(spoil = (memory: LeaseStore): Partial<LeaseStore> => memory): Promise<Sides> {
  await client.flushdb();
  await pass(0);
  await store.prepare();
  const service = memoryService({ now: () => now, monotonic: () => now, after: () => () => undefined });
  const memory = service.open();
  return {
    now: () => now,
    pass,
    memory: {
      store: { ...memory, ...spoil(memory) },
      breakOutside: async (job, periodMs) => {
        service.breakLease(job, periodMs);
      },
    },
    other: { store, breakOutside },
  };
}

describe('memory and Redis', () => {
  it(`answer alike in ${String(SEQUENCES)} random sequences`, async () => {
    const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
      expect(await play(calls, await sides(), [])).toEqual([]);
    });
    await fc.assert(property, { numRuns: SEQUENCES, interruptAfterTimeLimit: TIME_LIMIT_MS, ...REPLAY });
  });
});

describe('a fault in memory is seen', () => {
  for (const [title, spoil] of Object.entries(faultsOf(() => now))) {
    it(
      title,
      async () => {
        const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
          await play(calls, await sides(spoil), []);
        });
        // It ends with the first that sees it, and those are far more frequent.
        const { failed } = await fc.check(property, { numRuns: 10 * SEQUENCES, endOnFailure: true });
        expect(failed).toBe(true);
      },
      300_000,
    );
  }
});
