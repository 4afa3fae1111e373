import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { type Client, clientAt, storeAt, urlAt } from '../support/etcd';
import { writeRowElsewhere } from './elsewhere';
import { fakeServers, HTTP_FAILURES, remoteStoreConformance } from './remote';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

/** The leader looks for leases that have ended twice a second, and has the cluster agree on each. */
const ENDS_LATE_MS = 2_000;

let server: StorageServer;
let client: Client;
let containers = 0;
beforeAll(async () => {
  server = await startStorageServer('etcd');
  client = clientAt(server);
});
afterAll(() => server.stop());

function freshName(): string {
  containers += 1;
  return `conformance-${String(containers)}`;
}

/** Breaks a lease as the adapter writes it. */
async function breakOutside(container: string, job: string, periodMs: number): Promise<void> {
  const [terms, lock] = [`/${container}/jobs-terms/${job}`, `/${container}/jobs-locks/${job}`];
  const [held, locked] = [await client.get(terms), await client.get(lock)];
  if (held === undefined) return;
  await client.put(terms, `${held.value.split(' ')[0] ?? ''} broken`);
  if (periodMs === 0 || locked === undefined) return client.remove(lock);
  const { ID } = await client.call('lease/grant', { TTL: String(periodMs / 1000) });
  await client.put(lock, locked.value, ID);
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
    pass: (ms) => setTimeout(ms + ENDS_LATE_MS),
    now: () => Date.now(),
    close: () => client.removeAll(`/${container}/`),
  };
}

leaseStoreConformance('etcd', openHarness);
brokenLeaseConformance('etcd', openHarness);

remoteStoreConformance('etcd', HTTP_FAILURES, async () => {
  const { at, close } = fakeServers((port, timeout) =>
    storeAt({ url: urlAt(port), container: freshName(), ...timeout }),
  );
  return {
    stopped: async () => {
      const other = await startStorageServer('etcd');
      const store = storeAt({ url: other.url, container: freshName() });
      await store.prepare();
      await other.stop();
      return store;
    },
    silent: () => at(() => undefined, 300),
    answering: (status) =>
      at((socket) => {
        const body = '{"error":"etcdserver: planned by a test","code":14}';
        const head = `HTTP/1.1 ${status} Planned\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
        socket.on('data', (data) => data.toString('latin1').startsWith('POST') && socket.write(head + body));
      }),
    cutting: () =>
      at((socket) => {
        // The beginning of an answer.
        socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"header":'));
      }),
    missing: async () => storeAt({ url: server.url, container: freshName() }),
    denied: async () => storeAt({ url: server.url.replace('//', '//nobody-here:wrong@'), container: freshName() }),
    close,
  };
});
