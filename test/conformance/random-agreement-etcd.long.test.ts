import { afterAll, beforeAll, vi } from 'vitest';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import type { Exchange } from '../../src/stores/etcd/members';
import type * as Time from '../../src/stores/etcd/time';
import { type Client, clientAt, storeAt } from '../support/etcd';
import { randomAgreement, withoutLeft } from './random-agreement';

/** The time of the members, and when each lease of etcd ends by it. */
const time = vi.hoisted(() => ({ now: 0, ends: new Map<string, number>() }));

vi.mock('../../src/stores/http/time', () => ({
  dateIn: () => Math.floor(time.now / 1000) * 1000,
  memberTime: () => ({ observe: () => undefined, now: () => time.now }),
}));

/** Here leases last forever, and the test ends them. */
vi.mock('../../src/stores/etcd/time', async (load) => {
  const real = await load<typeof Time>();
  return {
    async grant(exchange: Exchange, seconds: number, signal: AbortSignal) {
      const { lease } = await real.grant(exchange, 86_400, signal);
      time.ends.set(lease, time.now + seconds * 1000);
      return { lease, date: Math.floor(time.now / 1000) * 1000 };
    },
    /** etcd itself cuts to whole seconds, while the port rounds. */
    remaining: (_: Exchange, lease: string) =>
      Promise.resolve(Math.max(0, Math.round(((time.ends.get(lease) ?? 0) - time.now) / 1000) * 1000)),
  };
});

const CONTAINER = 'random';

let server: StorageServer;
let client: Client;
beforeAll(async () => {
  server = await startStorageServer('etcd');
  client = clientAt(server);
});
afterAll(() => server.stop());

async function endLeases(): Promise<void> {
  for (const [lease, end] of time.ends) {
    if (end > time.now) continue;
    time.ends.delete(lease);
    await client.call('lease/revoke', { ID: lease });
  }
}

/** Breaks a lease as the adapter writes it. */
async function breakOutside(job: string, periodMs: number): Promise<void> {
  const [terms, lock] = [`/${CONTAINER}/jobs-terms/${job}`, `/${CONTAINER}/jobs-locks/${job}`];
  const [held, locked] = [await client.get(terms), await client.get(lock)];
  if (held === undefined) return;
  await client.put(terms, `${held.value.split(' ')[0] ?? ''} broken`);
  const lease = locked?.lease ?? '';
  time.ends.set(lease, Math.min(time.ends.get(lease) ?? 0, time.now + periodMs));
  if (locked === undefined) time.ends.delete(lease);
  await endLeases();
}

const clock = randomAgreement({
  name: 'etcd',
  setClock: async (now) => {
    time.now = now;
    await endLeases();
  },
  async withEmpty(use) {
    time.ends.clear();
    await client.removeAll(`/${CONTAINER}/`);
    await clock.pass(0);
    const store = storeAt({ url: server.url, container: CONTAINER });
    await store.prepare();
    await use({ store: withoutLeft(store), breakOutside });
  },
});
