import type { EpochMs } from './brand';

const DAY_MS = 86_400_000;
/** The dates of the days that were shown last: a list of 1,000 jobs has 20,000 instants on few days. */
const dates = new Map<number, string>();
const DATES = 1_000;

/** An instant in UTC, as `Date.toISOString` writes it, in a fraction of its time. */
export function isoOf(instant: EpochMs): string {
  const day = Math.floor(instant / DAY_MS);
  const ms = instant - day * DAY_MS;
  if (!Number.isInteger(ms)) return new Date(instant).toISOString();
  const seconds = Math.floor(ms / 1_000);
  const time = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${dateOf(day)}T${time}.${String(ms % 1_000).padStart(3, '0')}Z`;
}

export function isoOrNull(instant: EpochMs | undefined): string | null {
  return instant === undefined ? null : isoOf(instant);
}

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const [date = ''] = new Date(day * DAY_MS).toISOString().split('T');
  if (dates.size >= DATES) dates.clear();
  dates.set(day, date);
  return date;
}

function two(value: number): string {
  return value < 10 ? `0${String(value)}` : String(value);
}
