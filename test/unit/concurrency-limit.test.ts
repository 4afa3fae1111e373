import { describe, expect, it } from 'vitest';
import { type Permit, type ConcurrencyLimit, createConcurrencyLimit } from '../../src/coordinator/concurrency-limit';
import { type SettableClock, settableClock } from '../support/clock';

const SECOND = 1_000;

interface Bench {
  readonly clock: SettableClock;
  readonly concurrencyLimit: ConcurrencyLimit;
  /** The names of those that have a permit, in the order in which they got it. */
  readonly given: string[];
  ask(name: string, priority: number, atMostMs?: number): AbortController;
  end(name: string): void;
  waitedMs(name: string): number | undefined;
}

function bench(limit: number): Bench {
  const clock = settableClock(0);
  const concurrencyLimit = createConcurrencyLimit(clock, limit);
  const given: string[] = [];
  const held = new Map<string, Permit | undefined>();
  return {
    clock,
    concurrencyLimit,
    given,
    ask(name, priority, atMostMs = 60 * SECOND) {
      const asking = new AbortController();
      void concurrencyLimit.take([-priority], { signal: asking.signal, atMostMs }).then((permit) => {
        held.set(name, permit);
        if (permit !== undefined) given.push(name);
      });
      return asking;
    },
    end: (name) => held.get(name)?.giveBack(),
    waitedMs: (name) => held.get(name)?.waitedMs,
  };
}

describe('concurrency', () => {
  it('are given to the most important of those that ask within a few milliseconds', async () => {
    const { clock, given, ask, waitedMs } = bench(2);
    ask('low', 0);
    ask('middle', 5);
    await clock.advance(2);
    ask('high', 9);
    await clock.advance(2);
    expect(given).toEqual([]);
    await clock.advance(1);
    expect(given).toEqual(['high', 'middle']);
    // They were free.
    expect([waitedMs('high'), waitedMs('middle')]).toEqual([0, 0]);
  });

  it('are given on at once, in order, with the time that was waited', async () => {
    const { clock, given, ask, end, waitedMs } = bench(1);
    ask('first', 0);
    await clock.advance(10);
    ask('low', 0);
    await clock.advance(SECOND);
    ask('high', 9);
    ask('higher', 9);
    await clock.advance(SECOND);
    expect(given).toEqual(['first']);
    end('first');
    await clock.advance(0);
    expect(given).toEqual(['first', 'high']);
    end('high');
    // No one gives a permit back twice.
    end('high');
    await clock.advance(0);
    end('higher');
    await clock.advance(0);
    expect(given).toEqual(['first', 'high', 'higher', 'low']);
    expect(waitedMs('high')).toBe(SECOND);
    expect(waitedMs('low')).toBe(2 * SECOND);
  });

  it('count the wait of those whom a round of free permits has skipped', async () => {
    const { clock, ask, end, waitedMs } = bench(1);
    ask('high', 9);
    ask('low', 0);
    await clock.advance(300);
    end('high');
    await clock.advance(0);
    expect(waitedMs('low')).toBe(300);
  });

  it('are not given to those who have left', async () => {
    const { clock, given, ask, end } = bench(1);
    ask('first', 0);
    await clock.advance(10);
    const left = ask('left', 9);
    ask('impatient', 9, 2 * SECOND);
    ask('last', 0);
    left.abort();
    await clock.advance(3 * SECOND);
    end('first');
    await clock.advance(0);
    expect(given).toEqual(['first', 'last']);
  });

  it('are given to somebody without patience if one is free', async () => {
    const { clock, given, ask } = bench(1);
    ask('old', 0, -SECOND);
    await clock.advance(20);
    expect(given).toEqual(['old']);
  });

  it('are not asked for by an attempt that has ended', async () => {
    const { clock, concurrencyLimit } = bench(1);
    const permit = concurrencyLimit.take([0], { signal: AbortSignal.abort(), atMostMs: SECOND });
    await clock.advance(10);
    expect(await permit).toBeUndefined();
  });

  it('leave no timer behind', async () => {
    const { clock, ask, end } = bench(1);
    ask('first', 0);
    const left = ask('left', 0);
    await clock.advance(10);
    left.abort();
    end('first');
    await clock.advance(0);
    expect(clock.pending()).toBe(0);
  });
});
