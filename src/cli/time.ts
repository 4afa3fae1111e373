import type { JobSpec } from '../core/job';
import type { EpochMs } from '../core/brand';
import { parseDuration } from '../core/duration';
import { instantOf, parseMoment } from '../core/schedule/moment';
import type { Moment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf } from '../core/schedule/zone';
import { isUtc, machineZone, showTime } from '../core/show-time';
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

/** Rewrites the text in the form of the jobs file. */
function normalize(text: string): string {
  const match = FORMS.map((form) => form.exec(text)).find((found) => found !== null);
  if (match === undefined) return text;
  const [, year, month, day, hour, minute, second = '00', fraction, zone = ''] = match;
  const seconds = fraction === undefined ? second : `${second}.${fraction}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${seconds}${offset(zone)}`;
}

/** Rewrites `+02` and `+0200` as `+02:00`. */
function offset(zone: string): string {
  if (zone === '' || /^z$/i.test(zone)) return zone;
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** The instant of a TIME, for a job in this zone. */
export function timeIn(moment: Moment, timeZone: string): EpochMs {
  return instantOf(moment, zoneOf(timeZone));
}

/** The end that a person plans, as a time or as a duration from now. A time without an offset is in the job's zone. */
export function plannedEnd(text: string | undefined, now: EpochMs): (timeZone: string) => EpochMs | undefined {
  if (text === undefined) return () => undefined;
  const duration = parseDuration(text.trim());
  // A whole second, as people write times.
  if (duration !== undefined) return () => Math.ceil((now + duration) / 1_000) * 1_000;
  const moment = parseTime(text, '--until');
  return (timeZone) => timeIn(moment, timeZone);
}

/** The zone in which a command prints times. */
export interface TimeOptions {
  readonly local?: boolean | undefined;
  /** The default. */
  readonly utc?: boolean | undefined;
}

/** Shows an instant, in UTC or in the zone of this machine, in a form that fits into a command. */
export type ShowTime = (instant: EpochMs) => string;

export function timesOf({ local }: TimeOptions): ShowTime {
  const zone = local === true ? machineZone() : 'UTC';
  return (instant) => showTime(instant, zone);
}

/** An instant in UTC: `2026-01-31T03:00:00Z`. */
export const utc: ShowTime = timesOf({});

/** The text with its instants, which are in UTC, in the zone of `show`. */
export function textIn(text: string, show: ShowTime): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g, (instant) => show(Date.parse(instant)));
}

/** The instant, and in brackets the time on a clock in the job's zone, where that differs. */
export function bothTimes(show: ShowTime, instant: EpochMs, timeZone: string): string {
  const own = showTime(instant, timeZone);
  return isUtc(timeZone) || own === show(instant) ? show(instant) : `${show(instant)} (${own} ${timeZone})`;
}

/** The time on a clock in this zone: `Sat 2026-01-31 04:00:00 +01:00`. */
export function wallClock(instant: EpochMs, timeZone: string): string {
  const [day = '', rest = ''] = showTime(instant, timeZone).split('T');
  const weekday = new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone }).format(instant);
  return `${weekday} ${day} ${rest.slice(0, 8)} ${rest.slice(8)}`;
}

/** Why a job has no next due time, in words. */
export function noDueTimes({ kind }: Pick<JobSpec, 'kind'>): string {
  switch (kind) {
    case 'always':
      return 'no due times: a leader job runs all the time';
    case 'manual':
      return 'no due times: it runs on request only';
    case 'timed':
      return 'never due within the next 5 years';
  }
}
