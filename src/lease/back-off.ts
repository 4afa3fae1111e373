import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { StoreUnavailableError } from './store';

/** Who asks: when, and how much it differs from the others. */
export interface Asking {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * How long to wait before asking again, call after call: twice as long each time up to `mostMs`, less a random part of
 * up to a half, so that instances that lost the service together do not come back to it together. A service that says
 * when to come back is heeded.
 */
export function backOff(random: () => number, leastMs: Millis, mostMs: Millis): (problem: unknown) => Millis {
  let full = leastMs;
  return (problem) => {
    const delay = full * (1 - random() / 2);
    full = Math.min(mostMs, full * 2);
    const asked = problem instanceof StoreUnavailableError ? (problem.retryAfterMs ?? 0) : 0;
    return Math.max(delay, asked);
  };
}
