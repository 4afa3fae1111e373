import { isoOf } from '../core/iso';
import { DAY_SECONDS, dayOf } from '../core/schedule/calendar';
import { instantOf } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { type Zone, zoneOf } from '../core/schedule/zone';
import { windowsZone } from './windows-zones';

/** An entry of a calendar, as the jobs file has it. */
export type RawEntry = { readonly name?: string } & (
  | { readonly from: string; readonly to: string }
  | { readonly yearly: string; readonly days: number; readonly since: number; readonly until?: number }
);

/** The texts of an event by which a jobs file selects it. */
export interface EventText {
  readonly summary: string;
  readonly categories: readonly string[];
}

/** A part of an iCalendar file that is wrong, or that is not read. */
export class IcalError extends Error {
  readonly code = 'InvalidCalendar';
  override readonly name = 'IcalError';

  constructor(
    readonly line: number,
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}

interface Property {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
  readonly line: number;
}

/** A repetition that cannot be read would silently exclude too little, so it is refused. */
const REFUSED: ReadonlySet<string> = new Set(['RDATE', 'EXDATE', 'EXRULE', 'RECURRENCE-ID']);
const REMEDY = 'list these days in the calendar of the jobs file instead';
/** A jobs file has no times outside of these, in seconds: 1970-01-01 and 9999-12-31. */
const [FIRST, LAST] = [0, 253_402_214_400];
/** A longer name of an entry is cut. */
const NAME_LENGTH = 120;

/**
 * Reads the events of an iCalendar file: whole days, and times, once or by `FREQ=YEARLY`. A cancelled event counts for
 * nothing. Components other than events, and properties that do not change when an event is, are skipped. Decision 127.
 *
 * @param isWanted an event that is not wanted may have any times, also those that are not read
 * @throws IcalError
 * @see https://www.rfc-editor.org/rfc/rfc5545
 */
export function parseIcal(text: string, isWanted: (event: EventText) => boolean = () => true): readonly RawEntry[] {
  const entries: RawEntry[] = [];
  const open: string[] = [];
  let event: Property[] = [];
  let begun = false;
  let last = 1;
  for (const property of propertiesOf(text)) {
    const { name, value, line } = property;
    last = line;
    const component = value.trim().toUpperCase();
    if (!begun && (name !== 'BEGIN' || component !== 'VCALENDAR')) break;
    begun = true;
    if (name === 'BEGIN') {
      open.push(component);
      if (isEvent(open)) event = [property];
    } else if (name === 'END') {
      if (open.at(-1) !== component) {
        throw new IcalError(line, `END:${component} ends nothing that is open`, 'export the calendar again');
      }
      if (isEvent(open)) entries.push(...entryOf(event, isWanted));
      open.pop();
    } else if (isEvent(open)) event.push(property);
  }
  if (!begun) throw new IcalError(1, 'it does not begin with BEGIN:VCALENDAR', 'name an iCalendar file (.ics)');
  if (open.length > 0) throw new IcalError(last, `${open.at(-1) ?? ''} has no end`, 'export the calendar again');
  return entries;
}

function isEvent(open: readonly string[]): boolean {
  return open.length === 2 && open[0] === 'VCALENDAR' && open[1] === 'VEVENT';
}

/** The properties in order, long lines put together. */
function* propertiesOf(text: string): Generator<Property> {
  let content: { text: string; readonly line: number } | undefined;
  const lines = text.split(/\r\n|\n|\r/);
  for (const [index, line] of lines.entries()) {
    if (/^[ \t]/.test(line) && content !== undefined) {
      content.text += line.slice(1);
      continue;
    }
    if (content !== undefined) yield propertyOf(content.text, content.line);
    content = line.trim() === '' ? undefined : { text: line, line: index + 1 };
  }
  if (content !== undefined) yield propertyOf(content.text, content.line);
}

function propertyOf(text: string, line: number): Property {
  const match = /^([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:])*)*):(.*)$/s.exec(text);
  if (match === null)
    throw new IcalError(line, `${JSON.stringify(text.slice(0, 40))} is not a property`, 'export it again');
  const [, name = '', given = '', value = ''] = match;
  const parameters = [...given.matchAll(/;([A-Za-z0-9-]+)=((?:"[^"]*"|[^";:])*)/g)].map(
    ([, key = '', parameter = '']) => [key.toUpperCase(), parameter.replaceAll('"', '')] as const,
  );
  return { name: name.toUpperCase(), parameters: new Map(parameters), value, line };
}

