import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import type { ZooKeeper } from '../../src/local/cluster/zookeeper';
import type { Stat } from '../../src/stores/zookeeper/protocol';
import { NO_VERSION } from '../../src/stores/zookeeper/protocol';
import type { Session } from '../../src/stores/zookeeper/session';
import { memoryService } from '../../src/stores/memory/store';
import { sessionAt, storeAt, testZooKeeper } from '../support/zookeeper';
import { type Call, sequences } from './random-calls';
import { faultsOf } from './random-faults';
import { play, type Sides } from './random-play';

/** The test's time, and since when it has been so by the clock of this machine, which is the server's too. */
const clock = vi.hoisted(() => {
  let steps: { readonly since: number; readonly now: number }[] = [];
  return {
    start: (since: number, now: number): void => void (steps = [{ since, now }]),
    step: (since: number, now: number): void => void steps.push({ since, now }),
    now: (): number => steps.at(-1)?.now ?? 0,
    at: (ms: number): number => steps.findLast(({ since }) => since <= ms)?.now ?? 0,
  };
});

/** The adapter reads the leader's time from stats in one place. Here the test's time of that moment takes its place. */
vi.mock('../../src/stores/zookeeper/now', () => ({ timeOf: ({ writtenMs }: Stat) => clock.at(writtenMs) }));

const { RANDOM_SEQUENCES = '300', RANDOM_SEED, RANDOM_PATH } = process.env;
const SEQUENCES = Number(RANDOM_SEQUENCES);
/** Of a failure, as it was printed. */
const REPLAY = {
  ...(RANDOM_SEED !== undefined && { seed: Number(RANDOM_SEED) }),
  ...(RANDOM_PATH !== undefined && { path: RANDOM_PATH }),
};
/** On a machine that is very busy a part must do. */
const TIME_LIMIT_MS = 60_000;

let server: ZooKeeper;
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

/** A millisecond that no write has yet been made in. */
async function freshMs(): Promise<number> {
  const before = Date.now();
  while (Date.now() <= before) await setTimeout(1);
  return Date.now();
}

async function pass(ms: number): Promise<void> {
  clock.step(await freshMs(), clock.now() + ms);
}

/** Breaks a lease as the adapter writes it. A write of a lease would be its renewal, but for the end that it names. */
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
  const ends = lease.brokenUntil ?? clock.at(node.stat.writtenMs) + lease.ms;
  const data = Buffer.from(JSON.stringify({ ...lease, brokenUntil: Math.min(ends, clock.now() + periodMs) }));
  await session.multi([{ kind: 'set', path, data, version: NO_VERSION }]);
}

async function sides(spoil = (memory: LeaseStore): Partial<LeaseStore> => memory): Promise<Sides> {
  containers += 1;
  const container = `random-${String(containers)}`;
  const store = storeAt({ url: server.url, container });
  await store.prepare();
  clock.start(await freshMs(), Date.UTC(2026, 0, 1));
  const now = (): number => clock.now();
  const service = memoryService({ now, monotonic: now, after: () => () => undefined });
  const memory = service.open();
  return {
    now,
    pass,
    memory: {
      store: { ...memory, ...spoil(memory) },
      breakOutside: (job, periodMs) => {
        service.breakLease(job, periodMs);
        return Promise.resolve();
      },
    },
    other: { store, breakOutside: (job, periodMs) => breakOutside(container, job, periodMs) },
  };
}

describe('memory and ZooKeeper', () => {
  it(`answer alike in ${String(SEQUENCES)} random sequences`, async () => {
    const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
      expect(await play(calls, await sides(), [])).toEqual([]);
    });
    await fc.assert(property, { numRuns: SEQUENCES, interruptAfterTimeLimit: TIME_LIMIT_MS, ...REPLAY });
  });
});

describe('a fault in memory is seen', () => {
  for (const [title, spoil] of Object.entries(faultsOf(() => clock.now()))) {
    it(
      title,
      async () => {
        const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
          await play(calls, await sides(spoil), []);
        });
        // It ends with the first that sees it, and those are far more frequent.
        const { failed } = await fc.check(property, { numRuns: 10 * SEQUENCES, endOnFailure: true });
        expect(failed).toBe(true);
      },
      300_000,
    );
  }
});
