import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep } from '../../src/core/clock';
import { systemClock } from '../../src/system-clock';
import { settableClock } from '../support/clock';

describe('the system clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits for as long as asked, beyond what one of Node’s timers can', () => {
    const run = vi.fn<() => void>();
    const thirtyDays = 30 * 86_400_000;
    systemClock.after(thirtyDays, run);
    vi.advanceTimersByTime(thirtyDays - 1);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits on when a timer fires early', () => {
    const run = vi.fn<() => void>();
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    systemClock.after(10, run);
    now.mockReturnValue(9.2);
    vi.advanceTimersByTime(10);
    expect(run).not.toHaveBeenCalled();
    now.mockReturnValue(10.2);
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
    now.mockRestore();
  });

  it('forgets what is cancelled, also in a later link of the chain', () => {
    const run = vi.fn<() => void>();
    const cancel = systemClock.after(30 * 86_400_000, run);
    vi.advanceTimersByTime(25 * 86_400_000);
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('moves its wall and monotonic time together', () => {
    const [wall, monotonic] = [systemClock.now(), systemClock.monotonic()];
    vi.advanceTimersByTime(1234);
    expect(systemClock.now() - wall).toBe(1234);
    expect(systemClock.monotonic() - monotonic).toBe(1234);
  });
});

describe('the settable clock', () => {
  it('runs timers in order of due time, then of setting, each at its own time', async () => {
    const clock = settableClock(1000);
    const seen: [string, number][] = [];
    const note = (name: string) => () => seen.push([name, clock.now()]);
    clock.after(20, note('late'));
    clock.after(10, note('first'));
    clock.after(10, note('second'));
    const cancel = clock.after(15, note('cancelled'));
    cancel();
    await clock.advance(15);
    expect(seen).toStrictEqual([
      ['first', 1010],
      ['second', 1010],
    ]);
    expect([clock.now(), clock.monotonic(), clock.pending()]).toStrictEqual([1015, 15, 1]);
    await clock.advanceTo(1020);
    expect(seen.at(-1)).toStrictEqual(['late', 1020]);
  });

  it('lets promises come to rest before the next timer, and runs what they set', async () => {
    const clock = settableClock(0);
    const seen: number[] = [];
    const walk = async (): Promise<void> => {
      for (let step = 0; step < 3; step += 1) {
        await sleep(clock, 10);
        await Promise.resolve().then(() => undefined);
        seen.push(clock.monotonic());
      }
    };
    const walked = walk();
    clock.after(15, () => seen.push(15));
    await clock.advance(30);
    await walked;
    expect(seen).toStrictEqual([10, 15, 20, 30]);
  });

  it('has a wall clock that can be set alone', async () => {
    const clock = settableClock(5000);
    clock.setWall(1000);
    await clock.advance(500);
    expect([clock.now(), clock.monotonic()]).toStrictEqual([1500, 500]);
    await expect(clock.advanceTo(1000)).rejects.toThrow(RangeError);
  });
});
