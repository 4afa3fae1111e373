import { DAY_SECONDS, firstDayOf, monthOf, weekdayOf } from './calendar';

/**
 * The fields of a cron expression as sets. A day is due if `daysOfMonth` or `weekdays` has it. A `*` beside a field
 * that is set is stored as empty; two `*` are stored as all weekdays.
 */
export interface CronFields {
  readonly seconds: SixtySet;
  readonly minutes: SixtySet;
  /** Bits 0 to 23. */
  readonly hours: number;
  /** Bit 0 is January. */
  readonly months: number;
  /** Bit 0 is the first. */
  readonly daysOfMonth: number;
  readonly lastDay: boolean;
  /** Bit 0 is Sunday. */
  readonly weekdays: number;
  /** Only this occurrence of the weekdays in a month counts, 1 to 5; 0: each. */
  readonly nth: number;
  /** Weekdays whose last occurrence in a month counts. */
  readonly lastWeekdays: number;
}

/*
 * Walls are seconds since 1970-01-01T00:00:00 of a clock without a zone. `compile.ts` handles the zone, and the walls
 * that it skips or repeats.
 */

/** The first match in [from, end). */
export function nextWall(cron: CronFields, from: number, end: number): number | undefined {
  if (from >= end) return undefined;
  let start = Math.floor(from / DAY_SECONDS);
  let time = nextTime(cron, from - start * DAY_SECONDS);
  if (time < 0) {
    start += 1;
    time = nextTime(cron, 0);
  }
  const day = nextDay(cron, start, Math.floor((end - 1) / DAY_SECONDS));
  if (day === undefined) return undefined;
  const wall = day * DAY_SECONDS + (day === start ? time : nextTime(cron, 0));
  return wall < end ? wall : undefined;
}

/** The last match in [start, through]. */
export function previousWall(cron: CronFields, through: number, start: number): number | undefined {
  if (through < start) return undefined;
  let last = Math.floor(through / DAY_SECONDS);
  let time = previousTime(cron, through - last * DAY_SECONDS);
  if (time < 0) {
    last -= 1;
    time = previousTime(cron, DAY_SECONDS - 1);
  }
  const day = previousDay(cron, last, Math.floor(start / DAY_SECONDS));
  if (day === undefined) return undefined;
  const wall = day * DAY_SECONDS + (day === last ? time : previousTime(cron, DAY_SECONDS - 1));
  return wall >= start ? wall : undefined;
}

function nextDay(cron: CronFields, from: number, last: number): number | undefined {
  let month = monthOf(from);
  let first = firstDayOf(month);
  let index = from - first;
  while (first + index <= last) {
    const following = firstDayOf(month + 1);
    if ((cron.months & (1 << (month % 12))) !== 0) {
      const found = nextBit(daysDue(cron, first, following - first), index);
      if (found >= 0) return first + found;
    }
    month += 1;
    first = following;
    index = 0;
  }
  return undefined;
}

function previousDay(cron: CronFields, from: number, earliest: number): number | undefined {
  let month = monthOf(from);
  let following = firstDayOf(month + 1);
  let first = firstDayOf(month);
  let index = from - first;
  while (first + index >= earliest) {
    if ((cron.months & (1 << (month % 12))) !== 0) {
      const found = previousBit(daysDue(cron, first, following - first), index);
      if (found >= 0) return first + found;
    }
    month -= 1;
    following = first;
    first = firstDayOf(month);
    index = following - first - 1;
  }
  return undefined;
}

/** The days due in one month, bit 0 the first. */
function daysDue(cron: CronFields, first: number, length: number): number {
  const weekday = weekdayOf(first);
  let days = cron.daysOfMonth;
  if (cron.lastDay) days |= 1 << (length - 1);
  if (cron.weekdays !== 0) {
    const all = onWeekdays(cron.weekdays, weekday);
    days |= cron.nth === 0 ? all : all & (0x7f << ((cron.nth - 1) * 7));
  }
  if (cron.lastWeekdays !== 0) days |= onWeekdays(cron.lastWeekdays, weekday) & (0x7f << (length - 7));
  return days & (0x7fff_ffff >> (31 - length));
}

