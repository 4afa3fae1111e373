import type { JobInFile } from '../config/job-in-file';
import { ScheduleError } from '../core/schedule/schedule-error';
import { scheduled } from './clock-policy';
import { type Dialect, readField } from './cron-field';
import { type CronValues, type Days, inMonth, inWeek } from './cron-text';
import { type Finds, type Found, type SourceOptions, findsIn, logicalLines } from './draft';
import { type QuartzTrigger, readQuartzXml } from './quartz-xml';

/** Reads the triggers of a Quartz jobs file (XML), of properties, or of a list with one `NAME EXPRESSION` a line. */
export function readQuartzFile(file: string, text: string, options: SourceOptions): Found {
  const finds = findsIn(file);
  const triggers = text.trimStart().startsWith('<')
    ? readQuartzXml(finds, file, text, options)
    : readLines(finds, text);
  for (const trigger of triggers) addTrigger(finds, trigger, options);
  return finds;
}

function addTrigger(finds: Finds, trigger: QuartzTrigger, options: SourceOptions): void {
  const { line, name, expression, timeZone = options.timeZone, settings = {} } = trigger;
  const what = `${name} = ${expression}`;
  try {
    const { values, years, written } = readQuartz(expression);
    const { differs, ...timing } = scheduled({ values, written, timeZone, rule: 'secondPass' }, options.now);
    if (differs !== undefined) throw new Error(`a Quartz expression differs: ${differs}`);
    if (years !== undefined && settings.between !== undefined) {
      throw new ScheduleError('has a year, and its trigger has a start or end time', 'use one of the two');
    }
    finds.add(line, name, { ...timing, ...settings, ...windowOf(years) });
  } catch (error) {
    finds.leaveOutFor(error, line, what, 'the expression');
  }
}

/** Six or seven fields, of which the first is a second: nothing else in a properties file looks like that. */
const EXPRESSION = /^[\d*/,-]+(\s+[\w*/,?#-]+){5,6}$/;

function readLines(finds: Finds, text: string): readonly QuartzTrigger[] {
  return logicalLines(text, /^[#!]/).flatMap(({ line, text: entry }) => {
    const split = /^(?<name>[^\s=:]+)(?:\s*[=:]\s*|\s+)(?<value>.*)$/.exec(entry)?.groups;
    const [name = '', value = ''] = [split?.['name'], split?.['value']?.trim().replace(/^(["'])(.*)\1$/, '$2')];
    const expression = [value, entry].find((one) => EXPRESSION.test(one));
    if (expression !== undefined) {
      const job = expression === value ? name : `job-${line}`;
      if (/\d/.test((expression.split(/\s+/)[5] ?? '').replaceAll(/[#/]\d+/g, ''))) {
        const why = 'Quartz counts weekdays from 1, which is Sunday; Spring and others count Monday as 1';
        finds.note(line, `${job} = ${expression}`, why, 'Check its weekdays: cronlease next.');
      }
      return [{ line, name: job, expression }];
    }
    // Another setting may hold a password: its name is enough.
    const what = name === '' ? 'a line' : name;
    finds.leaveOut(
      line,
      what,
      'it contains no Quartz expression',
      'Nothing needs to be done if it is another setting.',
    );
    return [];
  });
}

interface QuartzCron {
  readonly values: CronValues;
  /** The years, ascending; undefined: all. */
  readonly years: readonly number[] | undefined;
  /** Without the year, as far as our own cron has it. */
  readonly written: string;
}

/** Quartz counts the days of the week from 1. */
const QUARTZ: Dialect = {
  all: '*',
  openStep: 'toEnd',
  backwards: 'wrap',
  weekdays: { least: 1, most: 7 },
  limitsSteps: true,
};
const LAST_YEAR = 2099;
const YEARS = LAST_YEAR - 1970 + 1;

/**
 * Reads an expression of Quartz: 6 fields with seconds first, and a year after them if there are 7.
 * @throws ScheduleError
 */
function readQuartz(text: string): QuartzCron {
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
    seconds: readField(fromStart(second), 'second', QUARTZ),
    minutes: readField(fromStart(minute), 'minute', QUARTZ),
    hours: readField(fromStart(hour), 'hour', QUARTZ),
    days: day === '?' ? weekDays(weekday.toUpperCase()) : monthDays(day.toUpperCase()),
    months: readField(fromStart(month), 'month', QUARTZ),
  };
  const years = readField(fromStart(year), 'year', { ...QUARTZ, backwards: 'refuse', limitsSteps: false });
  return {
    values,
    years: years.length === YEARS ? undefined : years,
    written: fields.slice(0, 6).join(' ').replaceAll('?', '*'),
  };
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
  return inMonth(readField(fromStart(text), 'day-of-month', QUARTZ));
}

function weekDays(text: string): Days {
  // By itself, L is Saturday, and not the last day of anything.
  if (text === 'L') return { kind: 'week', days: [6] };
  const [, name = '', nth] = /^(\w+?)(?:#(\d)|L)$/.exec(text) ?? [];
  if (name === '') {
    const days = readField(fromStart(text), 'day-of-week', QUARTZ).map((day) => day - 1);
    return inWeek(days);
  }
  const [day = 1] = readField(name, 'day-of-week', QUARTZ);
  if (nth === undefined) return { kind: 'lastOfWeek', day: day - 1 };
  if (Number(nth) < 1 || Number(nth) > 5)
    throw new ScheduleError(`has "${text}" for day-of-week`, 'after # use 1 to 5');
  return { kind: 'nthOfWeek', day: day - 1, nth: Number(nth) };
}

/** The years as a period, and the gaps in it. */
function windowOf(years: readonly number[] | undefined): Pick<JobInFile, 'between' | 'except'> {
  if (years === undefined) return {};
  const [first = 0, last = 0] = [years[0], years.at(-1)];
  const except: { from: string; to: string }[] = [];
  years.forEach((year, index) => {
    const next = years[index + 1] ?? year + 1;
    if (next > year + 1) except.push({ from: `${year + 1}-01-01`, to: `${next}-01-01` });
  });
  const to = last === LAST_YEAR ? {} : { to: `${last + 1}-01-01` };
  return { between: { from: `${first}-01-01`, ...to }, ...(except.length > 0 && { except }) };
}
