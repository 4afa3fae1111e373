import { DAY_SECONDS, dayOf } from './calendar';
import { instantOf, type Moment } from './moment';
import { ScheduleError } from './schedule-error';
import { type Zone, instantOfWall } from './zone';
import type { EpochMs, Millis } from '../brand';

/** Includes `from` and excludes `to`. A missing boundary is open. */
export interface Window {
  readonly from?: Moment | undefined;
  readonly to?: Moment | undefined;
}

/** A stretch of instants in ms, `to` exclusive. */
export interface Span {
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/** The window of a whole date. */
export function dateWindow(date: Moment & { readonly kind: 'date' }): Window {
  return { from: date, to: { kind: 'date', wall: date.wall + DAY_SECONDS } };
}

/**
 * A window as instants. It is empty if the zone's clocks skipped all of it.
 * @throws ScheduleError if it ends before it begins, or at once.
 */
export function spanOf(window: Window, zone: Zone): Span {
  const from = window.from === undefined ? -Infinity : instantOf(window.from, zone);
  const to = window.to === undefined ? Infinity : instantOf(window.to, zone);
  if (from > to || (from === to && !isSkipped(window))) {
    throw new ScheduleError('ends before it begins, or at once', '"to" is exclusive and must be later than "from"');
  }
  return { from, to };
}

function isSkipped({ from, to }: Window): boolean {
  if (from === undefined || to === undefined || from.kind === 'instant' || to.kind === 'instant') return false;
  return from.wall < to.wall;
}

/**
 * All nominal times at which nothing is due, outside `between` or inside `except`, in order and merged where they
 * touch.
 *
 * @param offsetMs from nominal to actual times; windows apply to actual times
 */
export function excludedSpans(between: Span | undefined, except: readonly Span[], offsetMs: Millis): readonly Span[] {
  const spans = [...except];
  if (between !== undefined) spans.push({ from: -Infinity, to: between.from }, { from: between.to, to: Infinity });
  spans.sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  const merged: Span[] = [];
  for (const span of spans) {
    if (span.from >= span.to) continue;
    const last = merged.at(-1);
    if (last === undefined || span.from > last.to) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return merged.map(({ from, to }) => ({ from: from - offsetMs, to: to - offsetMs }));
}

/** The span that contains an instant. `spans` are in order and do not touch. */
export function spanAt(spans: readonly Span[], instant: EpochMs): Span | undefined {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.to ?? Infinity) <= instant) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && span.from <= instant ? span : undefined;
}

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
