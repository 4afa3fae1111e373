import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { codeOf } from '../../src/stores/azure-blob/ask';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { randomAgreement } from './random-agreement';
import { KNOWN_DIFFERENCES } from './random-differences';

let azurite: Azurite;
let containers = 0;

/** Node itself dates what the emulator does not, from a clock that cannot be set. */
function date(message: unknown): void {
  (message as { response: ServerResponse }).response.setHeader('date', new Date().toUTCString());
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: clock.now() });
  subscribe('http.server.request.start', date);
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite.stop();
  unsubscribe('http.server.request.start', date);
  vi.useRealTimers();
});

async function inContainer(use: (container: ContainerClient) => Promise<void>): Promise<void> {
  containers += 1;
  const settings = { CRONLEASE_STORAGE: azurite.connectionString };
  const container = connectContainer(settings, `random-${String(containers)}`);
  await container.create();
  try {
    await use(container);
  } finally {
    await container.delete();
  }
}

/** The emulator runs in this process, and has its clock. */
const clock = randomAgreement({
  name: 'the emulator',
  setClock: (now) => {
    vi.setSystemTime(now);
  },
  withEmpty: (use) =>
    inContainer((container) =>
      use({
        store: azureBlobStore({ container, clock: systemClock }),
        breakOutside: async (job, periodMs) => {
          try {
            await container
              .getBlobClient(`jobs/${job}/lease`)
              .getBlobLeaseClient()
              .breakLease(periodMs / 1000);
          } catch (error) {
            if (!['LeaseNotPresentWithLeaseOperation', 'BlobNotFound'].includes(codeOf(error) ?? '')) throw error;
          }
        },
      }),
    ),
  excuses: KNOWN_DIFFERENCES.flatMap(({ name, excuse }) => (excuse === undefined ? [] : [{ name, ...excuse }])),
});

describe('a known difference of the emulator', () => {
  for (const { name, emulator, occurs } of KNOWN_DIFFERENCES) {
    it(`${name}: ${emulator}`, () =>
      inContainer(async (container) => {
        const blob = container.getBlockBlobClient('blob');
        await blob.upload('', 0);
        expect(await occurs({ blob, pass: (ms) => void clock.pass(ms) })).toBe(true);
      }));
  }
});
