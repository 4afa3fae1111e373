import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Exclusion, Yearly } from '../core/schedule/exclusion';
import { fixedExclusion, yearlyExclusion } from '../core/schedule/exclusion';
import type { Window } from '../core/schedule/window';
import { excludedSpans, spanOf } from '../core/schedule/window';
import type { Zone } from '../core/schedule/zone';
import type { RawEntry } from './ical';
import { IcalError, parseIcal } from './ical';
import type { ReadFile } from './read-file';
import type { IssueReport } from './report';
import type { CalendarEntry } from './dates';
import { CALENDAR_LIMITS, calendarSchema } from './dates';

/** A larger file is no list of holidays. */
const MOST_BYTES = 1024 * 1024;

/** One of the file's calendars, its iCalendar files read. */
export interface Calendar {
  readonly windows: readonly Window[];
  readonly yearly: readonly Yearly[];
  /**
   * Made once for each zone, since many jobs share a calendar.
   * @throws ScheduleError
   */
  exclusionsIn(zone: Zone): readonly Exclusion[];
}

export type Calendars = ReadonlyMap<string, Calendar>;

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
}

/** Reads all calendars, and reports every error. `raw` is what `parsed` was parsed from. */
export function readCalendars(
  parsed: Readonly<Record<string, readonly CalendarEntry[]>>,
  raw: Readonly<Record<string, readonly unknown[]>>,
  reading: Reading,
): ReadCalendars {
  const { report } = reading;
  const calendars = new Map<string, Calendar>();
  const inlined: Record<string, readonly unknown[]> = {};
  const files = new Set<string>();
  const names = Object.keys(parsed);
  if (names.length > CALENDAR_LIMITS.calendars) {
    report.error(['calendars'], `holds ${names.length} calendars`, `keep ${CALENDAR_LIMITS.calendars} of them`);
  }
  for (const name of names.slice(0, CALENDAR_LIMITS.calendars)) {
    const given = raw[name] ?? [];
    const whole = (parsed[name] ?? []).flatMap((entry, index): readonly unknown[] => {
      if (!('file' in entry)) return [given[index]];
      const read = readIcal(entry.file, ['calendars', name, index, 'file'], reading);
      files.add(read.path);
      return read.entries;
    });
    if (whole.length > CALENDAR_LIMITS.entries) {
      const limit = CALENDAR_LIMITS.entries.toString();
      report.error(['calendars', name], `has ${whole.length} entries with those of its files`, `keep ${limit} of them`);
      continue;
    }
    inlined[name] = whole;
    calendars.set(name, calendarOf(calendarSchema.parse(whole)));
  }
  return { calendars, inlined, files: [...files] };
}

function calendarOf(entries: readonly CalendarEntry[]): Calendar {
  const windows: Window[] = [];
  const yearly: Yearly[] = [];
  for (const entry of entries) {
    if ('yearly' in entry) {
      const { yearly: start, ...rest } = entry;
      yearly.push({ ...start, ...rest });
    } else if (!('file' in entry)) windows.push(entry);
  }
  const known = new Map<string, readonly Exclusion[]>();
  return {
    windows,
    yearly,
    exclusionsIn(zone) {
      const made = known.get(zone.name) ?? [
        fixedExclusion(
          excludedSpans(
            undefined,
            windows.map((window) => spanOf(window, zone)),
            0,
          ),
        ),
        ...(yearly.length === 0 ? [] : [yearlyExclusion(yearly, zone)]),
      ];
      known.set(zone.name, made);
      return made;
    },
  };
}

function readIcal(
  file: string,
  at: readonly (string | number)[],
  { source, readFile = readFileSync, report }: Reading,
): { readonly path: string; readonly entries: readonly RawEntry[] } {
  const path = resolve(source === undefined ? '' : dirname(source), file);
  const refuse = (
    message: string,
    remedy: string,
  ): { readonly path: string; readonly entries: readonly RawEntry[] } => {
    report.error(at, message, remedy);
    return { path, entries: [] };
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
    return { path, entries: parseIcal(new TextDecoder('utf-8').decode(bytes)) };
  } catch (error) {
    if (!(error instanceof IcalError)) throw error;
    return refuse(`is not usable at line ${error.line}: ${error.message}`, error.remedy);
  }
}
