import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTimerLocks, type TimerLocks } from '../../src/local/cluster/deployment';
import { startLocked, type TimerLock } from '../../src/local/host/timer';

const TIMES = { periodMs: 60_000, recoveryMs: 60_000 };

/** One instance of an app, as its process: it fires while it holds the lock. */
function instance(locks: TimerLocks, owner: number, times = TIMES) {
  let fires = false;
  let dead = false;
  const lock: TimerLock = {
    // A dead process makes no call.
    take: (name, periodMs) =>
      dead ? new Promise(() => undefined) : Promise.resolve(locks.take(name, owner, periodMs)),
    release: (name) => locks.release(name, owner),
  };
  const timer = startLocked(lock, 'tick', times, () => {
    fires = true;
    return () => {
      fires = false;
    };
  });
  return {
    ...timer,
    get fires() {
      return fires && !dead;
    },
    kill() {
      dead = true;
    },
  };
}

describe('the timer of an app with several instances', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => vi.useRealTimers());
  const newLocks = (): TimerLocks => createTimerLocks(() => performance.now());

  it('fires on one of them, for as long as that one lives', async () => {
    const locks = newLocks();
    const all = [1, 2, 3].map((owner) => instance(locks, owner));
    await vi.advanceTimersByTimeAsync(600_000);
    expect(all.map(({ fires }) => fires)).toEqual([true, false, false]);
  });

  it.each([0, 14_000, 29_000, 45_000])('is silent for 30 s to 2 minutes after a kill at %i ms', async (after) => {
    const locks = newLocks();
    const first = instance(locks, 1);
    await vi.advanceTimersByTimeAsync(7_000);
    const second = instance(locks, 2);
    await vi.advanceTimersByTimeAsync(60_000 + after);
    first.kill();
    const killed = performance.now();
    while (!second.fires && performance.now() - killed < 300_000) await vi.advanceTimersByTimeAsync(1_000);
    expect(performance.now() - killed).toBeGreaterThanOrEqual(30_000);
    expect(performance.now() - killed).toBeLessThanOrEqual(121_000);
  });

  it('is silent for at most half a minute with 15 s for both times', async () => {
    const locks = newLocks();
    const times = { periodMs: 15_000, recoveryMs: 15_000 };
    const [first, second] = [instance(locks, 1, times), instance(locks, 2, times)];
    await vi.advanceTimersByTimeAsync(40_000);
    first.kill();
    await vi.advanceTimersByTimeAsync(31_000);
    expect(second.fires).toBe(true);
  });

  it('keeps its lock until the host has ended its invocations, and then gives it up', async () => {
    const locks = newLocks();
    const first = instance(locks, 1);
    await vi.advanceTimersByTimeAsync(1_000);
    first.stop();
    expect(first.fires).toBe(false);
    expect(locks.take('tick', 2, 60_000)).toBe(false);
    first.release();
    expect(locks.take('tick', 2, 60_000)).toBe(true);
  });

  it('stops on an instance that has lost the lock', async () => {
    const locks = newLocks();
    const first = instance(locks, 1);
    await vi.advanceTimersByTimeAsync(1_000);
    locks.release('tick', 1);
    locks.take('tick', 2, 60_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(first.fires).toBe(false);
  });
});
