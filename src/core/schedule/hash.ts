import { hash } from 'node:crypto';
import type { Millis } from '../brand';
import type { Yearly, Window } from './window';
import type { Moment } from './moment';
import type { Schedule } from './parse';
import type { DstPolicy } from './compile';

/** All settings that decide when a job is due: the input of the schedule hash. */
interface ScheduleSettings {
  readonly schedule: Schedule;
  readonly timeZone: string;
  readonly dst: DstPolicy;
  readonly between: Window | undefined;
  /** Those of calendars too. */
  readonly except: readonly Window[];
  /** Of calendars. */
  readonly yearly: readonly Yearly[];
  readonly spread: Millis;
  readonly enabled: boolean;
}

/**
 * 16 hexadecimal digits. They are equal for settings that mean the same (white space, `MON` for `1`, `@daily` for its
 * cron, a date for its midnight, another order of exceptions), and differ otherwise. Decision 006.
 *
 * Deployments compare the hash, so it must not depend on the machine. It uses windows as written, not as instants,
 * because two releases of Node may have different rules for a zone.
 */
export function scheduleHash(settings: ScheduleSettings): string {
  const { schedule, timeZone, dst, between, except, yearly, spread, enabled } = settings;
  const canonical = [
    scheduleText(schedule),
    timeZone.toLowerCase(),
    dst.gap,
    dst.overlap,
    between === undefined ? '' : windowText(between),
    [...new Set(except.map(windowText))].sort(),
    spread,
    enabled,
    // Only if there are some, so that the rows of other jobs keep their hash.
    ...(yearly.length === 0 ? [] : [[...new Set(yearly.map(yearlyText))].sort()]),
  ];
  return hash('sha256', JSON.stringify(canonical)).slice(0, 16);
}

function scheduleText(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'cron': {
      const { seconds, minutes, hours, months, daysOfMonth, lastDay, weekdays, nth, lastWeekdays } = schedule.fields;
      const sets = [seconds.low, seconds.high, minutes.low, minutes.high, hours, months, daysOfMonth, weekdays];
      return ['cron', ...sets, nth, lastWeekdays, lastDay, schedule.elapsed].join(' ');
    }
    case 'every':
      return `every ${schedule.period}`;
    case 'at':
      return `at ${schedule.at}`;
    case 'always':
    case 'manual':
      return schedule.kind;
  }
}

function windowText({ from, to }: Window): string {
  const open = from === undefined && to === undefined;
  return open ? '' : `${momentText(from)}/${momentText(to)}`;
}

function yearlyText({ month, day, days, since, until }: Yearly): string {
  return `${month}-${day}+${days} ${since ?? ''}/${until ?? ''}`;
}

function momentText(moment: Moment | undefined): string {
  if (moment === undefined) return '';
  return moment.kind === 'instant' ? `@${moment.at}` : String(moment.wall);
}