function entryOf(
  [begin, ...properties]: readonly Property[],
  isWanted: (event: EventText) => boolean,
): readonly RawEntry[] {
  const line = begin?.line ?? 1;
  const find = (name: string): Property | undefined => properties.find((property) => property.name === name);
  if (find('STATUS')?.value.trim().toUpperCase() === 'CANCELLED') return [];
  const summary = textsOf(find('SUMMARY')?.value ?? '').join(',');
  const categories = properties.filter(({ name }) => name === 'CATEGORIES').flatMap(({ value }) => textsOf(value));
  if (!isWanted({ summary, categories })) return [];
  const refused = properties.find(({ name }) => REFUSED.has(name));
  if (refused !== undefined) throw new IcalError(refused.line, `${refused.name} is not read`, REMEDY);
  const started = find('DTSTART');
  if (started === undefined) throw new IcalError(line, 'the event has no DTSTART', 'give it one');
  const start = timeOf(started);
  const end = endOf(start, find('DTEND'), find('DURATION'), line);
  const rule = find('RRULE');
  const name = summary === '' ? {} : { name: summary.slice(0, NAME_LENGTH) };
  if (rule !== undefined) return yearlyOf(rule, start, end).map((entry) => ({ ...entry, ...name }));
  const [from, to] = [Math.max(start.second, FIRST), Math.min(end.second, LAST)];
  return from < to ? [{ from: textOf({ ...start, second: from }), to: textOf({ ...end, second: to }), ...name }] : [];
}

/** The texts of a list, without the escapes of RFC 5545. */
function textsOf(value: string): readonly string[] {
  const texts = value.match(/(?:\\.|[^\\,])+/gs) ?? [];
  return texts.map((text) => text.replace(/\\(.)/gs, (_, char: string) => (/n/i.test(char) ? ' ' : char)).trim());
}

/** A date, a time on local clocks, or an instant; `second` counts from 1970 on those clocks. */
interface Time {
  readonly kind: 'date' | 'local' | 'instant';
  readonly second: number;
  /** The time on the clocks of the zone that is named, and the instant of any such time. */
  readonly clock?: { readonly wall: number; readonly secondOf: (wall: number) => number };
}

function timeOf({ name, value, parameters, line }: Property): Time {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(value.trim());
  const [, year, month, day, hour, minute = 0, second = 0, utc] = match ?? [];
  const date = dayOf(Number(year), Number(month), Number(day));
  if (match === null || date === undefined || Number(hour ?? 0) > 23 || Number(minute) > 59 || Number(second) > 59) {
    throw new IcalError(line, `${name} ${JSON.stringify(value)} is not a date or time`, 'must be of the form 20261225');
  }
  if (hour === undefined) return { kind: 'date', second: date * DAY_SECONDS };
  const wall = date * DAY_SECONDS + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  if (utc === 'Z') return { kind: 'instant', second: wall };
  const zone = parameters.get('TZID');
  if (zone === undefined) return { kind: 'local', second: wall };
  const known = knownZone(zone, { name, line });
  const secondOf = (local: number): number => instantOf({ kind: 'local', wall: local }, known) / 1000;
  return { kind: 'instant', second: secondOf(wall), clock: { wall, secondOf } };
}

/** Outlook and Exchange write the names of Windows. */
function knownZone(zone: string, { name, line }: Pick<Property, 'name' | 'line'>): Zone {
  try {
    return zoneOf(windowsZone(zone) ?? zone);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new IcalError(
      line,
      `${name} has the time zone ${JSON.stringify(zone)}, which ${error.message}`,
      error.remedy,
    );
  }
}

