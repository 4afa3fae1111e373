import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, vi } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import type * as Protocol from '../../src/stores/zookeeper/protocol';
import { NO_VERSION, type Stat } from '../../src/stores/zookeeper/protocol';
import type { Session } from '../../src/stores/zookeeper/session';
import { sessionAt, storeAt, testZooKeeper } from '../support/zookeeper';
import { randomAgreement } from './random-agreement';

/** The test's time, and since when it has been so by the clock of this machine, which is the server's too. */
const times = vi.hoisted(() => {
  const steps: { readonly since: number; readonly now: number }[] = [];
  return {
    set: (since: number, now: number): void => void steps.push({ since, now }),
    at: (ms: number): number => steps.findLast(({ since }) => since <= ms)?.now ?? 0,
  };
});

/** The adapter reads the leader's time from stats in one place. Here the test's time of that moment takes its place. */
vi.mock('../../src/stores/zookeeper/protocol', async (load) => {
  const real = await load<typeof Protocol>();
  const timed = (stat: Stat): Stat => ({ ...stat, writtenMs: times.at(stat.writtenMs) });
  return {
    ...real,
    statIn: (...args: Parameters<typeof real.statIn>) => timed(real.statIn(...args)),
    multiAnswerIn(...args: Parameters<typeof real.multiAnswerIn>) {
      const answer = real.multiAnswerIn(...args);
      return 'stats' in answer ? { stats: answer.stats.map(timed) } : answer;
    },
  };
});

let server: StorageServer;
let session: Session & { end(): void };
let containers = 0;
beforeAll(async () => {
  server = await testZooKeeper();
  session = await sessionAt(server.url);
}, 120_000);
afterAll(async () => {
  session.end();
  await server.stop();
});

/** A millisecond in which no write has been made yet. */
async function freshMs(): Promise<number> {
  const before = Date.now();
  while (Date.now() <= before) await setTimeout(1);
  return Date.now();
}

/** Breaks a lease as the adapter writes it. */
async function breakOutside(container: string, job: string, periodMs: number): Promise<void> {
  const path = `/${container}/jobs/${job}/lease`;
  const node = await session.get(path);
  if (node === undefined) return;
  const lease = JSON.parse(node.data.toString()) as {
    readonly id?: string;
    readonly ms: number;
    readonly brokenUntil?: number;
  };
  if (lease.id === undefined) return;
  const ends = lease.brokenUntil ?? node.stat.writtenMs + lease.ms;
  const data = Buffer.from(JSON.stringify({ ...lease, brokenUntil: Math.min(ends, clock.now() + periodMs) }));
  await session.multi([{ kind: 'set', path, data, version: NO_VERSION }]);
}

const clock = randomAgreement({
  name: 'ZooKeeper',
  setClock: async (now) => times.set(await freshMs(), now),
  async withEmpty(use) {
    containers += 1;
    const container = `random-${String(containers)}`;
    await clock.pass(0);
    const store = storeAt({ url: server.url, container });
    await store.prepare();
    await use({ store, breakOutside: (job, periodMs) => breakOutside(container, job, periodMs) });
  },
});
