import type { EpochMs, Millis } from '../core/brand';
import type { ExcludedBy, ExcludedTimes, Timetable } from '../core/job';
import type { Yearly } from '../core/schedule/exclusion';
import { DAY_SECONDS } from '../core/schedule/calendar';
import type { Moment } from '../core/schedule/moment';
import type { Window } from '../core/schedule/window';
import { spanOf } from '../core/schedule/window';
import type { Calendar } from './calendars';
import type { JobSettings } from './schema';

/** A calendar that a job uses, and its place among the exceptions. */
export interface UsedCalendar {
  readonly name: string;
  readonly calendar: Calendar;
  readonly index: number;
}

export type Named<Entry> = Entry & { readonly name?: string | undefined };

/** The excluded times of a job. Nothing is computed before somebody asks. */
export function excludedTimes(
  scheduled: Timetable,
  { between, except, timeZone }: Pick<JobSettings, 'between' | 'except' | 'timeZone'>,
  offsetMs: Millis,
  calendars: readonly UsedCalendar[],
): ExcludedTimes {
  const holds = (window: Window, time: EpochMs): boolean => {
    const { from, to } = spanOf(window, timeZone);
    return from <= time && time < to;
  };
  return {
    scheduled,
    by(nominal): ExcludedBy | undefined {
      const time = nominal + offsetMs;
      if (between !== undefined && !holds(between, time)) {
        return { setting: 'between', calendar: null, entry: `outside of ${windowText(between)}` };
      }
      for (const entry of except) {
        if (!('calendar' in entry) && holds(entry, time)) {
          return { setting: 'except', calendar: null, entry: windowText(entry) };
        }
      }
      for (const { name, calendar } of calendars) {
        const entry = calendar.entryAt(time, timeZone);
        if (entry !== undefined) return { setting: 'except', calendar: name, entry };
      }
      return undefined;
    },
  };
}

/** A window as a person reads it. */
export function windowText({ from, to, name }: Named<Window>): string {
  const isDay = from?.kind === 'date' && to?.kind === 'date' && to.wall - from.wall === DAY_SECONDS;
  if (isDay) return named(momentText(from), name);
  const parts = [...(from ? [`from ${momentText(from)}`] : []), ...(to ? [`up to ${momentText(to)}`] : [])];
  return named(parts.join(' '), name);
}

export function yearlyText({ month, day, days, name }: Named<Yearly>): string {
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
