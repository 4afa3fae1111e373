import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';

/** A clock that a test sets. */
export interface SettableClock extends Clock {
  /**
   * Lets `ms` pass, on the monotonic and the wall clock alike. Timers that come due run one by one in order of their
   * due times, and what they set in motion (promises, further timers) comes to rest before the next one runs.
   */
  advance(ms: Millis): Promise<void>;
  /** As {@link advance}, until the wall clock shows `instant`. */
  advanceTo(instant: EpochMs): Promise<void>;
  /** Sets only the wall clock, as when a person sets it or the machine sleeps. */
  setWall(instant: EpochMs): void;
  /** How many timers wait. */
  pending(): number;
}

interface Timer {
  readonly due: Millis;
  readonly run: () => void;
}

/** Makes a clock that stands still until the test moves it. */
export function settableClock(start: EpochMs = Date.UTC(2026, 0, 1)): SettableClock {
  let wall = start;
  let monotonic = 0;
  const timers = new Set<Timer>();

  const moveTo = (instant: Millis): void => {
    wall += instant - monotonic;
    monotonic = instant;
  };
  /** The next timer; of several with one due time, the one that was set first. */
  const nextBy = (limit: Millis): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.due <= limit && timer.due < (next?.due ?? Infinity)) next = timer;
    }
    return next;
  };
  const advance = async (ms: Millis): Promise<void> => {
    if (!(ms >= 0)) throw new RangeError(`advance: ${ms} ms is not a duration. Use 0 or more.`);
    const end = monotonic + ms;
    await promisesSettled();
    for (let timer = nextBy(end); timer !== undefined; timer = nextBy(end)) {
      timers.delete(timer);
      moveTo(Math.max(timer.due, monotonic));
      timer.run();
      await promisesSettled();
    }
    moveTo(end);
  };

  return {
    now: () => wall,
    monotonic: () => monotonic,
    after(delay, run) {
      const timer = { due: monotonic + Math.max(0, delay), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance,
    advanceTo: (instant) => advance(instant - wall),
    setWall(instant) {
      wall = instant;
    },
    pending: () => timers.size,
  };
}

/** Chains of promises that need no outside event have ended when the event loop turns. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