function endOf(start: Time, end: Property | undefined, duration: Property | undefined, line: number): Time {
  if (end !== undefined) {
    const time = timeOf(end);
    if (time.kind !== start.kind) throw new IcalError(end.line, 'DTEND is not of the same kind as DTSTART', REMEDY);
    // Programs write a day that ends on itself, and every calendar shows it as one day.
    if (time.kind === 'date' && time.second === start.second) return { ...time, second: time.second + DAY_SECONDS };
    if (time.second <= start.second)
      throw new IcalError(end.line, 'the event ends before it begins, or at once', REMEDY);
    return time;
  }
  if (duration !== undefined) {
    const match = /^\+?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(duration.value.trim());
    const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = (match ?? [])
      .slice(1)
      .map((part) => Number(part ?? 0));
    const [inDays, rest] = [(weeks * 7 + days) * DAY_SECONDS, hours * 3600 + minutes * 60 + seconds];
    const length = inDays + rest;
    if (length > 0 && (start.kind !== 'date' || length % DAY_SECONDS === 0)) {
      // A day lasts until the clocks show the same time again.
      const { clock } = start;
      const after =
        clock === undefined ? start.second + inDays : clock.secondOf(Math.min(clock.wall + inDays, LAST + DAY_SECONDS));
      return { ...start, second: after + rest };
    }
    throw new IcalError(duration.line, `DURATION ${JSON.stringify(duration.value)} is not read`, REMEDY);
  }
  if (start.kind === 'date') return { ...start, second: start.second + DAY_SECONDS };
  throw new IcalError(line, 'the event has a time and no end', 'give it a DTEND or a DURATION');
}

/** The parts of a rule that say nothing more than the start of the event. */
function yearlyOf({ value, line }: Property, start: Time, end: Time): readonly RawEntry[] {
  const refuse = (part: string): never => {
    throw new IcalError(line, `RRULE has ${part}, and only FREQ=YEARLY of whole days is read`, REMEDY);
  };
  if (start.kind !== 'date') refuse('times');
  const [since = 0, month = 0, day = 0] = textOf(start).split('-').map(Number);
  const isLeapDay = month === 2 && day === 29;
  let until: number | undefined;
  const parts = value
    .trim()
    .toUpperCase()
    .split(';')
    .map((part) => part.split('='));
  if (!parts.some(([key, given]) => key === 'FREQ' && given === 'YEARLY')) refuse(value);
  for (const [key = '', given = ''] of parts) {
    const part = `${key}=${given}`;
    if (key === 'FREQ' || key === 'WKST' || part === 'INTERVAL=1') continue;
    if (key === 'BYMONTH' && Number(given) === month) continue;
    if (key === 'BYMONTHDAY' && Number(given) === day) continue;
    if (key === 'COUNT' && /^[1-9]\d{0,3}$/.test(given) && !isLeapDay) {
      until = since + Number(given) - 1;
    } else if (key === 'UNTIL' && /^\d{8}(T\d{6}Z?)?$/.test(given)) {
      const last = lastDayOf(given);
      const isOver = Number(last.slice(4)) < month * 100 + day;
      until = Number(last.slice(0, 4)) - (isOver ? 1 : 0);
    } else refuse(part);
  }
  const days = (end.second - start.second) / DAY_SECONDS;
  if (days > 366) refuse(`${days} days`);
  // Address books write 1604 for a birthday without a year, and nothing was due before 1970.
  const first = Math.max(since, 1970);
  if ((until ?? Infinity) < first) return [];
  const years = { since: first, ...(until !== undefined && { until: Math.min(until, 9999) }) };
  return [{ yearly: textOf(start).slice(5), days, ...years }];
}

/** No clock is further ahead of UTC. */
const MOST_AHEAD = 14 * 3_600_000;

/** The last day of a rule, as digits. Exchange writes the instant of its midnight on the clocks of the calendar. */
function lastDayOf(until: string): string {
  const midnight = until.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(00|15|30|45)00Z$/, '$1-$2-$3T$4:$5:00Z');
  const at = midnight === until ? NaN : Math.min(Date.parse(midnight) + MOST_AHEAD, LAST * 1000);
  return Number.isNaN(at) ? until.slice(0, 8) : isoOf(at).slice(0, 10).replaceAll('-', '');
}

function textOf({ kind, second }: Time): string {
  const text = new Date(second * 1000).toISOString();
  switch (kind) {
    case 'date':
      return text.slice(0, 10);
    case 'local':
      return text.slice(0, 19);
    case 'instant':
      return `${text.slice(0, 19)}Z`;
  }
}
