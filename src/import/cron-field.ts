import { ScheduleError } from '../core/schedule/schedule-error';

/** One field of a dialect of cron. */
export interface FieldRules {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of the values from `least` on. */
  readonly names?: readonly string[];
  /** Whether any beginning of a name stands for it. */
  readonly shortNames?: boolean;
  /** The characters that stand for all values. */
  readonly all: '*' | '*?';
  /** A value with a step and without an end, such as `5/15`: refused, or up to the end of the field. */
  readonly openStep: 'refuse' | 'toEnd';
  /** A range such as `22-2`: refused, read as `2-22`, or carried over the end of the field. */
  readonly backwards: 'refuse' | 'swap' | 'wrap';
  /** The largest step. */
  readonly mostStep?: number;
}

export const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const ITEM = /^(?<first>[*?]|\d+|[a-z]+)?(?:-(?<last>\d+|[a-z]+))?(?:\/(?<step>\d+))?$/i;

/**
 * The values of a field, ascending.
 * @throws ScheduleError if the dialect refuses the field, or its programs disagree about it
 */
export function readField(text: string, rules: FieldRules): readonly number[] {
  const values = new Set<number>();
  for (const item of text.split(',')) for (const value of itemValues(item, text, rules)) values.add(value);
  return [...values].sort((a, b) => a - b);
}

function itemValues(item: string, text: string, rules: FieldRules): readonly number[] {
  const { least, most, all, openStep, mostStep = Infinity } = rules;
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
  const { least, most, names = [], shortNames = false } = rules;
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    if (value < least || value > most) throw wrong(field, rules);
    return value;
  }
  const lower = text.toLowerCase();
  const index = names.findIndex((name) => (shortNames ? name.startsWith(lower) : name === lower));
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
