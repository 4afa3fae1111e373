import type { Clock } from '../../src/core/clock';

interface Timer {
  readonly due: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A settable clock whose cost does not grow with the number of timers, as that of tests does. */
export interface ScaleClock extends Clock {
  advance(ms: number): Promise<void>;
  /** Lets time pass without running what comes due in it, as for a process that had nothing to do. */
  skip(ms: number): void;
}

export function scaleClock(start: number): ScaleClock {
  const heap: Timer[] = [];
  let passed = 0;
  let order = 0;
  const isBefore = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);
  const at = (index: number): Timer => heap[index] as Timer;
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [at(b), at(a)];
  };
  const push = (timer: Timer): void => {
    let index = heap.push(timer) - 1;
    while (index > 0 && isBefore(at(index), at((index - 1) >> 1))) {
      swap(index, (index - 1) >> 1);
      index = (index - 1) >> 1;
    }
  };
  const pop = (): Timer => {
    swap(0, heap.length - 1);
    const first = heap.pop() as Timer;
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < heap.length && isBefore(at(left), at(least))) least = left;
      if (right < heap.length && isBefore(at(right), at(least))) least = right;
      if (least === index) return first;
      swap(index, least);
      index = least;
    }
  };
  return {
    now: () => start + passed,
    monotonic: () => passed,
    after(delay, run) {
      // As a real timer, so that no wait is left over that is too short to move the clock.
      const timer: Timer = { due: passed + Math.ceil(Math.max(0, delay)), order: (order += 1), run };
      push(timer);
      return () => {
        timer.run = undefined;
      };
    },
    async advance(ms) {
      const end = passed + ms;
      await settled();
      while (heap.length > 0 && at(0).due <= end) {
        const { due, run } = pop();
        if (run === undefined) continue;
        passed = Math.max(passed, due);
        run();
        await settled();
      }
      passed = end;
    },
    skip(ms) {
      passed += ms;
    },
  };
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
