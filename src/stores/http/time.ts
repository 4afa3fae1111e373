import type { EpochMs, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';

/** The time of the member that has answered, in whole seconds. */
export function dateIn(header: string | undefined): EpochMs {
  const date = Date.parse(header ?? '');
  if (Number.isNaN(date)) throw new Error('the answer has no Date, which a proxy may have removed');
  return date;
}

/** The members' time between answers: that of the last one, and what has passed since. */
export function memberTime(clock: Clock) {
  let last: { readonly date: EpochMs; readonly at: Millis } | undefined;
  return {
    observe(date: EpochMs): void {
      last = { date, at: clock.monotonic() };
    },
    /** Undefined: no member has answered. */
    now: (): EpochMs | undefined => last && Math.round(last.date + clock.monotonic() - last.at),
  };
}
