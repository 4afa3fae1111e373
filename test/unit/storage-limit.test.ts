import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ScaleClock, scaleClock } from '../../bench/scale/clock';
import { nextFire } from '../../bench/scale/instance';
import { dispatch } from '../../src/coordinator/attempt/dispatch';
import { type Hub, type Report, createCoordinator } from '../../src/coordinator/coordinator';
import { createTicker } from '../../src/coordinator/tick/tick';
import { sleep } from '../../src/core/clock';
import type { JobContext } from '../../src/handler/handler';
import { deadlineOf } from '../../src/lease/deadline';
import type { CallOptions, LeaseStore } from '../../src/lease/store';
import { createTurns } from '../../src/stores/azure-blob/turns';
import { memoryService } from '../../src/stores/memory/store';
import { jobSpec } from '../support/job';
import { playOrchestration } from '../support/orchestrations';

const JOBS = 400;
/** The storage answers some 60 calls a second. The ends of 400 runs alone are 800 calls. */
const CALL_MS = 17;
const DEPLOYMENTS = 3;
const CALLS_AT_ONCE = 14;

/** Storage that makes one call after the other, and deployments that send it a few at once. */
function slowStorage(clock: ScaleClock) {
  const service = memoryService(clock);
  let freeAt = 0;
  const answered = async (): Promise<void> => {
    freeAt = Math.max(freeAt, clock.monotonic()) + CALL_MS;
    await sleep(clock, freeAt - clock.monotonic());
  };
  return (): LeaseStore => {
    const lanes = { list: createTurns(2, clock.monotonic), others: createTurns(CALLS_AT_ONCE, clock.monotonic) };
    return new Proxy(service.open(), {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const signal = (args.at(-1) as CallOptions | undefined)?.signal;
          const turns = name === 'list' ? lanes.list : lanes.others;
          const deadline = deadlineOf(signal);
          await turns.take(signal, { deadline, begins: name === 'acquire' && deadline === Infinity });
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

describe('many jobs that are due at once, past the limit of storage', () => {
  it('run once each, because what has run is ended before something else begins', { timeout: 240_000 }, async () => {
    const clock = scaleClock(Date.UTC(2026, 0, 1, 0, 0, 5));
    const open = slowStorage(clock);
    const specs = Array.from({ length: JOBS }, (_, index) => jobSpec(`job-${String(index)}`, '*/5 * * * *'));
    const attempts: number[] = [];
    const run = async ({ attempt }: JobContext): Promise<void> => {
      attempts.push(attempt);
      await sleep(clock, 20);
    };
    const report: Report = { event: () => undefined, log: () => undefined };
    for (let index = 0; index < DEPLOYMENTS; index += 1) {
      const coordinator = createCoordinator({
        ...{ store: open(), clock, deployment: `d${String(index)}`, random: Math.random, newId: randomUUID },
        revision: 0,
        jobs: new Map(specs.map((spec) => [spec.name, { spec, input: undefined, handler: { run } }])),
        settings: {
          ...{ lookAheadMs: 5_000, longestLookAheadMs: 34_000, sweepIntervalMs: 60_000, functionTimeoutMs: 1_800_000 },
        },
      });
      const hub: Hub = {
        async start(_, input) {
          void playOrchestration(
            {
              activity: (next) => dispatch(coordinator, next, report),
              timer: (at) => sleep(clock, at.getTime() - clock.now()),
            },
            input,
          );
        },
        status: async () => 'completed',
        purge: async () => undefined,
      };
      const ticker = createTicker(coordinator);
      const everyFire = async (): Promise<never> => {
        for (;;) {
          await sleep(clock, nextFire(clock.now()) - clock.now());
          await ticker.tick(hub, nextFire, report);
        }
      };
      void everyFire();
    }
    await clock.advance(9 * 60_000);
    expect(attempts).toEqual(Array.from({ length: JOBS }, () => 1));
  });
});
