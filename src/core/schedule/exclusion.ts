import type { EpochMs, Millis } from '../brand';
import { dayOf, DAY_SECONDS } from './calendar';
import { excludedSpans, spanAt, type Span } from './window';
import { instantOfWall, type Zone } from './zone';

/** Whole local days that are excluded each year. */
export interface Yearly {
  /** 1 to 12. */
  readonly month: number;
  /** A day that the month does not have in a year excludes nothing in that year. */
  readonly day: number;
  readonly days: number;
  /** The first and last year. Undefined: every year. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Instants at which nothing is due. */
export interface Exclusion {
  /** The span around an instant, if it is excluded. */
  at(instant: EpochMs): Span | undefined;
}

/** @param spans in order, and apart */
export function fixedExclusion(spans: readonly Span[]): Exclusion {
  return { at: (instant) => spanAt(spans, instant) };
}

/** Yearly days in a zone. The spans of a year are made when one of its instants is asked for. */
export function yearlyExclusion(yearly: readonly Yearly[], zone: Zone): Exclusion {
  const years = new Map<number, readonly Span[]>();
  const spansOf = (year: number): readonly Span[] => {
    const known = years.get(year);
    if (known !== undefined) return known;
    const yearlySpans = yearly.flatMap((entry) => yearlySpan(entry, year, zone) ?? []);
    const spans = excludedSpans(undefined, yearlySpans, 0);
    years.set(year, spans);
    return spans;
  };
  return {
    at(instant) {
      const year = new Date(instant).getUTCFullYear();
      // A span may reach into the next year, and clocks are up to a day from UTC.
      return [year - 1, year, year + 1]
        .map((each) => spanAt(spansOf(each), instant))
        .find((span) => span !== undefined);
    },
  };
}

/** The same on nominal times, which are earlier than the actual ones by the offset. */
export function onNominalTimes(exclusion: Exclusion, offsetMs: Millis): Exclusion {
  if (offsetMs === 0) return exclusion;
  return {
    at(instant) {
      const span = exclusion.at(instant + offsetMs);
      return span && { from: span.from - offsetMs, to: span.to - offsetMs };
    },
  };
}

/** The span of a yearly entry that begins in a year, if it has one. */
export function yearlySpan({ month, day, days, since, until }: Yearly, year: number, zone: Zone): Span | undefined {
  if (year < (since ?? -Infinity) || year > (until ?? Infinity)) return undefined;
  const first = dayOf(year, month, day);
  if (first === undefined) return undefined;
  const instant = (local: number): EpochMs => instantOfWall(zone, local * DAY_SECONDS) * 1000;
  return { from: instant(first), to: instant(first + days) };
}
