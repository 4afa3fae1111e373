import type { EpochMs } from '../brand';
import { dayOf, DAY_SECONDS } from './calendar';
import { ScheduleError } from './schedule-error';
import { instantOfWall, type Zone } from './zone';

/** A boundary of a window: the start of a date, seconds on the clocks of the job's zone, or an instant. */
export type Moment =
  | { readonly kind: 'date'; readonly wall: number }
  | { readonly kind: 'local'; readonly wall: number }
  | { readonly kind: 'instant'; readonly at: EpochMs };

const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/i;
const LOCAL = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?))?$/;

const INSTANT_REMEDY = 'must be RFC 3339 with Z or an offset, such as 2026-12-31T23:00:00Z';
const MOMENT_REMEDY =
  "must be a date (2026-12-24), a date and time in the job's zone (2026-12-24T18:00), or RFC 3339 with Z or an offset";

/**
 * Reads an RFC 3339 date-time, to the millisecond.
 * @throws ScheduleError if the text is not one, or names a date or time that does not exist.
 */
export function parseInstant(text: string): EpochMs {
  const match = INSTANT.exec(text);
  if (match === null) throw new ScheduleError('is not a date and time with Z or an offset', INSTANT_REMEDY);
  const [, date = '', time = '', fraction = '', sign, hours = '0', minutes = '0'] = match;
  const wall = wallOf(date, time, INSTANT_REMEDY);
  if (Number(hours) > 23 || Number(minutes) > 59) {
    throw new ScheduleError('has an offset that does not exist', INSTANT_REMEDY);
  }
  if (/[1-9]/.test(fraction.slice(3))) throw new ScheduleError('is finer than a millisecond', INSTANT_REMEDY);
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 * (sign === '-' ? -1 : 1);
  return (wall - offset) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/**
 * Parses a window boundary: `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM[:SS]`, or RFC 3339 with `Z` or an offset.
 * @throws ScheduleError
 */
export function parseMoment(text: string): Moment {
  const match = LOCAL.exec(text);
  if (match !== null) {
    const [, date = '', time] = match;
    return time === undefined
      ? { kind: 'date', wall: wallOf(date, '00:00', MOMENT_REMEDY) }
      : { kind: 'local', wall: wallOf(date, time, MOMENT_REMEDY) };
  }
  if (!INSTANT.test(text)) throw new ScheduleError('is not a date or time', MOMENT_REMEDY);
  return { kind: 'instant', at: parseInstant(text) };
}

/** The instant of a moment in a zone: in a gap, the first instant after it; in a repeated hour, the first pass. */
export function instantOf(moment: Moment, zone: Zone): EpochMs {
  return moment.kind === 'instant' ? moment.at : instantOfWall(zone, moment.wall) * 1000;
}

function wallOf(date: string, time: string, remedy: string): number {
  const [year = 0, month = 0, dayOfMonth = 0] = date.split('-').map(Number);
  const day = dayOf(year, month, dayOfMonth);
  if (day === undefined) throw new ScheduleError(`names a date that does not exist, ${date}`, remedy);
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (hour > 23 || minute > 59 || second > 59) {
    throw new ScheduleError(`names a time that does not exist, ${time}`, remedy);
  }
  return day * DAY_SECONDS + hour * 3600 + minute * 60 + second;
}