/** The days of a month whose first day is `firstWeekday` that fall on one of the weekdays. */
function onWeekdays(weekdays: number, firstWeekday: number): number {
  const week = ((weekdays >> firstWeekday) | (weekdays << (7 - firstWeekday))) & 0x7f;
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
}

/** The first matching second of a day, not below `from`; -1: none. */
function nextTime(cron: CronFields, from: number): number {
  const hour = Math.floor(from / 3600);
  const minute = Math.floor(from / 60) % 60;
  if ((cron.hours & (1 << hour)) !== 0) {
    const second = nextOfSixty(cron.minutes, minute) === minute ? nextOfSixty(cron.seconds, from % 60) : -1;
    if (second >= 0) return hour * 3600 + minute * 60 + second;
    const later = nextOfSixty(cron.minutes, minute + 1);
    if (later >= 0) return hour * 3600 + later * 60 + nextOfSixty(cron.seconds, 0);
  }
  const later = nextBit(cron.hours, hour + 1);
  return later < 0 ? -1 : later * 3600 + nextOfSixty(cron.minutes, 0) * 60 + nextOfSixty(cron.seconds, 0);
}

/** The last matching second of a day, not above `from`; -1: none. */
function previousTime(cron: CronFields, from: number): number {
  const hour = Math.floor(from / 3600);
  const minute = Math.floor(from / 60) % 60;
  if ((cron.hours & (1 << hour)) !== 0) {
    const second = previousOfSixty(cron.minutes, minute) === minute ? previousOfSixty(cron.seconds, from % 60) : -1;
    if (second >= 0) return hour * 3600 + minute * 60 + second;
    const earlier = previousOfSixty(cron.minutes, minute - 1);
    if (earlier >= 0) return hour * 3600 + earlier * 60 + previousOfSixty(cron.seconds, 59);
  }
  const earlier = previousBit(cron.hours, hour - 1);
  return earlier < 0 ? -1 : earlier * 3600 + previousOfSixty(cron.minutes, 59) * 60 + previousOfSixty(cron.seconds, 59);
}

/** A set of whole numbers from 0 to 59, as two words of 30 bits. */
export interface SixtySet {
  readonly low: number;
  readonly high: number;
}

const HALF = 30;

export function sixtySet(values: Iterable<number>): SixtySet {
  let low = 0;
  let high = 0;
  for (const value of values) {
    if (value < HALF) low |= 1 << value;
    else high |= 1 << (value - HALF);
  }
  return { low, high };
}

/** A set of whole numbers from 0 to 30 in one word. */
export function bitSet(values: Iterable<number>): number {
  let bits = 0;
  for (const value of values) bits |= 1 << value;
  return bits;
}

/** The smallest member not below `from` (0 to 31); -1: none. */
export function nextBit(bits: number, from: number): number {
  const rest = from > HALF ? 0 : bits & (-1 << from);
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest);
}

/** The largest member not above `from` (-1 to 30); -1: none. */
export function previousBit(bits: number, from: number): number {
  const rest = from < 0 ? 0 : bits & ((2 << from) - 1);
  return 31 - Math.clz32(rest);
}

/** As {@link nextBit}, `from` 0 to 60. */
export function nextOfSixty(set: SixtySet, from: number): number {
  const low = from < HALF ? nextBit(set.low, from) : -1;
  if (low >= 0) return low;
  const high = nextBit(set.high, Math.max(0, from - HALF));
  return high < 0 ? -1 : high + HALF;
}

/** As {@link previousBit}, `from` -1 to 59. */
export function previousOfSixty(set: SixtySet, from: number): number {
  const high = previousBit(set.high, from - HALF);
  return high >= 0 ? high + HALF : previousBit(set.low, Math.min(from, HALF - 1));
}
