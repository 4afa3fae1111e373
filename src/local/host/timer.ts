import type { LockTimes } from './app-folder';
import type { TimerFunction } from './functions';

/** The argument of a timer function, before `@azure/functions` changes the names to camel case. */
export interface TimerInfo {
  readonly Schedule: { readonly AdjustForDST: boolean };
  readonly ScheduleStatus: { readonly Last: string; readonly Next: string; readonly LastUpdated: string } | null;
  readonly IsPastDue: boolean;
}

/** The longest wait before another check of the clock: the machine may sleep, or the clock may be set. */
const MAX_DELAY_MS = 60_000;

/** Calls `run` at `at` (milliseconds since 1970, by the wall clock), never before. Returns a cancel function. */
export function callAt(at: number, run: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const delay = Math.min(Math.max(at - Date.now(), 0), MAX_DELAY_MS);
    timer = setTimeout(() => (Date.now() >= at ? run() : arm()), delay);
  };
  arm();
  return () => clearTimeout(timer);
}

/** Schedules that fire more than once a minute keep no status, as in the real host. */
function isMonitored(fn: TimerFunction, now: number): boolean {
  const next = fn.next(now);
  return fn.useMonitor && fn.next(next) - next >= 60_000;
}

/**
 * Starts a timer function's schedule. As in the real host, it never runs twice at once: if it fires several times
 * during an invocation, the first fire runs as soon as that has ended, and the others are skipped. Nothing is past due
 * here, because no status outlives the process.
 * @param invoke - makes one invocation; must not reject
 * @returns stops the schedule, but not a running invocation
 */
export function startTimer(fn: TimerFunction, invoke: (info: TimerInfo) => Promise<void>): () => void {
  const monitored = isMonitored(fn, Date.now());
  const never = '0001-01-01T00:00:00';
  let stopped = false;
  let last = never;
  let next = fn.next(Date.now());
  let cancel = (): void => undefined;

  const fire = async (startup: boolean): Promise<void> => {
    const at = Math.max(Date.now(), startup ? 0 : next);
    const status = { Last: last, Next: new Date(next).toISOString(), LastUpdated: last };
    await invoke({
      Schedule: { AdjustForDST: true },
      ScheduleStatus: monitored ? status : null,
      IsPastDue: false,
    });
    if (stopped) return;
    last = new Date(at).toISOString();
    next = fn.next(at);
    arm();
  };
  const arm = (): void => {
    cancel = callAt(next, () => void fire(false));
  };

  if (fn.runOnStartup) cancel = callAt(0, () => void fire(true));
  else arm();
  return () => {
    stopped = true;
    cancel();
  };
}

/** A lock that decides which instance of an app fires a timer function. */
export interface TimerLock {
  /** Takes the lock of a function for `periodMs`, or renews it. Resolves to whether this instance holds it. */
  take(functionName: string, periodMs: number): Promise<boolean>;
  release(functionName: string): void;
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
