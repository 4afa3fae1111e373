import type { Millis } from '../core/brand';
import { ScheduleError } from '../core/schedule/schedule-error';
import { type FieldRules, readField } from './cron-field';

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
 * The values of the six fields of an NCRONTAB expression, seconds first. One with five has no seconds.
 *
 * @throws ScheduleError
 */
export function ncrontabFields(text: string): readonly (readonly number[])[] {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new ScheduleError(`has ${fields.length} fields`, 'must be 6 fields with seconds first');
  }
  const six = fields.length === 5 ? ['0', ...fields] : fields;
  return RULES.map((rules, index) => readField(six[index] ?? '', rules));
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
