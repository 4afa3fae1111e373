import type { EpochMs } from '../brand';
import type { Timetable } from '../job';
import type { Source } from './source';
import { spanAt, type Span } from './window';

/** 9999-12-31T23:59:59.999Z. Later instants have no RFC 3339 form. */
const LAST_INSTANT = 253_402_300_799_999;
/** The reach of a look-up, in calendar years. */
const HORIZON_YEARS = 5;

/** The due times of a source outside the excluded spans. A look-up reaches 5 years from its start. */
export function timetableOf(source: Source, excluded: readonly Span[]): Timetable {
  return {
    next(instant) {
      const limit = Math.min(yearsFrom(instant, HORIZON_YEARS), LAST_INSTANT);
      return firstDue(source, excluded, Math.max(0, Math.floor(instant) + 1), limit);
    },
    previous(instant) {
      const limit = Math.max(yearsFrom(instant, -HORIZON_YEARS), 0);
      return lastDue(source, excluded, Math.min(Math.ceil(instant) - 1, LAST_INSTANT), limit);
    },
  };
}

/** Whether the excluded spans leave no due time from 1970 on. */
export function isNeverDue(source: Source, excluded: readonly Span[]): boolean {
  return firstDue(source, excluded, 0, LAST_INSTANT) === undefined;
}

function firstDue(source: Source, excluded: readonly Span[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let from = start;
  while (from <= limit) {
    const due = source.atOrAfter(from, limit);
    if (due === undefined) return undefined;
    const span = spanAt(excluded, due);
    if (span === undefined) return due;
    from = span.to;
  }
  return undefined;
}

function lastDue(source: Source, excluded: readonly Span[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let through = start;
  while (through >= limit) {
    const due = source.atOrBefore(through, limit);
    if (due === undefined) return undefined;
    const span = spanAt(excluded, due);
    if (span === undefined) return due;
    through = span.from - 1;
  }
  return undefined;
}

function yearsFrom(instant: EpochMs, years: number): EpochMs {
  const date = new Date(instant);
  return date.setUTCFullYear(date.getUTCFullYear() + years);
}
