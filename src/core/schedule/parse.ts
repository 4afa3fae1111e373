import type { EpochMs, Millis } from '../brand';
import { parseDuration } from '../duration';
import { parseInstant } from './moment';
import { CronExpressionParser } from 'cron-parser';
import { bitSet, sixtySet, type CronFields } from './wall';
import { ScheduleError } from './schedule-error';

/** A parsed `schedule` setting, without zone and policies. */
export type Schedule =
  | ({ readonly kind: 'cron' } & Cron)
  | { readonly kind: 'every'; readonly period: Millis }
  | { readonly kind: 'at'; readonly at: EpochMs }
  | { readonly kind: 'always' }
  | { readonly kind: 'manual' };

const MACROS: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
]);

const WORDS = '@hourly, @daily, @weekly, @monthly, @yearly, @every 90s, @at 2026-12-31T23:00:00Z, @always or @manual';

/** Look-ups end 5 years ahead, so a longer period would never be due. */
const LONGEST_PERIOD = 5 * 365 * 86_400_000;

/**
 * Reads the text of a `schedule` setting.
 * @throws ScheduleError with the remedy.
 */
export function parseSchedule(text: string): Schedule {
  const [word = '', ...rest] = text.trim().split(/\s+/);
  if (!word.startsWith('@')) return { kind: 'cron', ...parseCron(text) };
  const argument = rest.join(' ');
  switch (word) {
    case '@every':
      return { kind: 'every', period: parsePeriod(argument) };
    case '@at':
      return { kind: 'at', at: parseOnce(argument) };
  }
  if (argument !== '') throw new ScheduleError(`has "${argument}" after ${word}`, `use only ${word}`);
  if (word === '@always') return { kind: 'always' };
  if (word === '@manual') return { kind: 'manual' };
  const cron = MACROS.get(word);
  if (cron === undefined) throw new ScheduleError(`begins with ${word}, which is unknown`, `use ${WORDS}`);
  return { kind: 'cron', ...parseCron(cron) };
}

function parsePeriod(text: string): Millis {
  const remedy = 'use @every and a duration from 1s to 1825d, such as @every 90s or @every 1h30m';
  const period = parseDuration(text);
  if (period === undefined)
    throw new ScheduleError(`has ${text === '' ? 'no duration' : `"${text}"`} after @every`, remedy);
  if (period === 0 || period > LONGEST_PERIOD) throw new ScheduleError(`has a period of ${text}`, remedy);
  return period;
}

function parseOnce(text: string): EpochMs {
  const at = parseInstant(text);
  if (at < 0) throw new ScheduleError('is before 1970, when nothing is ever due', 'use a later time');
  return at;
}

/** A remark about a valid schedule that may not be what its author meant. */
export interface ScheduleWarning {
  readonly message: string;
  readonly remedy: string;
}

export interface Cron {
  readonly fields: CronFields;
  /**
   * Whether the hour field holds `*`, `?`, `-` or `/`. Such a schedule is due at each instant whose wall time matches,
   * even when the zone's clocks change.
   */
  readonly elapsed: boolean;
  readonly warnings: readonly ScheduleWarning[];
}

const FIELDS = [
  { name: 'second', widest: 59, form: '0-59' },
  { name: 'minute', widest: 59, form: '0-59' },
  { name: 'hour', widest: 23, form: '0-23' },
  { name: 'day-of-month', widest: 30, form: '1-31 or L (the last day)' },
  { name: 'month', widest: 11, form: '1-12 or JAN-DEC' },
  {
    name: 'day-of-week',
    widest: 6,
    form: '0-7 (0 and 7 are Sunday) or SUN-SAT, 5L (the last Friday), 1#3 (the third Monday)',
  },
] as const;

type SixFields = readonly [string, string, string, string, string, string];

const SHAPE =
  'must be 5 fields (minute hour day-of-month month day-of-week), such as "0 3 * * *", or 6 with seconds first';

/**
 * Reads a cron expression of 5 fields, or of 6 with seconds first. cron-parser checks the fields' values.
 * @throws ScheduleError
 */
export function parseCron(text: string): Cron {
  const fields = sixFields(text);
  refuse(fields);
  const parsed = parseFields(fields);
  if (parsed === undefined) throw explain(fields);
  const nth = parsed.dayOfWeek.nthDay;
  if (!Number.isInteger(nth)) {
    const remedy = 'after # use 1 to 5, such as 1#3 for the third Monday';
    throw new ScheduleError(`has "${fields[5]}" for day-of-week`, remedy);
  }
  return {
    fields: toFields(parsed),
    elapsed: /[*?/-]/.test(fields[2]),
    warnings: warningsFor(fields),
  };
}

function sixFields(text: string): SixFields {
  const fields = text.trim().split(/\s+/);
  if (fields.length === 7) {
    const remedy = 'leave the year out: limit the years with "between", or run once with "@at"';
    throw new ScheduleError('has 7 fields', remedy);
  }
  const [a = '', b = '', c = '', d = '', e = '', f] = fields;
  if (fields.length < 5 || fields.length > 6) {
    const problem = text.trim() === '' ? 'is empty' : `has ${fields.length} field${fields.length === 1 ? '' : 's'}`;
    throw new ScheduleError(problem, SHAPE);
  }
  return f === undefined ? ['0', a, b, c, d, e] : [a, b, c, d, e, f];
}

