import type { Millis } from '../../core/brand';
import { type Clock, sleep } from '../../core/clock';

/**
 * Work that ticks have started and do not await between two checks. A tick returns only after it is over, because its
 * logs and events belong to that invocation.
 */
export interface Background {
  readonly any: boolean;
  readonly count: number;
  /** @param action never rejects */
  start(action: Promise<unknown>): void;
  /**
   * Starts work that may take minutes: a tick waits for it only with {@link Background.asidesOver}.
   *
   * @param action never rejects
   */
  startAside(action: Promise<unknown>): void;
  /** Returns a signal that is aborted when any action ends, running or started later, or by {@link Background.wake}. */
  nextEnd(): AbortSignal;
  /** Ends every wait for an action, but not the action. */
  wake(): void;
  allOver(): Promise<void>;
  /** Waits for the work aside, while there is time left. */
  asidesOver(left: () => Millis): Promise<void>;
}

/** How often a wait for all of them checks whether it missed an end. */
const POLL_EVERY_MS: Millis = 2_000;

export function createBackground(clock: Clock): Background {
  let running = 0;
  let asides = 0;
  let ended = new AbortController();
  const wake = (): void => ended.abort();
  const nextEnd = (): AbortSignal => {
    // Two ticks of one process wait for the same end.
    if (ended.signal.aborted) ended = new AbortController();
    return ended.signal;
  };
  return {
    get any() {
      return running > 0;
    },
    get count() {
      return running;
    },
    start(action) {
      running += 1;
      void action.finally(() => {
        running -= 1;
        wake();
      });
    },
    startAside(action) {
      asides += 1;
      void action.finally(() => {
        asides -= 1;
        wake();
      });
    },
    nextEnd,
    wake,
    async allOver() {
      while (running > 0) await sleep(clock, POLL_EVERY_MS, nextEnd());
    },
    async asidesOver(left) {
      while (asides > 0 && left() > 0) await sleep(clock, Math.min(POLL_EVERY_MS, left()), nextEnd());
    },
  };
}
