import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type Exclusion,
  type Yearly,
  fixedExclusion,
  yearlyExclusion,
  yearlySpan,
  type Span,
  type Window,
  excludedSpans,
  spanOf,
} from '../core/schedule/window';
import type { Zone } from '../core/schedule/zone';
import { type IssueReport, type Path, valueAt } from './config-error';
import { CALENDAR_LIMITS, type CalendarEntry, type EventFilter, calendarSchema } from './readers';
import { type EventText, IcalError, type RawEntry, parseIcal } from './ical';
import type { ReadFile } from './json';
import { DAY_SECONDS } from '../core/schedule/calendar';
import type { Moment } from '../core/schedule/moment';
import { selects } from '../core/job-pattern';
import type { EpochMs, Millis } from '../core/brand';
import type { ExcludedBy, ExcludedTimes, Timetable } from '../core/job';
import type { JobSettings } from './schema';

/** Time enough to get the days of the next year. */
const SOON_MS: Millis = 60 * 86_400_000;

/** A larger file is not a list of holidays. */
const MOST_BYTES = 1024 * 1024;

/** One of the file's calendars, its iCalendar files read. */
export interface Calendar {
  readonly windows: readonly Named<Window>[];
  readonly yearly: readonly Named<Yearly>[];
  /**
   * Made once for each zone, because many jobs share a calendar.
   * @throws ScheduleError
   */
  exclusionsIn(zone: Zone): readonly Exclusion[];
  /** The entry that excludes an instant, for people. */
  entryAt(instant: EpochMs, zone: Zone): string | undefined;
}

/** By name. Undefined: it is wrong, which has been reported. */
export type Calendars = ReadonlyMap<string, Calendar | undefined>;

export interface ReadCalendars {
  readonly calendars: Calendars;
  /** As in the file, with the entries of iCalendar files in place of their names: such a file needs no other. */
  readonly inlined: Readonly<Record<string, readonly unknown[]>>;
  /** The iCalendar files, with their folders. */
  readonly files: readonly string[];
}

interface Reading {
  /** The path of the jobs file. Undefined: an object, whose files are relative to the current folder. */
  readonly source: string | undefined;
  readonly readFile: ReadFile | undefined;
  readonly report: IssueReport;
  /** Undefined: calendars that end are not reported. */
  readonly now: EpochMs | undefined;
}

/**
 * Reads all calendars, and reports every error.
 *
 * @param parsed those whose entries are right
 * @param raw all as they stand in the file
 */
export function readCalendars(
  parsed: Readonly<Record<string, readonly CalendarEntry[]>>,
  raw: Readonly<Record<string, unknown>>,
  reading: Reading,
): ReadCalendars {
  const { report } = reading;
  const calendars = new Map<string, Calendar | undefined>(Object.keys(raw).map((name) => [name, undefined]));
  const inlined: Record<string, readonly unknown[]> = {};
  const files = new Set<string>();
  const names = Object.keys(parsed);
  if (names.length > CALENDAR_LIMITS.calendars) {
    report.error(['calendars'], `holds ${names.length} calendars`, `keep ${CALENDAR_LIMITS.calendars} of them`);
  }
  for (const name of names.slice(0, CALENDAR_LIMITS.calendars)) {
    const given = raw[name];
    const whole = (parsed[name] ?? []).flatMap((entry, index): readonly unknown[] => {
      if (!('file' in entry)) return [valueAt(given, [index])];
      const path = resolve(dirname(reading.source ?? ''), entry.file);
      files.add(path);
      return readIcal(path, entry, ['calendars', name, index], reading);
    });
    if (whole.length > CALENDAR_LIMITS.entries) {
      const limit = CALENDAR_LIMITS.entries.toString();
      report.error(['calendars', name], `has ${whole.length} entries with those of its files`, `keep ${limit} of them`);
      continue;
    }
    inlined[name] = whole;
    const calendar = calendarOf(calendarSchema.parse(whole));
    calendars.set(name, calendar);
    if (reading.now !== undefined) warnOfEnd(name, calendar, report, reading.now);
  }
  return { calendars, inlined, files: [...files] };
}

