import type { EpochMs, Millis } from '../core/brand';
import { parseDuration } from '../core/duration';
import type { JobSpec } from '../core/job';
import { instantOf, parseMoment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { secondPassOf, zoneOf } from '../core/schedule/zone';
import { isUtc, machineZone, showSpan, showTime } from '../core/show-time';
import { UsageError } from './output';

/** The forms of ISO 8601: with or without separators, seconds, and an offset. */
const FORMS = [
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i,
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i,
];

/** A time on a clock, as `cronlease dev` prints it: `21:42:40Z`, or `21:42` in the job's zone. */
const CLOCK = /^(\d\d?):(\d\d)(?::(\d\d))?(Z|[+-]\d\d(?::?\d\d)?)?$/i;

/** Where a command looks: at what was, or at what will be. */
export type Direction = 'ago' | 'ahead';

/** The instant of a TIME of the command line, for a job in this zone. Default: UTC. */
export type InZone = (timeZone?: string) => EpochMs;

/**
 * Reads a TIME of the command line: ISO 8601 with Z or an offset, or a date, or a date and time, in the job's zone; a
 * time on a clock; or how long ago or ahead it is.
 *
 * @throws UsageError
 */
export function parseTime(
  text: string,
  option: string,
  where: Direction = 'ago',
  now: EpochMs = Date.now(),
  zone = "the job's time zone",
): InZone {
  const span = parseDuration(text.trim());
  if (span !== undefined) {
    // A whole second, as people write times.
    const seconds = where === 'ago' ? Math.floor((now - span) / 1_000) : Math.ceil((now + span) / 1_000);
    return () => seconds * 1_000;
  }
  const [isClock, hour = '', minute = '', second = '00', itsOffset = ''] = CLOCK.exec(text.trim()) ?? [];
  if (isClock !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60) {
    const time = `${hour.padStart(2, '0')}:${minute}:${second}${offset(itsOffset)}`;
    return (timeZone = 'UTC') => onClock(time, timeZone, where, now);
  }
  try {
    const moment = parseMoment(normalize(text.trim()));
    return (timeZone = 'UTC') => instantOf(moment, zoneOf(timeZone));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new UsageError(
      `${option} ${JSON.stringify(text)} ${error.message}: must be such as 2026-12-31T23:00:00Z, with an offset such as ` +
        `+02:00 instead of Z, or without either for ${zone}; as 21:42 or 21:42:40Z for the ` +
        (where === 'ago'
          ? 'latest such time, or as 2h for so long ago'
          : 'next such time, or as 2h for so long from now'),
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

const DAY_MS = 86_400_000;

/** The latest such time on a clock, or the next one; in this zone, or with the offset that it has. */
function onClock(time: string, timeZone: string, where: Direction, now: EpochMs): EpochMs {
  const zone = zoneOf(timeZone);
  // A zone is up to 14 hours ahead.
  const around = [-2, -1, 0, 1, 2].flatMap((days) => {
    const date = new Date(now + days * DAY_MS).toISOString().slice(0, 10);
    const moment = parseMoment(`${date}T${time}`);
    // Due times are mostly in the first pass of a repeated hour, but what comes next may be in the second.
    const second = where === 'ahead' && moment.kind !== 'instant' ? [secondPassOf(zone, moment.wall) * 1_000] : [];
    return [instantOf(moment, zone), ...second];
  });
  const found = where === 'ago' ? around.findLast((at) => at <= now) : around.find((at) => at >= now);
  if (found === undefined) throw new Error(`no day around ${String(now)} has ${time}`);
  return found;
}

/** The instant of a TIME about no job: in UTC, or with `--local` in the zone of this machine. Throws `UsageError`. */
export function timeHere(text: string, option: string, { local }: TimeOptions, where: Direction = 'ago'): EpochMs {
  const zone = local === true ? "this machine's time zone" : 'UTC';
  return parseTime(text, option, where, Date.now(), zone)(zoneHere({ local }));
}

/** A TIME about one job, in its zone, or about all, as {@link timeHere} reads it. Throws `UsageError`. */
export function timeAbout(job: string | undefined, text: string, option: string, options: TimeOptions): InZone {
  if (job !== undefined) return parseTime(text, option);
  const at = timeHere(text, option, options);
  return () => at;
}

/** The end that a person plans, as a time or as a duration from now. A time without an offset is in the job's zone. */
export function plannedEnd(text: string | undefined, now: EpochMs): (timeZone: string) => EpochMs | undefined {
  return text === undefined ? () => undefined : parseTime(text, '--until', 'ahead', now);
}

/** A duration of the command line. Throws `UsageError`. */
export function spanOf(text: string, option: string, least: Millis = 1): Millis {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= least) return ms;
  throw new UsageError(`${option} ${JSON.stringify(text)} is not a duration: use a form such as 30s, 10m or 1h30m`);
}

/** Which zone a command prints times in. */
export interface TimeOptions {
  readonly local?: boolean | undefined;
  /** The default. */
  readonly utc?: boolean | undefined;
}

/** Shows an instant, in UTC or in the zone of this machine, in a form that fits into a command. */
export type ShowTime = (instant: EpochMs) => string;

export function zoneHere({ local }: TimeOptions): string {
  return local === true ? machineZone() : 'UTC';
}

export function timesOf(options: TimeOptions): ShowTime {
  const zone = zoneHere(options);
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

/** As {@link wallClock}, by the clocks of a job; empty where those show UTC. */
export function ownClock(instant: EpochMs, { timeZone }: Pick<JobSpec, 'timeZone'>): string {
  return isUtc(timeZone) ? '' : wallClock(instant, timeZone);
}

/** Which part of a lateness was a wait for a place; empty: none. */
export function waitsText(waits: {
  readonly waitedForGroupMs?: number | undefined;
  readonly waitedForConcurrencyMs?: number | undefined;
}): string {
  const part = (waitedMs: number | undefined, what: string): string =>
    waitedMs === undefined ? '' : `, ${showSpan(waitedMs)} of it for ${what}`;
  return (
    part(waits.waitedForGroupMs, 'a place in its group') + part(waits.waitedForConcurrencyMs, 'the concurrency limit')
  );
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
