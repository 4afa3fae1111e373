import { setTimeout } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { storeAt } from '../support/redis';
import { writeRowElsewhere } from './elsewhere';
import type { BreakingHarness } from './suite';

interface Breaking {
  readonly job: string;
  readonly periodMs: number;
}

/** Breaks a lease as the adapter writes it: version, id, length, end, and whether it is broken. */
async function breakOutside(client: Redis, container: string, { job, periodMs }: Breaking): Promise<void> {
  const key = `{${container}}:jobs`;
  const [version, lease, length, ends] = ((await client.hget(key, job)) ?? '').split(' ');
  if (lease === undefined || lease === '-') return;
  const [seconds, micros] = await client.time();
  const end = Math.min(Number(ends), Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) + periodMs);
  await client.hset(key, job, [version, lease, length, end, 1].join(' '));
}

/** A store in its own container, which is removed with it. */
export async function redisHarness(client: Redis, url: string, container: string): Promise<BreakingHarness> {
  const open: BreakingHarness['open'] = () => storeAt({ url, container });
  await open().prepare();
  return {
    open,
    writeRowElsewhere: (job, metadata, guard) =>
      writeRowElsewhere({ connectionString: url, containerName: container, job, metadata, guard }),
    breakLease: (job, periodMs) => breakOutside(client, container, { job, periodMs }),
    pass: (ms) => setTimeout(ms),
    now: () => Date.now(),
    close: async () => {
      const keys = await client.keys(`{${container}}:*`);
      if (keys.length > 0) await client.del(...keys);
    },
  };
}
