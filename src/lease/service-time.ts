import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { DATE_BEHIND_MS } from '../core/job';
import { type Moment, elapsedSince } from './trust';

/** Local time is corrected beyond this difference. The Date header has a resolution of 1 s. Decision 065. */
const CORRECT_BEYOND_MS = 2_000;

/** Two clocks that measure the same time differ by this share of it at most. */
export const CLOCK_RATE_ERROR = 0.01;

/** A machine that sleeps for longer loses its lease. */
const SLEEPS_AT_MOST_MS = 60_000;

/** A Date of the service, and when it was received, on the monotonic clock. */
export interface Dated {
  readonly date: EpochMs;
  readonly monotonic: Millis;
}

/**
 * The service's time within what an earlier Date and the monotonic clock allow. The monotonic clock may stand still
 * while the machine sleeps.
 */
export function timeWithin(clock: Clock, now: EpochMs, { date, monotonic }: Dated): EpochMs {
  const since = clock.monotonic() - monotonic;
  const earliest = date + since * (1 - CLOCK_RATE_ERROR);
  const latest = date + DATE_BEHIND_MS + since * (1 + CLOCK_RATE_ERROR) + SLEEPS_AT_MOST_MS;
  return Math.round(Math.min(Math.max(now, earliest), latest));
}

/** Local time, corrected by the storage service's Date while the two are more than 2 s apart. */
export interface ServiceTime {
  now(): EpochMs;
  /**
   * As `now`, within what the last answer's Date and the monotonic clock allow: this machine's clock may have been set
   * since. For times that another caller waits for.
   */
  bounded(): EpochMs;
  /** Whether an answer has been seen. Before the first one, this machine's clock is all there is, and may be wrong. */
  readonly isKnown: boolean;
  /** How far this machine's clock is ahead of the service's; 0 below 2 s. */
  readonly skewMs: number;
  /** Takes in the Date of an answer to a call sent at `sent`. */
  observe(date: EpochMs, sent: Moment): void;
}

export function serviceTime(clock: Clock): ServiceTime {
  let skew = 0;
  let last: Dated | undefined;
  const now = (): EpochMs => clock.now() - skew;
  return {
    now,
    bounded: () => (last === undefined ? now() : timeWithin(clock, now(), last)),
    get isKnown() {
      return last !== undefined;
    },
    get skewMs() {
      return skew;
    },
    observe(date, sent) {
      last = { date, monotonic: clock.monotonic() };
      // The service wrote its Date at some time between sending and now, and cut off the fraction.
      const roundTrip = elapsedSince(clock, sent);
      const difference = Math.round(clock.now() - roundTrip / 2 - (date + 500));
      if (roundTrip > CORRECT_BEYOND_MS) {
        // A slow answer, or one that spans a sleep of the machine, is inexact by half its round trip. It corrects only
        // a larger error.
        if (Math.abs(difference - skew) > roundTrip / 2 + CORRECT_BEYOND_MS) skew = difference;
        return;
      }
      // Hysteresis: a correction is dropped well below the limit at which it starts, so that time does not jump back
      // and forth. In between it follows the difference.
      if (Math.abs(difference) > CORRECT_BEYOND_MS) skew = difference;
      else if (Math.abs(difference) < CORRECT_BEYOND_MS / 2) skew = 0;
      else if (skew !== 0) skew = difference;
    },
  };
}
