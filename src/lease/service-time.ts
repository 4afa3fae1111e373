import type { EpochMs } from '../core/brand';
import type { Clock } from '../core/clock';
import type { Moment } from './trust';
import { elapsedSince } from './trust';

/** Local time is corrected beyond this difference. The Date header has a resolution of 1 s. */
const CORRECT_BEYOND_MS = 2_000;

/** Local time, corrected by the storage service's Date while the two are more than 2 s apart. */
export interface ServiceTime {
  now(): EpochMs;
  /** How far this machine's clock is ahead of the service's; 0 below 2 s. */
  readonly skewMs: number;
  /** Takes in the Date of an answer to a call sent at `sent`. */
  observe(date: EpochMs, sent: Moment): void;
}

export function serviceTime(clock: Clock): ServiceTime {
  let skew = 0;
  return {
    now: () => clock.now() - skew,
    get skewMs() {
      return skew;
    },
    observe(date, sent) {
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
