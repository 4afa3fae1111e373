import type { EpochMs, Millis } from './brand';

/** The only source of time. The system's lies in `system-clock.ts`; tests set theirs. */
export interface Clock {
  /** Wall time of this machine, as it is, wrong or not. */
  now(): EpochMs;
  /** Milliseconds since some fixed instant; never goes back. May stand still while the machine sleeps. */
  monotonic(): Millis;
  /** Calls `run` once, not before `delay` has passed on the monotonic clock. Returns what cancels it. */
  after(delay: Millis, run: () => void): () => void;
}

/** Resolves after `delay`, or as soon as `signal` is aborted. Never rejects: look at the signal afterwards. */
export function sleep(clock: Clock, delay: Millis, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(Math.max(0, delay), done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
