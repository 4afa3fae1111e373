import type { EpochMs } from '../core/brand';
import { instantOf, parseMoment } from '../core/schedule/moment';
import type { Moment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf } from '../core/schedule/zone';
import { UsageError } from './cli-error';

/** The forms of ISO 8601: with or without separators, seconds, and an offset. */
const FORMS = [
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i,
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i,
];

/**
 * Reads a TIME of the command line: ISO 8601 with Z or an offset, or a date, or a date and time, in the job's zone.
 *
 * @throws UsageError
 */
export function parseTime(text: string, option: string): Moment {
  try {
    return parseMoment(normalize(text.trim()));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new UsageError(
      `${option} ${JSON.stringify(text)} ${error.message}: write it as 2026-12-31T23:00:00Z, with an offset such as ` +
        "+02:00 instead of Z, or without either for the job's time zone",
    );
  }
}

/** In the way that the jobs file has it. */
function normalize(text: string): string {
  const match = FORMS.map((form) => form.exec(text)).find((found) => found !== null);
  if (match === undefined) return text;
  const [, year, month, day, hour, minute, second = '00', fraction, zone = ''] = match;
  const seconds = fraction === undefined ? second : `${second}.${fraction}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${seconds}${offset(zone)}`;
}

/** `+02`, `+0200` and `+02:00` are one. */
function offset(zone: string): string {
  if (zone === '' || /^z$/i.test(zone)) return zone;
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** When a TIME is, for a job in this zone. */
export function timeIn(moment: Moment, timeZone: string): EpochMs {
  return instantOf(moment, zoneOf(timeZone));
}

/** UTC, to be copied into a command: `2026-01-31T03:00:00Z`. */
export function utc(instant: EpochMs): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

/** What a clock in this zone shows: `2026-01-31 04:00:00 +01:00`. */
export function local(instant: EpochMs, timeZone: string): string {
  const second = Math.floor(instant / 1000);
  const { offset: ahead } = zoneOf(timeZone).segmentAt(second);
  const wall = new Date((second + ahead) * 1000).toISOString();
  const minutes = Math.round(Math.abs(ahead) / 60);
  const two = (part: number): string => String(part).padStart(2, '0');
  const sign = ahead < 0 ? '-' : '+';
  return `${wall.slice(0, 10)} ${wall.slice(11, 19)} ${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** UTC, and in brackets what a clock in the job's zone shows, where that differs. */
export function bothTimes(instant: EpochMs, timeZone: string): string {
  return isUtc(timeZone) ? utc(instant) : `${utc(instant)} (${local(instant, timeZone)} ${timeZone})`;
}

export function isUtc(timeZone: string): boolean {
  return /^(?:etc\/)?utc$/i.test(timeZone);
}
