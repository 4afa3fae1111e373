import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ETag, JobName, LeaseId } from '../../src/core/brand';
import { within } from '../../src/lease/deadline';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { ACCOUNT_KEY } from '../support/azurite';
import { type Listener, listen } from '../support/listen';

const CALLS = 300;
/** Many times what the calls below take to open their connections on a busy machine. */
const GENEROUS_MS = 20_000;

const listeners: Listener[] = [];
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close();
  vi.unstubAllEnvs();
});

/** Something that takes connections, and never answers. */
async function silent(): Promise<{ readonly port: number; readonly received: string[] }> {
  const received: string[] = [];
  const listener = await listen((socket) => {
    const index = received.push('') - 1;
    socket.on('data', (data) => {
      received[index] += data.toString('latin1');
    });
  });
  listeners.push(listener);
  return { port: listener.port, received };
}

/** Makes many calls at once. */
function callMany(endpoint: string, account: string) {
  const connection = `BlobEndpoint=${endpoint};AccountName=${account};AccountKey=${ACCOUNT_KEY}`;
  const container = connectContainer({ CRONLEASE_STORAGE: connection });
  const controller = new AbortController();
  const options = { abortSignal: controller.signal };
  const blobs = Array.from({ length: CALLS }, (_, index) => container.getBlobClient(`jobs/job${String(index)}/lease`));
  const calls = blobs.map((blob): Promise<unknown> => blob.getProperties(options));
  return {
    listAll(): void {
      calls.push(...blobs.map(() => container.listBlobsFlat(options).next()));
    },
    async giveUp(): Promise<void> {
      controller.abort();
      await Promise.allSettled(calls);
    },
  };
}

describe('many calls at once', () => {
  it.each([
    ['the emulator', 'http', 'devstoreaccount1', { calls: 14, listings: 2 }],
    ['Azure', 'https', 'account', { calls: 92, listings: 8 }],
    ["a service of one's own", 'http', 'account', { calls: CALLS, listings: CALLS }],
  ])(
    'to %s share the connections that it has for them, and keep no listing waiting',
    async (_service, protocol, account, limits) => {
      const { port, received } = await silent();
      /** The number of connections, once no more are opened. */
      const opened = async (expected: number): Promise<number> => {
        await vi.waitUntil(() => received.length >= expected, GENEROUS_MS);
        // Those above the limit, if there were any, would have been opened in the same turn.
        await new Promise((resolve) => setTimeout(resolve, 200));
        return received.length;
      };
      const { listAll, giveUp } = callMany(`${protocol}://127.0.0.1:${String(port)}/${account}`, account);
      const before = await opened(limits.calls);
      listAll();
      const listed = await opened(limits.calls + limits.listings);
      await giveUp();
      expect([before, listed - before]).toEqual([limits.calls, limits.listings]);
    },
  );

  it('are sent by what is left of their leases, and acquisitions last', async () => {
    const urls: string[] = [];
    const held: (() => void)[] = [];
    const server = createServer((request, response) => {
      urls.push(`${request.headers['x-ms-lease-action']?.toString() ?? 'other'} ${request.url?.split('/')[4] ?? ''}`);
      held.push(() => response.writeHead(412, { date: new Date().toUTCString() }).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    listeners.push({ port: 0, close: () => server.close() });
    const { port } = server.address() as AddressInfo;
    const connection = `BlobEndpoint=http://127.0.0.1:${String(port)}/devstoreaccount1;AccountName=devstoreaccount1;AccountKey=${ACCOUNT_KEY}`;
    const store = openStore({
      settings: { CRONLEASE_STORAGE: connection },
      container: 'cronlease',
      clock: systemClock,
    });
    const lease = { leaseId: randomUUID() as LeaseId, leaseMs: 30_000, ifMatch: '"0x1"' as ETag };
    const calls: Promise<unknown>[] = [];
    const settled = (call: Promise<unknown>): void => void calls.push(call.catch(() => undefined));
    const acquire = (job: string): void => settled(store.acquire(job as JobName, lease));
    const renew = (job: string, leftMs: number): void =>
      settled(
        within(systemClock, 60_000, (signal) => store.renew(job as JobName, lease.leaseId, { signal }), { leftMs }),
      );
    for (let index = 0; index < 14; index += 1) acquire('first');
    await vi.waitUntil(() => urls.length === 14, GENEROUS_MS);
    acquire('begins');
    renew('later', 20_000);
    renew('sooner', 10_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (let sent = 14; sent <= 17; sent += 1) {
      await vi.waitUntil(() => urls.length === sent, GENEROUS_MS);
      held[sent - 14]?.();
    }
    for (const answer of held.slice(4)) answer();
    await Promise.all(calls);
    expect(urls.slice(14)).toEqual(['renew sooner', 'renew later', 'acquire begins']);
  });

  it('go to Azure through the proxy that the environment names', async () => {
    const proxy = await silent();
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${String(proxy.port)}`);
    const { giveUp } = callMany('https://account.blob.core.windows.net', 'account');
    await vi.waitUntil(() => proxy.received.some((text) => text !== ''), GENEROUS_MS);
    await giveUp();
    expect(proxy.received.find((text) => text !== '')).toMatch(/^CONNECT account\.blob\.core\.windows\.net:443 /);
  });

  it('go to the emulator without a proxy', async () => {
    const [proxy, emulator] = [await silent(), await silent()];
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${String(proxy.port)}`);
    const { giveUp } = callMany(`http://127.0.0.1:${String(emulator.port)}/devstoreaccount1`, 'devstoreaccount1');
    await vi.waitUntil(() => emulator.received.some((text) => text !== ''), GENEROUS_MS);
    await giveUp();
    expect(proxy.received).toEqual([]);
  });
});
