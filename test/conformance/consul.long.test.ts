import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { canRun, canStart, type Client, clientAt, storeAt, testConsul } from '../support/consul';
import { writeRowElsewhere } from './elsewhere';
import { fakeServers, HTTP_FAILURES, remoteStoreConformance } from './remote';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

let server: StorageServer;
let client: Client;
let containers = 0;

function freshName(): string {
  containers += 1;
  return `conformance-${String(containers)}`;
}

/** Breaks a lease as the adapter writes it. */
async function breakOutside(container: string, job: string, periodMs: number): Promise<void> {
  const key = `${container}/jobs/${job}/lease/`;
  const lease = await client.get(key);
  if (lease === undefined) return;
  const held = JSON.parse(lease.value) as { readonly id?: string };
  if (held.id === undefined) return;
  await client.put(key, JSON.stringify({ ...held, isBroken: true }));
  if (periodMs === 0) await client.call('PUT', `session/destroy/${lease.session ?? ''}`);
}

async function openHarness(): Promise<BreakingHarness> {
  const container = freshName();
  const { url } = server;
  const open: BreakingHarness['open'] = () => storeAt({ url, container });
  await open().prepare();
  return {
    open,
    writeRowElsewhere: (job, metadata, guard) =>
      writeRowElsewhere({ connectionString: url, containerName: container, job, metadata, guard }),
    breakLease: (job, periodMs) => breakOutside(container, job, periodMs),
    // A session ends after twice its time.
    pass: (ms) => setTimeout(2 * ms + 1_000),
    now: () => Date.now(),
    close: () => client.removeAll(`${container}/`),
  };
}

const isThere = canRun('the conformance suite of Consul');
beforeAll(async () => {
  if (!isThere) return;
  server = await testConsul();
  client = clientAt(server.url);
}, 120_000);
afterAll(async () => {
  if (isThere) await server.stop();
});

describe.runIf(isThere)('Consul', () => {
  leaseStoreConformance('consul', openHarness);
  brokenLeaseConformance('consul', openHarness);
});

describe.runIf(canStart('the failures of Consul'))('Consul', () => {
  remoteStoreConformance('consul', HTTP_FAILURES, async () => {
    const { at, close } = fakeServers((port, timeout) =>
      storeAt({ url: `consul://127.0.0.1:${String(port)}`, container: freshName(), ...timeout }),
    );
    const others: StorageServer[] = [];
    return {
      stopped: async () => {
        const other = await testConsul({});
        const store = storeAt({ url: other.url, container: freshName() });
        await store.prepare();
        await other.stop();
        return store;
      },
      silent: () => at(() => undefined, 300),
      answering: (status) =>
        at((socket) => {
          const body = 'planned by a test';
          const head = `HTTP/1.1 ${status} Planned\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
          socket.on('data', (data) => /^(PUT|GET)/.test(data.toString('latin1')) && socket.write(head + body));
        }),
      cutting: () =>
        at((socket) => {
          // The beginning of an answer.
          socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"Results":'));
        }),
      missing: async () => storeAt({ url: server.url, container: freshName() }),
      async denied() {
        const acl = 'acl { enabled = true default_policy = "deny" }';
        const denying = await testConsul({
          settings: [
            ['bootstrap-expect', '1'],
            ['hcl', acl],
          ],
        });
        others.push(denying);
        const url = denying.url.replace('//', '//:4c1fe1de-0000-4000-8000-000000000000@');
        return storeAt({ url, container: freshName() });
      },
      async close() {
        await close();
        await Promise.all(others.map((other) => other.stop()));
      },
    };
  });
});
