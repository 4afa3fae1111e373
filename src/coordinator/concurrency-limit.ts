import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { type Rank, rankedQueue } from '../core/ranked-queue';

/**
 * A free permit is given away this long after it was asked for. The timers of handlers that are due at the same instant
 * fire within a few milliseconds, and the first of these must not win against the most important one.
 */
const TOGETHER_MS: Millis = 5;

export interface Permit {
  /** How long it had to be waited for; 0 if one was free. */
  readonly waitedMs: Millis;
  /** May be called again, without effect. */
  giveBack(): void;
}

export interface Patience {
  readonly signal: AbortSignal;
  readonly atMostMs: Millis;
}

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

/** The handlers that this process may run at once. */
export function createConcurrencyLimit(clock: Clock, limit: number) {
  const waiting = rankedQueue<() => void>();
  let free = limit;
  /** Counts the times when permits that were free are given away together. */
  let round = 0;
  let isGathering = false;

  const grant = (): void => {
    while (free > 0) {
      const next = waiting.shift();
      if (next === undefined) return;
      free -= 1;
      next();
    }
  };
  const gather = (): void => {
    if (isGathering) return;
    isGathering = true;
    clock.after(TOGETHER_MS, () => {
      isGathering = false;
      grant();
      round += 1;
    });
  };
  const newPermit = (waitedMs: Millis): Permit => {
    let isOut = true;
    return {
      waitedMs,
      giveBack() {
        if (!isOut) return;
        isOut = false;
        free += 1;
        if (!isGathering) grant();
      },
    };
  };

  return {
    limit,
    /**
     * Waits for a permit, in the order of the ranks.
     *
     * @returns undefined once the signal is aborted or the patience is over. A signal that is aborted right after the
     *   permit was given leaves the permit with the caller, who gives it back.
     */
    take: (rank: Rank, { signal, atMostMs }: Patience): Promise<Permit | undefined> =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve(undefined);
          return;
        }
        const since = clock.monotonic();
        const ownRound = free > 0 ? round : undefined;
        const leave = (): void => {
          remove();
          cancel();
          signal.removeEventListener('abort', giveUp);
        };
        const giveUp = (): void => {
          leave();
          resolve(undefined);
        };
        const remove = waiting.add(rank, () => {
          leave();
          resolve(newPermit(ownRound === round ? 0 : Math.round(clock.monotonic() - since)));
        });
        // A permit that is free is given even to a caller without any patience left.
        const cancel = clock.after(Math.max(atMostMs, 2 * TOGETHER_MS), giveUp);
        signal.addEventListener('abort', giveUp, { once: true });
        if (free > 0) gather();
      }),
  };
}
