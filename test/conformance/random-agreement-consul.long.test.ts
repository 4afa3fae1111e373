import { afterAll, beforeAll, describe, vi } from 'vitest';
import type { Millis } from '../../src/core/brand';
import type { StorageServer } from '../../src/local/servers/server';
import type { Clock } from '../../src/core/clock';
import type * as Sessions from '../../src/stores/consul/sessions';
import { canRun, type Client, clientAt, storeAt, testConsul } from '../support/consul';
import { randomAgreement, withoutLeft } from './random-agreement';

/** The time of the agents, and when each session ends by it. */
const time = vi.hoisted(() => ({ now: 0, ends: new Map<string, number>() }));

vi.mock('../../src/stores/http/time', () => ({
  dateIn: () => Math.floor(time.now / 1000) * 1000,
  memberTime: () => ({ observe: () => undefined, now: () => time.now }),
}));

/** Here sessions last forever, and the test ends them. */
vi.mock('../../src/stores/consul/sessions', async (load) => {
  const real = await load<typeof Sessions>();
  return {
    async makeSession(place: Parameters<typeof real.makeSession>[0], seconds: number, signal: AbortSignal) {
      const session = await real.makeSession(place, 86_400, signal);
      time.ends.set(session, time.now + seconds * 1000);
      return session;
    },
    leftOf(_: Clock, session: string): Millis | undefined {
      const end = time.ends.get(session);
      return end === undefined ? undefined : Math.max(0, Math.round((end - time.now) / 1000) * 1000);
    },
  };
});

const CONTAINER = 'random';

let server: StorageServer;
let client: Client;

async function endSessions(): Promise<void> {
  for (const [session, end] of time.ends) {
    if (end > time.now) continue;
    time.ends.delete(session);
    await client.call('PUT', `session/destroy/${session}`);
  }
}

/** Breaks a lease as the adapter writes it. */
async function breakOutside(job: string, periodMs: number): Promise<void> {
  const key = `${CONTAINER}/jobs/${job}/lease/`;
  const lease = await client.get(key);
  const held = JSON.parse(lease?.value ?? '{}') as { readonly id?: string };
  if (held.id === undefined) return;
  await client.put(key, JSON.stringify({ ...held, isBroken: true }));
  const session = lease?.session;
  if (session !== undefined) time.ends.set(session, Math.min(time.ends.get(session) ?? 0, time.now + periodMs));
  await endSessions();
}

describe.runIf(canRun('the random comparison of Consul with memory'))('Consul', () => {
  beforeAll(async () => {
    server = await testConsul();
    client = clientAt(server.url);
  }, 120_000);
  afterAll(() => server.stop());

  const clock = randomAgreement({
    name: 'Consul',
    setClock: async (now) => {
      time.now = now;
      await endSessions();
    },
    async withEmpty(use) {
      time.ends.clear();
      await client.removeAll(`${CONTAINER}/`);
      await clock.pass(0);
      const store = storeAt({ url: server.url, container: CONTAINER });
      await store.prepare();
      await use({ store: withoutLeft(store), breakOutside });
    },
  });
});
