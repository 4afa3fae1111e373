import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { StoreUnavailableError } from './store';

/** The clock and the jitter of a caller. */
export interface Asking {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * The waits between repeated calls. Each is twice the last, up to `mostMs`, minus a random part of up to a half, so
 * that instances that lost the service together do not return together. A `Retry-After` of the service is heeded.
 * Decision 037.
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
