import type { EpochMs } from '../brand';
import type { Timetable } from '../job';
import type { Source } from './source';
import type { Exclusion } from './exclusion';
import type { Span } from './window';

/** 9999-12-31T23:59:59.999Z. Later instants have no RFC 3339 form. */
const LAST_INSTANT = 253_402_300_799_999;
/** The reach of a look-up, in calendar years. */
const HORIZON_YEARS = 5;

/** The due times of a source outside the exclusions. A look-up reaches 5 years from its start. */
export function timetableOf(source: Source, excluded: readonly Exclusion[]): Timetable {
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

/** Whether the exclusions leave no due time from 1970 to `by`. */
export function isNeverDue(source: Source, excluded: readonly Exclusion[], by: EpochMs = LAST_INSTANT): boolean {
  return firstDue(source, excluded, 0, by) === undefined;
}

function firstDue(source: Source, excluded: readonly Exclusion[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let from = start;
  while (from <= limit) {
    const due = source.atOrAfter(from, limit);
    if (due === undefined) return undefined;
    const span = around(excluded, due);
    if (span === undefined) return due;
    from = span.to;
  }
  return undefined;
}

function lastDue(source: Source, excluded: readonly Exclusion[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let through = start;
  while (through >= limit) {
    const due = source.atOrBefore(through, limit);
    if (due === undefined) return undefined;
    const span = around(excluded, due);
    if (span === undefined) return due;
    through = span.from - 1;
  }
  return undefined;
}

function around(excluded: readonly Exclusion[], due: EpochMs): Span | undefined {
  for (const exclusion of excluded) {
    const span = exclusion.at(due);
    if (span !== undefined) return span;
  }
  return undefined;
}

function yearsFrom(instant: EpochMs, years: number): EpochMs {
  const date = new Date(instant);
  return date.setUTCFullYear(date.getUTCFullYear() + years);
}
