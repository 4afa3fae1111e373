import { afterEach, describe, expect, it, vi } from 'vitest';
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
    renewAll(): void {
      calls.push(...blobs.map((blob) => blob.getBlobLeaseClient('an-id').renewLease(options)));
    },
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
    ['the emulator', 'http', 'devstoreaccount1', { calls: 10, renewals: 4, listings: 2 }],
    ['Azure', 'https', 'account', { calls: 72, renewals: 20, listings: 8 }],
    ["a service of one's own", 'http', 'account', { calls: CALLS, renewals: CALLS, listings: CALLS }],
  ])(
    'to %s share the connections that it has for them, and keep no renewal or listing waiting',
    async (_service, protocol, account, limits) => {
      const { port, received } = await silent();
      /** The number of connections, once no more are opened. */
      const opened = async (expected: number): Promise<number> => {
        await vi.waitUntil(() => received.length >= expected, GENEROUS_MS);
        // Those above the limit, if there were any, would have been opened in the same turn.
        await new Promise((resolve) => setTimeout(resolve, 200));
        return received.length;
      };
      const { renewAll, listAll, giveUp } = callMany(`${protocol}://127.0.0.1:${String(port)}/${account}`, account);
      const before = await opened(limits.calls);
      renewAll();
      const renewed = await opened(limits.calls + limits.renewals);
      listAll();
      const listed = await opened(limits.calls + limits.renewals + limits.listings);
      await giveUp();
      expect([before, renewed - before, listed - renewed]).toEqual([limits.calls, limits.renewals, limits.listings]);
    },
  );

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
