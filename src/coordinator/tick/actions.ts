import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { sleep } from '../../core/clock';

/**
 * The work that ticks have begun and do not wait for between two looks. A tick does not return before it is over,
 * since its logs and events belong to that invocation.
 */
export interface Actions {
  readonly any: boolean;
  /** @param action never rejects */
  start(action: Promise<unknown>): void;
  /** Aborted when an action that runs now, or one that starts later, is over; or by {@link Actions.wake}. */
  nextEnd(): AbortSignal;
  /** Ends every wait for an action, but not the action. */
  wake(): void;
  allOver(): Promise<void>;
}

/** A wait for the end of all actions looks this often whether one was missed. */
const LOOK_EVERY_MS: Millis = 2_000;

export function createActions(clock: Clock): Actions {
  let running = 0;
  let ended = new AbortController();
  const wake = (): void => {
    ended.abort();
  };
  const nextEnd = (): AbortSignal => {
    ended = new AbortController();
    return ended.signal;
  };
  return {
    get any() {
      return running > 0;
    },
    start(action) {
      running += 1;
      void action.finally(() => {
        running -= 1;
        wake();
      });
    },
    nextEnd,
    wake,
    async allOver() {
      while (running > 0) await sleep(clock, LOOK_EVERY_MS, nextEnd());
    },
  };
}
