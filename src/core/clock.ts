import type { EpochMs, Millis } from './brand';

/** The only source of time. `system-clock.ts` has the real one; tests set theirs. */
export interface Clock {
  /** Wall time of this machine, uncorrected. */
  now(): EpochMs;
  /** Milliseconds since some fixed instant. It never goes back, and may stand still while the machine sleeps. */
  monotonic(): Millis;
  /** For how long this process has kept its event loop busy so far. Absent: unknown. */
  busyMs?(): Millis;
  /** Calls `run` once, not before `delay` has passed on the monotonic clock. The returned function cancels the call. */
  after(delay: Millis, run: () => void): () => void;
}

/** Resolves after `delay`, or once `signal` is aborted. It never rejects: the caller checks the signal. */
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

/** Waits for `work`, but no longer than `limitMs`, or than `signal` is not aborted. Undefined: it has not ended. */
export async function atMost<T>(
  clock: Clock,
  limitMs: Millis,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const ended = new AbortController();
  const ends = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  try {
    return await Promise.race([work, sleep(clock, limitMs, ends).then(() => undefined)]);
  } finally {
    ended.abort();
  }
}
