import { ScheduleError } from '../core/schedule/schedule-error';

/** How the programs of one dialect of cron read a field. */
export interface Dialect {
  /** The characters that stand for all values. */
  readonly all: '*' | '*?';
  /** A value with a step and without an end, such as `5/15`: refused, or up to the end of the field. */
  readonly openStep: 'refuse' | 'toEnd';
  /** A range such as `22-2`: refused, read as `2-22`, or carried over the end of the field. */
  readonly backwards: 'refuse' | 'swap' | 'wrap';
  /** The values for days of the week. The first one is Sunday. */
  readonly weekdays: { readonly least: number; readonly most: number };
  /** Whether any beginning of a name stands for it. Default: its first three letters. */
  readonly shortNames?: boolean;
  /** Whether a step may not be larger than the largest value. */
  readonly limitsSteps?: boolean;
}

const FIELDS = {
  second: { least: 0, most: 59 },
  minute: { least: 0, most: 59 },
  hour: { least: 0, most: 23 },
  'day-of-month': { least: 1, most: 31 },
  month: { least: 1, most: 12 },
  'day-of-week': undefined,
  year: { least: 1970, most: 2099 },
} as const;

type FieldName = keyof typeof FIELDS;

const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const NAMES: Partial<Record<FieldName, readonly string[]>> = { month: MONTHS, 'day-of-week': WEEKDAYS };

interface FieldRules extends Dialect {
  readonly name: FieldName;
  readonly least: number;
  readonly most: number;
}

const ITEM = /^(?<first>[*?]|\d+|[a-z]+)?(?:-(?<last>\d+|[a-z]+))?(?:\/(?<step>\d+))?$/i;

/**
 * The values of a field, ascending.
 * @throws ScheduleError if the dialect refuses the field, or its programs disagree about it
 */
export function readField(text: string, name: FieldName, dialect: Dialect): readonly number[] {
  const rules = { ...dialect, name, ...(FIELDS[name] ?? dialect.weekdays) };
  const values = new Set(text.split(',').flatMap((item) => itemValues(item, text, rules)));
  return [...values].sort((a, b) => a - b);
}

const SIX = ['second', 'minute', 'hour', 'day-of-month', 'month', 'day-of-week'] as const;

/** The values of six fields, seconds first. */
export function readFields(texts: readonly string[], dialect: Dialect): readonly (readonly number[])[] {
  return SIX.map((name, index) => readField(texts[index] ?? '', name, dialect));
}

function itemValues(item: string, text: string, rules: FieldRules): readonly number[] {
  const { least, most, all, openStep } = rules;
  const mostStep = rules.limitsSteps === true ? most : Infinity;
  const { first, last, step: stepText } = ITEM.exec(item)?.groups ?? {};
  const isAll = first !== undefined && all.includes(first);
  if (first === undefined || (!isAll && /[*?]/.test(first)) || (isAll && last !== undefined)) throw wrong(text, rules);
  const step = Number(stepText ?? 1);
  if (step < 1 || step > mostStep)
    throw wrong(text, rules, `a step is 1${mostStep === Infinity ? ' or more' : ` to ${mostStep}`}`);
  if (isAll) return steps(least, most, step);
  const from = valueOf(first, text, rules);
  if (last !== undefined) return range(from, valueOf(last, text, rules), step, text, rules);
  if (stepText === undefined) return [from];
  if (openStep === 'toEnd') return steps(from, most, step);
  throw new ScheduleError(
    `has "${item}" for ${rules.name}: some crons read it as ${first}, others as ${first}-${most}/${stepText}`,
    'use the one that is meant',
  );
}

function range(from: number, to: number, step: number, text: string, rules: FieldRules): readonly number[] {
  if (from <= to) return steps(from, to, step);
  switch (rules.backwards) {
    case 'swap':
      return steps(to, from, step);
    case 'wrap': {
      const { least, most } = rules;
      const count = most - least + 1;
      return steps(from, to + count, step).map((value) => (value > most ? value - count : value));
    }
    case 'refuse':
      throw wrong(text, rules, 'ranges ascend');
  }
}

function steps(from: number, to: number, step: number): readonly number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function valueOf(text: string, field: string, rules: FieldRules): number {
  const { least, most, shortNames = false } = rules;
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    if (value < least || value > most) throw wrong(field, rules);
    return value;
  }
  const lower = text.toLowerCase();
  const names = NAMES[rules.name] ?? [];
  const index = names.findIndex((name) => (shortNames ? name.startsWith(lower) : name.slice(0, 3) === lower));
  if (index < 0) throw wrong(field, rules);
  return least + index;
}

function wrong(text: string, { name, least, most }: FieldRules, remedy?: string): ScheduleError {
  return new ScheduleError(`has "${text}" for ${name}`, remedy ?? `${name} is ${least} to ${most}`);
}

/** The names of schedules that cron and Kubernetes share. */
export const MACROS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

const NCRONTAB: Dialect = {
  all: '*',
  openStep: 'toEnd',
  backwards: 'swap',
  weekdays: { least: 0, most: 6 },
  shortNames: true,
};

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
  return readFields(fields.length === 5 ? ['0', ...fields] : fields, NCRONTAB);
}
