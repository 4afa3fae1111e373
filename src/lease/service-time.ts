import type { EpochMs } from '../core/brand';
import type { Clock } from '../core/clock';
import type { Moment } from './trust';
import { elapsedSince } from './trust';

/** Beyond this difference local time is corrected; the Date header has a resolution of 1 s. */
const CORRECT_BEYOND_MS = 2_000;

/** Local time, corrected by the storage service's Date when the two are more than 2 s apart. */
export interface ServiceTime {
  now(): EpochMs;
  /** How far this machine's clock is ahead of the service's; what is below 2 s counts as 0. */
  readonly skewMs: number;
  /** An answer to a call that was sent at `sent` carried this Date. */
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
      // The service wrote its Date somewhere between sending and now, and cut off the fraction.
      const roundTrip = elapsedSince(clock, sent);
      const difference = Math.round(clock.now() - roundTrip / 2 - (date + 500));
      if (roundTrip > CORRECT_BEYOND_MS) {
        // A slow answer, or one that came over a sleep of the machine, is inexact by half of that. It corrects what is
        // further off than that, and leaves alone what it cannot improve.
        if (Math.abs(difference - skew) > roundTrip / 2 + CORRECT_BEYOND_MS) skew = difference;
        return;
      }
      // Leaving the correction needs more than a hair's breadth, lest time jump back and forth: until then it follows.
      if (Math.abs(difference) > CORRECT_BEYOND_MS) skew = difference;
      else if (Math.abs(difference) < CORRECT_BEYOND_MS / 2) skew = 0;
      else if (skew !== 0) skew = difference;
    },
  };
}
