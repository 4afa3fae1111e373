import type { EpochMs, Millis } from '../brand';
import { DAY_SECONDS } from './calendar';
import { instantOf, type Moment } from './moment';
import { ScheduleError } from './schedule-error';
import type { Zone } from './zone';

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
