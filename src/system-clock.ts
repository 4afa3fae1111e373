import type { Clock } from './core/clock';

/** Node fires a longer timer at once, so longer waits are chained. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  busyMs: () => performance.eventLoopUtilization().active,
  after(delay, run) {
    const due = performance.now() + delay;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const left = Math.ceil(due - performance.now());
      timer = setTimeout(fire, Math.min(Math.max(left, 0), LONGEST_TIMER_MS));
    };
    const fire = (): void => {
      // Node's timers may fire a millisecond early.
      if (performance.now() < due) wait();
      else run();
    };
    wait();
    return () => clearTimeout(timer);
  },
};
