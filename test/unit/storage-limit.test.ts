import { expect, it } from 'vitest';
import { type ScaleClock, scaleClock } from '../../bench/scale/clock';
import { nextFire, scaleInstance } from '../../bench/scale/instance';
import { sleep } from '../../src/core/clock';
import type { CallOptions, LeaseStore } from '../../src/lease/store';
import { urgencyOf } from '../../src/stores/azure-blob/few-connections';
import { createTurns } from '../../src/stores/azure-blob/turns';
import { memoryService } from '../../src/stores/memory/store';
import { jobSpec } from '../support/job';

const JOBS = 400;
/** The storage answers about 60 calls a second. Just the ends of 400 runs are 800 calls. */
const CALL_MS = 17;
const CALLS_AT_ONCE = 14;

/** Storage that makes one call after the other, for deployments that send it a few at once. */
function slowStorage(clock: ScaleClock): () => LeaseStore {
  const service = memoryService(clock);
  let freeAt = 0;
  const answered = async (): Promise<void> => {
    freeAt = Math.max(freeAt, clock.monotonic()) + CALL_MS;
    await sleep(clock, freeAt - clock.monotonic());
  };
  return () => {
    const lanes = { list: createTurns(2, clock.monotonic), others: createTurns(CALLS_AT_ONCE, clock.monotonic) };
    return new Proxy(service.open(), {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const signal = (args.at(-1) as CallOptions | undefined)?.signal;
          const turns = name === 'list' ? lanes.list : lanes.others;
          await turns.take(signal, urgencyOf(name === 'acquire' ? name : 'metadata', signal));
          try {
            await answered();
            return await (Reflect.apply(value, target, args) as Promise<unknown>);
          } finally {
            turns.end();
          }
        };
      },
    });
  };
}

it('runs jobs that are due at once no second time past the limit of storage', { timeout: 240_000 }, async () => {
  const clock = scaleClock(Date.UTC(2026, 0, 1, 0, 0, 5));
  const open = slowStorage(clock);
  const jobs = Array.from({ length: JOBS }, (_, index) => jobSpec(`job-${String(index)}`, '*/5 * * * *'));
  const instances = ['d1', 'd2', 'd3'].map((deployment) =>
    scaleInstance({ deployment, jobs, clock, store: open(), sweepIntervalMs: 60_000 }),
  );
  const everyFire = async (tick: () => Promise<void>): Promise<never> => {
    for (;;) {
      await sleep(clock, nextFire(clock.now()) - clock.now());
      await tick();
    }
  };
  for (const { tick } of instances) void everyFire(tick);
  await clock.advance(9 * 60_000);
  expect(instances.reduce((sum, { runs }) => sum + runs, 0)).toBe(JOBS);
});
