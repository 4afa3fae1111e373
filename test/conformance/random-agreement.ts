import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpochMs, Millis } from '../../src/core/brand';
import type { LeaseStore, ListedRow } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { type Call, sequences } from './random-calls';
import { faultsOf } from './random-faults';
import { type NamedExcuse, play, type Side } from './random-play';

const { RANDOM_SEQUENCES = '300', RANDOM_SEED, RANDOM_PATH } = process.env;
const SEQUENCES = Number(RANDOM_SEQUENCES);
/** Of a failure, as it was printed. */
const REPLAY = {
  ...(RANDOM_SEED !== undefined && { seed: Number(RANDOM_SEED) }),
  ...(RANDOM_PATH !== undefined && { path: RANDOM_PATH }),
};
/** On a machine that is very busy a part must do. */
const TIME_LIMIT_MS = 60_000;
const START = Date.UTC(2026, 0, 1);

/** A store that is compared with the one in memory. */
export interface Compared {
  readonly name: string;
  /** Sets the clock of its service, which nothing else moves. */
  setClock(now: EpochMs): void | Promise<void>;
  /** Calls with a service that holds nothing. */
  withEmpty(use: (side: Side) => Promise<void>): Promise<void>;
  /** For known differences, each of which has to be met. Default: none. */
  readonly excuses?: readonly NamedExcuse[];
}

export interface RandomClock {
  now(): EpochMs;
  pass(ms: Millis): void | Promise<void>;
}

/** Makes the same random calls on a store and on the one in memory, which must answer alike. */
export function randomAgreement({ name, setClock, withEmpty, excuses = [] }: Compared): RandomClock {
  let now = START;
  const clock = {
    now: () => now,
    pass: (ms: Millis) => {
      now += ms;
      return setClock(now);
    },
  };
  const playOnce = async (
    calls: readonly Call[],
    use: (needed: readonly string[]) => void,
    spoil = (memory: LeaseStore): Partial<LeaseStore> => memory,
  ): Promise<void> => {
    await withEmpty(async (other) => {
      const service = memoryService({ now: clock.now, monotonic: clock.now, after: () => () => undefined });
      const store = service.open();
      const memory: Side = {
        store: { ...store, ...spoil(store) },
        breakOutside: async (job, periodMs) => {
          service.breakLease(job, periodMs);
        },
      };
      use(await play(calls, { ...clock, memory, other }, excuses));
    });
  };

  describe(`memory and ${name}`, () => {
    it(`answer alike in ${String(SEQUENCES)} random sequences`, async () => {
      const met = new Set<string>();
      const property = fc.asyncProperty(sequences, (calls: Call[]) =>
        playOnce(calls, (needed) => {
          for (const one of needed) met.add(one);
        }),
      );
      await fc.assert(property, { numRuns: SEQUENCES, interruptAfterTimeLimit: TIME_LIMIT_MS, ...REPLAY });
      for (const excuse of excuses) expect.soft(met, 'the differences that were met').toContain(excuse.name);
    });
  });

  describe('a fault in memory is seen', () => {
    for (const [title, spoil] of Object.entries(faultsOf(clock.now))) {
      it(
        title,
        async () => {
          const property = fc.asyncProperty(sequences, (calls: Call[]) => playOnce(calls, () => undefined, spoil));
          // It ends with the first that sees it, and those are far more frequent.
          const { failed } = await fc.check(property, { numRuns: 10 * SEQUENCES, endOnFailure: true });
          expect(failed).toBe(true);
        },
        300_000,
      );
    }
  });
  return clock;
}

/** The store in memory has one clock, and does not measure what is left of a lease. */
export function withoutLeft(store: LeaseStore): LeaseStore {
  return {
    ...store,
    async writeRow(...args) {
      const answer = await store.writeRow(...args);
      if (answer.kind === 'refused') return answer;
      const { leftMs, ...rest } = answer;
      expect(leftMs).toBeGreaterThanOrEqual(0);
      return rest;
    },
    async list(options) {
      const listing = await store.list(options);
      const jobs = [...listing.jobs].map(([job, { row, ...rest }]) => {
        const { leftMs, ...seen } = row ?? {};
        if (options?.job !== undefined && row?.lease === 'leased') expect(leftMs).toBeGreaterThanOrEqual(0);
        else expect(leftMs).toBeUndefined();
        return [job, { ...rest, ...(row && { row: seen as ListedRow }) }] as const;
      });
      return { ...listing, jobs: new Map(jobs) };
    },
  };
}
