import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { ContainerClient } from '@azure/storage-blob';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { codeOf } from '../../src/stores/azure-blob/errors';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type Call, sequences } from './random-calls';
import { faultsOf } from './random-faults';
import { KNOWN_DIFFERENCES } from './random-differences';
import { play, type Sides } from './random-play';

const { RANDOM_SEQUENCES = '300', RANDOM_SEED, RANDOM_PATH } = process.env;
const SEQUENCES = Number(RANDOM_SEQUENCES);
/** Of a failure, as it was printed. */
const REPLAY = {
  ...(RANDOM_SEED !== undefined && { seed: Number(RANDOM_SEED) }),
  ...(RANDOM_PATH !== undefined && { path: RANDOM_PATH }),
};
/** On a machine that is very busy a part must do. */
const TIME_LIMIT_MS = 60_000;
const EXCUSES = KNOWN_DIFFERENCES.flatMap(({ name, excuse }) => (excuse === undefined ? [] : [{ name, ...excuse }]));

let azurite: Azurite;
let containers = 0;
let now = Date.UTC(2026, 0, 1);

/** Moves the one clock of the emulator, which runs in this process, and of memory. Nothing else moves it. */
function pass(ms: number): void {
  now += ms;
  vi.setSystemTime(now);
}

/** Node itself dates what the emulator does not, from a clock that cannot be set. */
function date(message: unknown): void {
  (message as { response: ServerResponse }).response.setHeader('date', new Date().toUTCString());
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now });
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

function sidesOn(container: ContainerClient, spoil = (store: LeaseStore): Partial<LeaseStore> => store): Sides {
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
    other: {
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
    },
  };
}

describe('memory and the emulator', () => {
  it(`answer alike in ${String(SEQUENCES)} random sequences, but for what is known`, async () => {
    const excused = new Map<string, number>();
    const property = fc.asyncProperty(sequences, (calls: Call[]) =>
      inContainer(async (container) => {
        for (const name of await play(calls, sidesOn(container), EXCUSES)) {
          excused.set(name, (excused.get(name) ?? 0) + 1);
        }
      }),
    );
    await fc.assert(property, { numRuns: SEQUENCES, interruptAfterTimeLimit: TIME_LIMIT_MS, ...REPLAY });
    for (const { name } of EXCUSES) expect.soft(excused.get(name), `${name} was never met`).toBeGreaterThan(0);
  });
});

describe('a fault in memory is seen', () => {
  for (const [title, spoil] of Object.entries(faultsOf(() => now))) {
    it(
      title,
      async () => {
        const property = fc.asyncProperty(sequences, (calls: Call[]) =>
          inContainer(async (container) => {
            await play(calls, sidesOn(container, spoil), EXCUSES);
          }),
        );
        // It ends with the first that sees it, and those are far more frequent.
        const { failed } = await fc.check(property, { numRuns: 10 * SEQUENCES, endOnFailure: true });
        expect(failed).toBe(true);
      },
      300_000,
    );
  }
});

describe('a known difference of the emulator', () => {
  for (const { name, emulator, occurs } of KNOWN_DIFFERENCES) {
    it(`${name}: ${emulator}`, () =>
      inContainer(async (container) => {
        const blob = container.getBlockBlobClient('blob');
        await blob.upload('', 0);
        expect(await occurs({ blob, pass })).toBe(true);
      }));
  }
});