function calendarOf(entries: readonly CalendarEntry[]): Calendar {
  const windows: Named<Window>[] = [];
  const yearly: Named<Yearly>[] = [];
  for (const entry of entries) {
    if ('yearly' in entry) {
      const { yearly: start, ...rest } = entry;
      yearly.push({ ...start, ...rest });
    } else if (!('file' in entry)) windows.push(entry);
  }
  const known = new Map<string, readonly Exclusion[]>();
  const spans = new Map<string, readonly Span[]>();
  return {
    windows,
    yearly,
    exclusionsIn(zone) {
      const before = known.get(zone.name);
      if (before !== undefined) return before;
      const excepted = windows.map((window) => spanOf(window, zone));
      const fixed = fixedExclusion(excludedSpans(undefined, excepted, 0));
      const made = yearly.length === 0 ? [fixed] : [fixed, yearlyExclusion(yearly, zone)];
      known.set(zone.name, made);
      return made;
    },
    entryAt(instant, zone) {
      const inZone = spans.get(zone.name) ?? windows.map((window) => spanOf(window, zone));
      spans.set(zone.name, inZone);
      const window = windows[inZone.findIndex((span) => holds(span, instant))];
      if (window !== undefined) return windowText(window);
      const year = new Date(instant).getUTCFullYear();
      const entry = yearly.find((each) =>
        [year - 1, year, year + 1].some((first) => holds(yearlySpan(each, first, zone), instant)),
      );
      return entry && yearlyText(entry);
    },
  };
}

type IcalFile = Extract<CalendarEntry, { readonly file: string }>;

function readIcal(
  path: string,
  { select, exclude }: IcalFile,
  at: Path,
  { readFile = readFileSync, report }: Reading,
): readonly RawEntry[] {
  const refuse = (message: string, remedy: string): [] => {
    report.error([...at, 'file'], message, remedy);
    return [];
  };
  let bytes: Uint8Array;
  try {
    bytes = readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refuse(`cannot be read: ${reason}`, 'name an iCalendar file beside the jobs file');
  }
  if (bytes.length > MOST_BYTES) return refuse(`has ${bytes.length} bytes`, `keep it below ${MOST_BYTES} bytes`);
  try {
    const unused = { select: select !== undefined, exclude: exclude !== undefined };
    const isWanted = (event: EventText): boolean => {
      if (select !== undefined && !matches(select, event)) return false;
      unused.select = false;
      if (exclude === undefined || !matches(exclude, event)) return true;
      unused.exclude = false;
      return false;
    };
    const entries = parseIcal(textOf(bytes), isWanted);
    const remedy = 'use a category or summary that its events have';
    if (unused.select) report.error([...at, 'select'], 'selects no event of the file', remedy);
    else if (unused.exclude)
      report.warning([...at, 'exclude'], 'matches no event of the file', `${remedy}, or leave it out`);
    return entries;
  } catch (error) {
    if (!(error instanceof IcalError)) throw error;
    return refuse(`is not usable at line ${error.line}: ${error.message}`, error.remedy);
  }
}

/** Simple programs fold a line in the middle of a character: its bytes are put together before the line end. */
function textOf(bytes: Uint8Array): string {
  const folded = Buffer.from(bytes).toString('latin1');
  const whole = folded.replace(/([\xc2-\xf4][\x80-\xbf]*)(\r?\n[ \t])([\x80-\xbf]+)/g, '$1$3$2');
  return new TextDecoder('utf-8').decode(Buffer.from(whole, 'latin1'));
}

function matches({ categories = [], summary = [] }: EventFilter, event: EventText): boolean {
  const has = event.categories.map((category) => category.toLowerCase());
  return (
    categories.some((category) => has.includes(category.toLowerCase())) ||
    summary.some((pattern) => selects(pattern.toLowerCase(), event.summary.toLowerCase()))
  );
}

