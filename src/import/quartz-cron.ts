import { ScheduleError } from '../core/schedule/schedule-error';
import type { JobInFile } from '../config/job-in-file';
import { type FieldRules, MONTHS, WEEKDAYS, readField } from './cron-field';
import { type CronValues, type Days, inMonth, inWeek } from './cron-text';

export interface QuartzCron {
  readonly values: CronValues;
  /** The years, ascending; undefined: all. */
  readonly years: readonly number[] | undefined;
  /** Without the year, as far as our own cron has it. */
  readonly written: string;
}

const COMMON = { all: '*', openStep: 'toEnd', backwards: 'wrap' } as const;
const SECOND: FieldRules = { ...COMMON, name: 'second', least: 0, most: 59, mostStep: 59 };
const MINUTE: FieldRules = { ...SECOND, name: 'minute' };
const HOUR: FieldRules = { ...COMMON, name: 'hour', least: 0, most: 23, mostStep: 23 };
const DAY: FieldRules = { ...COMMON, name: 'day-of-month', least: 1, most: 31, mostStep: 31 };
const MONTH: FieldRules = { ...COMMON, name: 'month', least: 1, most: 12, names: MONTHS, mostStep: 12 };
/** Quartz counts the days of the week from 1, which is Sunday. */
const WEEKDAY: FieldRules = { ...COMMON, name: 'day-of-week', least: 1, most: 7, names: WEEKDAYS, mostStep: 7 };
const YEAR: FieldRules = { ...COMMON, name: 'year', least: 1970, most: 2099, backwards: 'refuse' };

/**
 * Reads an expression of Quartz: 6 fields with seconds first, and a year after them if there are 7.
 * @throws ScheduleError
 */
export function readQuartz(text: string): QuartzCron {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 6 && fields.length !== 7) {
    throw new ScheduleError(`has ${fields.length} fields`, 'must be 6 fields with seconds first, or 7 with a year');
  }
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = '', year = '*'] = fields;
  if ((day === '?') === (weekday === '?')) {
    throw new ScheduleError(
      'is refused by Quartz, which needs ? in one of the two day fields',
      "use ? for the day field that is not meant; Spring's own expressions count weekdays from 0, and are not read here",
    );
  }
  const stepped = [month, weekday].find((field) => /[a-z]\/\d/i.test(field));
  if (stepped !== undefined) {
    const remedy = 'use numbers with the step, or the names without it';
    throw new ScheduleError(`has "${stepped}", and Quartz skips a step after a name`, remedy);
  }
  const values = {
    seconds: readField(fromStart(second), SECOND),
    minutes: readField(fromStart(minute), MINUTE),
    hours: readField(fromStart(hour), HOUR),
    days: day === '?' ? weekDays(weekday.toUpperCase()) : monthDays(day.toUpperCase()),
    months: readField(fromStart(month), MONTH),
  };
  const years = readField(fromStart(year), YEAR);
  const all = years.length === YEAR.most - YEAR.least + 1;
  return { values, years: all ? undefined : years, written: fields.slice(0, 6).join(' ').replaceAll('?', '*') };
}

/** A step without a beginning starts with the field: `/5` is `*\/5`. */
function fromStart(field: string): string {
  return field.replaceAll(/(^|,)\//g, '$1*/');
}

function monthDays(text: string): Days {
  if (text === 'L') return { kind: 'lastOfMonth' };
  if (/[LW]/.test(text)) {
    throw new ScheduleError(
      `has "${text}" for day-of-month, which a job cannot express`,
      'use the day, the last day (L), or a weekday such as 5L, or check the date in the handler',
    );
  }
  return inMonth(readField(fromStart(text), DAY));
}

function weekDays(text: string): Days {
  // By itself, L is Saturday, and not the last day of anything.
  if (text === 'L') return { kind: 'week', days: [6] };
  const [, name = '', nth] = /^(\w+?)(?:#(\d)|L)$/.exec(text) ?? [];
  if (name === '') {
    const days = readField(fromStart(text), WEEKDAY).map((day) => day - 1);
    return inWeek(days);
  }
  const [day = 1] = readField(name, WEEKDAY);
  if (nth === undefined) return { kind: 'lastOfWeek', day: day - 1 };
  if (Number(nth) < 1 || Number(nth) > 5)
    throw new ScheduleError(`has "${text}" for day-of-week`, 'after # use 1 to 5');
  return { kind: 'nthOfWeek', day: day - 1, nth: Number(nth) };
}

/** The years as a period, and the gaps in it. */
export function windowOf(years: readonly number[] | undefined): Pick<JobInFile, 'between' | 'except'> {
  if (years === undefined) return {};
  const [first = 0, last = 0] = [years[0], years.at(-1)];
  const except: { from: string; to: string }[] = [];
  years.forEach((year, index) => {
    const next = years[index + 1] ?? year + 1;
    if (next > year + 1) except.push({ from: `${year + 1}-01-01`, to: `${next}-01-01` });
  });
  const to = last === YEAR.most ? {} : { to: `${last + 1}-01-01` };
  return { between: { from: `${first}-01-01`, ...to }, ...(except.length > 0 && { except }) };
}
