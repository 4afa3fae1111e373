import { ScheduleError } from '../core/schedule/schedule-error';
import { type FieldRules, MONTHS, WEEKDAYS, readField } from './cron-field';
import { type CronValues, type Days, inBoth, inEither, inMonth, inWeek } from './cron-text';

const COMMON = { all: '*', openStep: 'refuse', backwards: 'refuse' } as const;
const RULES: readonly FieldRules[] = [
  { ...COMMON, name: 'minute', least: 0, most: 59 },
  { ...COMMON, name: 'hour', least: 0, most: 23 },
  { ...COMMON, name: 'day-of-month', least: 1, most: 31 },
  { ...COMMON, name: 'month', least: 1, most: 12, names: MONTHS },
  { ...COMMON, name: 'day-of-week', least: 0, most: 7, names: WEEKDAYS },
];

/**
 * Reads the five fields of a crontab entry, as Vixie cron does.
 *
 * `isWild`: whether cron follows elapsed time. It does if the minute or the hour begins with `*`.
 *
 * @throws ScheduleError
 */
export function readCrontabFields(text: string): { readonly values: CronValues; readonly isWild: boolean } {
  const fields = text.split(/\s+/);
  const random = fields.find((field) => field.includes('~'));
  if (random !== undefined) {
    throw new ScheduleError(
      `has "${random}", a random value of each start of cron`,
      'use a value, and set "spread" to keep jobs apart',
    );
  }
  const [minutes = [], hours = [], month = [], months = [], weekdays = []] = RULES.map((rules, index) =>
    readField(fields[index] ?? '', rules),
  );
  const [minute = '', hour = '', dayText = '', , weekdayText = ''] = fields;
  const week = [...new Set(weekdays.map((day) => day % 7))].sort((a, b) => a - b);
  return {
    values: { seconds: [0], minutes, hours, months, days: daysOf(dayText, month, weekdayText, week) },
    isWild: minute.startsWith('*') || hour.startsWith('*'),
  };
}

/** A field that begins with `*` narrows the other one, also with a step; two other fields add to each other. */
function daysOf(dayText: string, month: readonly number[], weekdayText: string, week: readonly number[]): Days {
  if (!dayText.startsWith('*') && !weekdayText.startsWith('*')) return inEither(month, week);
  if (weekdayText === '*') return inMonth(month);
  return dayText === '*' ? inWeek(week) : inBoth(month, week);
}
