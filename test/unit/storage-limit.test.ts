import { describe, expect, it } from 'vitest';
import { type ScaleClock, scaleClock } from '../../bench/scale/clock';
import { nextFire, scaleInstance } from '../../bench/scale/instance';
import { sleep } from '../../src/core/clock';
import { type CallOptions, type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { createTurns, urgencyOf } from '../../src/stores/azure-blob/few-connections';
import { memoryService } from '../../src/stores/memory/store';
import { jobSpec } from '../support/job';

/** What a call to storage meets before and after it takes effect. Each may reject. */
interface Weather {
  before(call: string): Promise<void>;
  after(): Promise<void>;
}

/** Storage for deployments that send it a few calls at once, as the adapter of blobs does. */
function storage(clock: ScaleClock, atOnce: { readonly list: number; readonly others: number }, weather: Weather) {
  const service = memoryService(clock);
  return (): LeaseStore => {
    const lanes = {
      list: createTurns(atOnce.list, clock.monotonic),
      others: createTurns(atOnce.others, clock.monotonic),
    };
    return new Proxy(service.open(), {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const signal = (args.at(-1) as CallOptions | undefined)?.signal;
          const turns = name === 'list' ? lanes.list : lanes.others;
          await turns.take(signal, urgencyOf(name === 'acquire' ? name : 'metadata', signal));
          try {
            await weather.before(String(name));
            const answer = await (Reflect.apply(value, target, args) as Promise<unknown>);
            await weather.after();
            return answer;
          } finally {
            turns.end();
          }
        };
      },
    });
  };
}

/** Storage that makes one call after the other. */
function oneAfterTheOther(clock: ScaleClock, callMs: number): Weather {
  let freeAt = 0;
  return {
    async before() {
      freeAt = Math.max(freeAt, clock.monotonic()) + callMs;
      await sleep(clock, freeAt - clock.monotonic());
    },
    after: async () => undefined,
  };
}

/** Three deployments with so many jobs. Returns when each run started. */
async function play(
  { count, schedule, forMs }: { readonly count: number; readonly schedule: string; readonly forMs: number },
  clock: ScaleClock,
  open: () => LeaseStore,
): Promise<readonly number[]> {
  const startedAt: number[] = [];
  const jobs = Array.from({ length: count }, (_, index) => jobSpec(`job-${String(index)}`, schedule));
  const onRun = (): void => void startedAt.push(clock.now());
  const instances = ['d1', 'd2', 'd3'].map((deployment) =>
    scaleInstance({ deployment, jobs, clock, store: open(), sweepIntervalMs: 60_000, onRun, warn: () => undefined }),
  );
  const everyFire = async (tick: () => Promise<void>): Promise<never> => {
    for (;;) {
      await sleep(clock, nextFire(clock.now()) - clock.now());
      await tick();
    }
  };
  for (const { tick } of instances) void everyFire(tick);
  await clock.advance(forMs);
  return startedAt;
}

/** All are due at :05 of the hour. */
const ONCE = { schedule: '5 * * * *', forMs: 9 * 60_000 };

describe('jobs that are all due at once', () => {
  it('run no second time past the limit of storage', { timeout: 240_000 }, async () => {
    const clock = scaleClock(Date.UTC(2026, 0, 1, 0, 0, 5));
    // It answers about 60 calls a second. Just the ends of 400 runs are 800 calls.
    const open = storage(clock, { list: 2, others: 14 }, oneAfterTheOther(clock, 17));
    expect(await play({ count: 400, ...ONCE }, clock, open)).toHaveLength(400);
  });

  it(
    'run once and within the minute while storage takes 300 ms and answers 503 to every fifth call',
    { timeout: 240_000 },
    async () => {
      const clock = scaleClock(Date.UTC(2026, 0, 1, 0, 0, 5));
      /** Half of the refused calls take effect. */
      const refusing = (every: number) => {
        let calls = 0;
        return async (): Promise<void> => {
          await sleep(clock, 150);
          calls += 1;
          if (calls % every === 0) throw new StoreUnavailableError('503 Server Busy');
        };
      };
      const open = storage(clock, { list: 8, others: 92 }, { before: refusing(9), after: refusing(11) });
      const startedAt = await play({ count: 1_000, ...ONCE }, clock, open);
      expect(startedAt).toHaveLength(1_000);
      expect(Math.max(...startedAt)).toBeLessThan(Date.UTC(2026, 0, 1, 0, 6));
    },
  );
});

it('deployments lose few races for jobs of each second past the limit of storage', { timeout: 240_000 }, async () => {
  const clock = scaleClock(Date.UTC(2026, 0, 1, 0, 0, 5));
  const weather = oneAfterTheOther(clock, 20);
  let acquisitions = 0;
  const before = (call: string): Promise<void> => {
    if (call === 'acquire') acquisitions += 1;
    return weather.before(call);
  };
  const open = storage(clock, { list: 2, others: 14 }, { ...weather, before });
  const runs = (await play({ count: 20, schedule: '* * * * * *', forMs: 3 * 60_000 }, clock, open)).length;
  expect(runs).toBeGreaterThan(1_000);
  expect(acquisitions / runs).toBeLessThan(1.1);
});