/** Rejects features of other crons that this one lacks, each with a replacement. */
function refuse(fields: SixFields): void {
  for (const field of fields) {
    if (/(?<![A-GI-Z])H(?![A-GI-Z])/i.test(field)) {
      const remedy = 'use a value, and set "spread" to keep jobs apart: H would be random';
      throw new ScheduleError(`has H in "${field}"`, remedy);
    }
    if (/W(?![A-Z])/i.test(field)) {
      throw new ScheduleError(
        `has W (the nearest weekday) in "${field}", which is not supported`,
        'use the day (15), the last day (L), or a weekday (1-5, 5L for the last Friday)',
      );
    }
    if (/L-\d/i.test(field)) {
      const remedy = 'use L for the last day, or the days themselves';
      throw new ScheduleError(`has "${field}": days before the last one are not supported`, remedy);
    }
  }
}

type ParsedFields = ReturnType<typeof CronExpressionParser.parse>['fields'];

function parseFields(fields: SixFields): ParsedFields | undefined {
  try {
    // A fixed date, so that cron-parser does not read the machine's clock.
    return CronExpressionParser.parse(fields.join(' '), { tz: 'UTC', currentDate: 0, hashSeed: '' }).fields;
  } catch (error) {
    // Its errors name no field; explain() finds the wrong one.
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

/**
 * Tries each field by itself to find the wrong ones. If each is right by itself, together they name a date that never
 * comes.
 */
function explain(fields: SixFields): ScheduleError {
  const wrong = FIELDS.flatMap((field, index) => {
    const alone = ['0', '0', '0', '*', '*', '*'].with(index, fields[index] ?? '');
    const [a = '', b = '', c = '', d = '', e = '', f = ''] = alone;
    return parseFields([a, b, c, d, e, f]) === undefined ? [{ ...field, text: fields[index] ?? '' }] : [];
  });
  if (wrong.length === 0) {
    const remedy = 'use a day that one of the months has, or L for the last day';
    return new ScheduleError(`names a date that never comes: day ${fields[3]} of month ${fields[4]}`, remedy);
  }
  return new ScheduleError(
    `has ${wrong.map((field) => `"${field.text}" for ${field.name}`).join(' and ')}`,
    wrong.map((field) => `${field.name} is ${field.form}`).join('; ') +
      '; each value once, in lists 1,15, ascending ranges 1-5, steps */5 or 0-30/10',
  );
}

function toFields(parsed: ParsedFields): CronFields {
  const { dayOfMonth, dayOfWeek } = parsed;
  const anyDay = dayOfMonth.isWildcard;
  const anyWeekday = dayOfWeek.isWildcard;
  const numbers = (values: readonly (number | string)[]): number[] =>
    values.filter((value) => typeof value === 'number');
  const lasts = dayOfWeek.values
    .filter((value) => typeof value === 'string')
    .map((value) => Number.parseInt(value, 10));
  return {
    seconds: sixtySet(parsed.second.values),
    minutes: sixtySet(parsed.minute.values),
    hours: bitSet(parsed.hour.values),
    months: bitSet(parsed.month.values.map((month) => month - 1)),
    daysOfMonth: anyDay ? 0 : bitSet(numbers(dayOfMonth.values).map((day) => day - 1)),
    lastDay: !anyDay && dayOfMonth.hasLastChar,
    weekdays: anyWeekday ? (anyDay ? 0x7f : 0) : bitSet(numbers(dayOfWeek.values).map((day) => day % 7)),
    nth: dayOfWeek.nthDay,
    lastWeekdays: bitSet(lasts.map((day) => day % 7)),
  };
}

function warningsFor(fields: SixFields): readonly ScheduleWarning[] {
  const warnings: ScheduleWarning[] = [];
  const [, , , day, month, weekday] = fields;
  if (!/^[*?]$/.test(day) && !/^[*?]$/.test(weekday)) {
    const inVixie = [day, weekday].some((field) => field.startsWith('*'))
      ? ': here Vixie cron takes only days that match both'
      : ', as in Vixie cron';
    warnings.push({
      message: `sets both day-of-month (${day}) and day-of-week (${weekday}): the job is due on days that match either${inVixie}`,
      remedy: 'use * for one of them, unless you mean either',
    });
  } else if (/^(?:2|FEB)$/i.test(month) && weekday.endsWith('#5')) {
    warnings.push({
      message: 'is due only in leap years, 28 years apart, and due times more than 5 years ahead are never found',
      remedy: 'use a # of 1 to 4, or another month',
    });
  }
  fields.forEach((text, index) => {
    const field = FIELDS[index];
    const step = Number(/\/(\d+)/.exec(text)?.[1] ?? 0);
    if (field === undefined || step <= field.widest) return;
    warnings.push({
      message: `has a step of ${step} for ${field.name}, more than the field spans: only its first value is ever due`,
      remedy: 'use the value itself, or "@every" for a period that does not restart every hour or day',
    });
  });
  return warnings;
}