function holds(span: Span | undefined, instant: EpochMs): boolean {
  return span !== undefined && span.from <= instant && instant < span.to;
}

/** Warns of a calendar that will exclude nothing more: lists of holidays end unnoticed. */
function warnOfEnd(name: string, calendar: Calendar, report: IssueReport, now: EpochMs): void {
  const end = endOf(calendar);
  if (end === undefined || end - now > SOON_MS) return;
  const day = new Date(end - 1).toISOString().slice(0, 10);
  report.warning(
    ['calendars', name],
    end <= now
      ? `ended with ${day}: it excludes no later day`
      : `ends with ${day}, in less than 60 days: it excludes no later day`,
    'add the days that follow, or replace its iCalendar file; remove it if it is no longer needed',
  );
}

/** The end of the last entry, on clocks of UTC; undefined: there is none. */
function endOf({ windows, yearly }: Calendar): EpochMs | undefined {
  const ends = [
    ...windows.map(({ to }) => (to === undefined ? Infinity : to.kind === 'instant' ? to.at : to.wall * 1000)),
    ...yearly.map(({ month, day, days, until = Infinity }) => Date.UTC(until, month - 1, day + days) || Infinity),
  ];
  const last = ends.reduce((latest, end) => Math.max(latest, end), -Infinity);
  return Number.isFinite(last) ? last : undefined;
}

/** An entry with what it is, for people. */
type Named<Entry> = Entry & { readonly name?: string | undefined };

function windowText({ from, to, name }: Named<Window>): string {
  const isDay = from?.kind === 'date' && to?.kind === 'date' && to.wall - from.wall === DAY_SECONDS;
  if (isDay) return named(momentText(from), name);
  const parts = [...(from ? [`from ${momentText(from)}`] : []), ...(to ? [`up to ${momentText(to)}`] : [])];
  return named(parts.join(' '), name);
}

function yearlyText({ month, day, days, name }: Named<Yearly>): string {
  const date = [month, day].map((part) => String(part).padStart(2, '0')).join('-');
  return named(days === 1 ? `${date} of each year` : `${days} days from ${date} of each year`, name);
}

function named(text: string, name: string | undefined): string {
  return name === undefined ? text : `${name} (${text})`;
}

function momentText(moment: Moment): string {
  if (moment.kind === 'instant') return new Date(moment.at).toISOString();
  const text = new Date(moment.wall * 1000).toISOString();
  return moment.kind === 'date' ? text.slice(0, 10) : text.slice(0, 19);
}

/** A calendar that a job uses, and its place among the exceptions. */
export interface UsedCalendar {
  readonly name: string;
  readonly calendar: Calendar;
  readonly index: number;
}

/** The exceptions of a job that are its own. */
export function ownWindows(except: JobSettings['except']): readonly Named<Window>[] {
  return except.flatMap((entry) => ('calendar' in entry ? [] : [entry]));
}

/** The excluded times of a job. Nothing is computed before it is asked for. */
export function excludedTimes(
  scheduled: Timetable,
  { between, except, timeZone }: Pick<JobSettings, 'between' | 'except' | 'timeZone'>,
  offsetMs: Millis,
  calendars: readonly UsedCalendar[],
): ExcludedTimes {
  const isIn = (window: Window, time: EpochMs): boolean => holds(spanOf(window, timeZone), time);
  return {
    scheduled,
    by(nominal): ExcludedBy | undefined {
      const time = nominal + offsetMs;
      if (between !== undefined && !isIn(between, time)) {
        return { setting: 'between', calendar: null, entry: `outside of ${windowText(between)}` };
      }
      const own = ownWindows(except).find((window) => isIn(window, time));
      if (own !== undefined) return { setting: 'except', calendar: null, entry: windowText(own) };
      for (const { name, calendar } of calendars) {
        const entry = calendar.entryAt(time, timeZone);
        if (entry !== undefined) return { setting: 'except', calendar: name, entry };
      }
      return undefined;
    },
  };
}
