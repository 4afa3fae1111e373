import { parseCron } from '../core/schedule/parse';
import { ScheduleError } from '../core/schedule/schedule-error';

/** The days of a cron expression. Days of the week count from Sunday, 0. */
export type Days =
  | { readonly kind: 'every' }
  | { readonly kind: 'month'; readonly days: readonly number[] }
  | { readonly kind: 'lastOfMonth' }
  | { readonly kind: 'week'; readonly days: readonly number[] }
  /** Days that match one of the two. */
  | { readonly kind: 'either'; readonly month: readonly number[]; readonly week: readonly number[] }
  | { readonly kind: 'nthOfWeek'; readonly day: number; readonly nth: number }
  | { readonly kind: 'lastOfWeek'; readonly day: number };

/** A cron expression of any dialect as its values. Months count from 1. */
export interface CronValues {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: Days;
  readonly months: readonly number[];
}

const EVERY_MONTH = 12;
const EVERY_WEEKDAY = 7;
const EVERY_DAY = 31;

/** Days that are in both sets, as two fields of which both must match. Throws `ScheduleError` if no cron has them. */
export function inBoth(month: readonly number[], week: readonly number[]): Days {
  if (week.length === EVERY_WEEKDAY) return inMonth(month);
  if (month.length === EVERY_DAY) return { kind: 'week', days: week };
  const first = month[0] ?? 0;
  const [day] = week;
  const inOneWeek = first % 7 === 1 && (month.length === 7 || (first === 29 && month.length === 3));
  const consecutive = month.every((value, index) => value === first + index);
  if (week.length === 1 && day !== undefined && inOneWeek && consecutive) {
    return { kind: 'nthOfWeek', day, nth: (first + 6) / 7 };
  }
  throw new ScheduleError(
    'is due on days that match both the day of the month and the day of the week, which a job cannot',
    'list the days of the week in the schedule, such as 1#1 for the first Monday, or check the date in the handler',
  );
}

/** Days that are in one of the sets, as two fields of which one must match. */
export function inEither(month: readonly number[], week: readonly number[]): Days {
  if (month.length === EVERY_DAY || week.length === EVERY_WEEKDAY) return { kind: 'every' };
  return { kind: 'either', month, week };
}

export function inMonth(days: readonly number[]): Days {
  return days.length === EVERY_DAY ? { kind: 'every' } : { kind: 'month', days };
}

export function inWeek(days: readonly number[]): Days {
  return days.length === EVERY_WEEKDAY ? { kind: 'every' } : { kind: 'week', days };
}

/** How the hours are written: a list has clock policies, and any other form follows elapsed time. */
export type HourForm = 'asWritten' | 'list';

/**
 * A schedule of ours with these values. It has the text of the source where that means the same.
 *
 * @param written the expression in its source
 * @throws ScheduleError if the values name a date that never comes
 */
export function cronText(values: CronValues, written: string, hours: HourForm): string {
  const ours = textOf(values, hours);
  const fields = written.trim().split(/\s+/);
  const asWritten = fields.join(' ');
  const hour = fields.length === 5 ? fields[1] : fields[2];
  if (hours === 'list' && /[^\d,]/.test(hour ?? '')) return ours;
  return meaning(asWritten) === JSON.stringify(parseCron(ours).fields) ? asWritten : ours;
}

/** Whether the hour field of a schedule makes it follow elapsed time. */
export function followsElapsedTime(schedule: string): boolean {
  return parseCron(schedule).elapsed;
}

/** Equal for schedules of equal due times; undefined for a text that is none of ours. */
function meaning(text: string): string | undefined {
  try {
    return JSON.stringify(parseCron(text).fields);
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

function textOf({ seconds, minutes, hours, days, months }: CronValues, form: HourForm): string {
  const [day, weekday] = dayTexts(days);
  const fields = [
    field(minutes, 0, 60),
    form === 'list' ? hours.join(',') : field(hours, 0, 24),
    day,
    field(months, 1, EVERY_MONTH),
    weekday,
  ];
  return (seconds.length === 1 && seconds[0] === 0 ? fields : [field(seconds, 0, 60), ...fields]).join(' ');
}

function dayTexts(days: Days): readonly [day: string, weekday: string] {
  switch (days.kind) {
    case 'every':
      return ['*', '*'];
    case 'month':
      return [field(days.days, 1, EVERY_DAY), '*'];
    case 'lastOfMonth':
      return ['L', '*'];
    case 'week':
      return ['*', field(days.days, 0, EVERY_WEEKDAY)];
    case 'either':
      return [field(days.month, 1, EVERY_DAY), field(days.week, 0, EVERY_WEEKDAY)];
    case 'nthOfWeek':
      return ['*', `${days.day}#${days.nth}`];
    case 'lastOfWeek':
      return ['*', `${days.day}L`];
  }
}

function field(values: readonly number[], least: number, count: number): string {
  if (values.length === count) return '*';
  return stepped(values, least, count) ?? runs(values);
}

/** A step that starts with the field, of three values or more. */
function stepped(values: readonly number[], least: number, count: number): string | undefined {
  const step = (values[1] ?? 0) - (values[0] ?? 0);
  if (values[0] !== least || values.length < 3 || step < 2) return undefined;
  const all = Math.ceil(count / step);
  const fits = values.length === all && values.every((value, index) => value === least + index * step);
  return fits ? `*/${step}` : undefined;
}

function runs(values: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < values.length;) {
    const first = values[at] ?? 0;
    let length = 1;
    while (values[at + length] === first + length) length += 1;
    parts.push(length > 2 ? `${first}-${first + length - 1}` : values.slice(at, at + length).join(','));
    at += length;
  }
  return parts.join(',');
}
