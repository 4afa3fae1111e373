/** A lock that decides which instance of an app fires a timer function. */
export interface TimerLock {
  /** Takes the lock of a function for `periodMs`, or renews it. Resolves to whether this instance holds it. */
  take(functionName: string, periodMs: number): Promise<boolean>;
  release(functionName: string): void;
}

/** As in `singleton` of host.json. */
export interface LockTimes {
  /** How long a lock lasts without a renewal. */
  readonly periodMs: number;
  /** How long an instance without the lock waits before it tries again. */
  readonly recoveryMs: number;
}

/**
 * Runs a timer while this instance holds its lock. As in the real host, the holder renews at half of the period, and an
 * instance that did not get the lock asks again only after the recovery interval. Decision 119.
 *
 * @param start starts the timer, and returns a function that stops it
 */
export function startLocked(
  lock: TimerLock,
  functionName: string,
  { periodMs, recoveryMs }: LockTimes,
  start: () => () => void,
): { stop(): void; release(): void } {
  let stopTimer: (() => void) | undefined;
  let again: NodeJS.Timeout | undefined;
  let ended = false;
  const tryLock = async (): Promise<void> => {
    const held = await lock.take(functionName, periodMs);
    if (ended) {
      if (held) lock.release(functionName);
      return;
    }
    if (held) stopTimer ??= start();
    else {
      stopTimer?.();
      stopTimer = undefined;
    }
    again = setTimeout(() => void tryLock(), held ? periodMs / 2 : recoveryMs);
  };
  void tryLock();
  return {
    stop() {
      ended = true;
      clearTimeout(again);
      stopTimer?.();
    },
    release: () => lock.release(functionName),
  };
}
