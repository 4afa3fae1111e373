/**
 * The proleptic Gregorian calendar on whole numbers. A day is counted from 1970-01-01, a month from January of
 * year 0. After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 */

export const DAY_SECONDS = 86_400;

export function monthOf(day: number): number {
  const shifted = day + 719_468; // days since 0000-03-01: years that begin in March end in the leap day
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  return (era * 400 + yearOfEra) * 12 + monthFromMarch + 2;
}

export function firstDayOf(month: number): number {
  const fromMarch = month - 2;
  const year = Math.floor(fromMarch / 12);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * (fromMarch - year * 12) + 2) / 5);
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

/** The weekday of a day, Sunday = 0. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** The day of a calendar date; undefined if there is no such date. `month` counts from 1. */
export function dayOf(year: number, month: number, dayOfMonth: number): number | undefined {
  if (month < 1 || month > 12 || dayOfMonth < 1) return undefined;
  const index = year * 12 + month - 1;
  const day = firstDayOf(index) + dayOfMonth - 1;
  return day < firstDayOf(index + 1) ? day : undefined;
}
