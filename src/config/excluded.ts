import type { EpochMs, Millis } from '../core/brand';
import type { ExcludedBy, ExcludedTimes, Timetable } from '../core/job';
import { type Window, spanOf } from '../core/schedule/window';
import type { Calendar } from './calendars';
import { windowText } from './entry-text';
import type { JobSettings } from './schema';

/** A calendar that a job uses, and its place among the exceptions. */
export interface UsedCalendar {
  readonly name: string;
  readonly calendar: Calendar;
  readonly index: number;
}

/** The excluded times of a job. Nothing is computed before it is asked for. */
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
