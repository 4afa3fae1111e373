import type { EpochMs, Millis } from '../core/brand';
import { ScheduleError } from '../core/schedule/schedule-error';
import type { Scheduled } from './clock-policy';
import { type FieldRules, readField } from './cron-field';
import { inBoth } from './cron-text';
import { scheduledTimer } from './timer-clock';

const COMMON = { all: '*', openStep: 'toEnd', backwards: 'swap' } as const;
const MONTH_NAMES = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september'].concat(
  'october',
  'november',
  'december',
);
const DAY_NAMES = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const RULES: readonly FieldRules[] = [
  { ...COMMON, name: 'second', least: 0, most: 59 },
  { ...COMMON, name: 'minute', least: 0, most: 59 },
  { ...COMMON, name: 'hour', least: 0, most: 23 },
  { ...COMMON, name: 'day-of-month', least: 1, most: 31 },
  { ...COMMON, name: 'month', least: 1, most: 12, names: MONTH_NAMES, shortNames: true },
  { ...COMMON, name: 'day-of-week', least: 0, most: 6, names: DAY_NAMES, shortNames: true },
];

/**
 * The schedule of a timer trigger with an NCRONTAB expression, of which both day fields must match.
 *
 * @throws ScheduleError
 */
export function ncrontab(text: string, timeZone: string, now: EpochMs): Scheduled {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new ScheduleError(`has ${fields.length} fields`, 'must be 6 fields with seconds first');
  }
  const six = fields.length === 5 ? ['0', ...fields] : fields;
  const [seconds = [], minutes = [], hours = [], month = [], months = [], week = []] = RULES.map((rules, index) =>
    readField(six[index] ?? '', rules),
  );
  const values = { seconds, minutes, hours, months, days: inBoth(month, week) };
  return scheduledTimer({ values, written: text, timeZone }, now);
}

/**
 * A .NET time span as a timer trigger reads it; undefined: the text is none. With 24 or more first, the parts are days,
 * hours and minutes: `24:00:00` is 24 days.
 */
export function timeSpan(text: string): Millis | undefined {
  const match = /^(?:(\d+)\.)?(\d+):(\d+)(?::(\d+))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, days, ...rest] = match;
  const [first = 0, second = 0, third = 0] = rest.map((part) => Number(part ?? 0));
  const [day, hour, minute, sec] =
    days === undefined && first > 23 ? [first, second, third, 0] : [Number(days ?? 0), first, second, third];
  if (hour > 23 || minute > 59 || sec > 59) return undefined;
  return (((day * 24 + hour) * 60 + minute) * 60 + sec) * 1000;
}
