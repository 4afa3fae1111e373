import { CronExpressionParser } from 'cron-parser';
import type { Millis } from '../../core/brand';
import { parseTimeSpan } from '../../core/duration';
import { AppLoadError, resolveSettings } from './app-folder';

/** The first fire strictly after an instant; both in milliseconds since 1970. */
export type NextFire = (after: number) => number;

interface FieldRules {
  readonly least: number;
  readonly most: number;
  /** Names of the values from `least` on. Any beginning of a name stands for it. */
  readonly names?: readonly string[];
}

const SIXTY: FieldRules = { least: 0, most: 59 };
const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
].concat('november', 'december');
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const FIELDS: readonly FieldRules[] = [
  SIXTY,
  SIXTY,
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: MONTHS },
  { least: 0, most: 6, names: WEEKDAYS },
];
/** `L`, `#`, `?` and the like belong to other dialects. */
const ITEM = /^(?:\*|(?<first>\d+|[a-z]+)(?:-(?<last>\d+|[a-z]+))?)(?:\/(?<step>\d+))?$/i;

/**
 * Compiles the schedule of a timer trigger as the real host reads it: NCRONTAB with 6 fields (seconds first) or 5, in
 * UTC; a time span between two fires; or a `%SETTING%` that contains one. Unlike in Vixie cron, day of month and day of
 * week must both match.
 * @throws {@link AppLoadError}
 * @see https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions
 */
export function parseSchedule(schedule: string, functionName: string): NextFire {
  const resolved = resolveSettings(schedule, `the schedule of function '${functionName}'`).trim();
  const refuse = (why: string, cause?: unknown): AppLoadError =>
    new AppLoadError(
      `Function '${functionName}': the schedule '${resolved}' is not a valid NCRONTAB expression: ${why} ` +
        'Use 6 fields: second minute hour day month day-of-week, such as "0 */5 * * * *".',
      { cause },
    );
  const period = periodOf(resolved);
  if (period !== undefined && period > 0) return (after) => after + period;
  const fields = resolved.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) throw refuse(`it has ${fields.length} fields.`);
  const six = fields.length === 5 ? ['0', ...fields] : fields;
  const lists = FIELDS.map((rules, index) => {
    const field = six[index] ?? '';
    const values = valuesOf(field, rules);
    if (values === undefined) throw refuse(`'${field}' is not understood.`);
    return values;
  });
  const weekdays = new Set(lists[5]);
  const days = [...lists.slice(0, 5).map((values) => values.join(',')), '*'].join(' ');
  try {
    const next: NextFire = (after) => {
      const found = CronExpressionParser.parse(days, { currentDate: new Date(after), tz: 'UTC' });
      // 28 years: by then every date has fallen on every weekday.
      for (const limit = after + 28 * 366 * 86_400_000; ;) {
        const date = found.next().toDate();
        if (weekdays.has(date.getUTCDay())) return date.getTime();
        if (date.getTime() > limit) throw refuse('it never fires.');
        // The whole day is out: continue at its end, and not through every second of it.
        found.reset(new Date(date.setUTCHours(23, 59, 59, 999)));
      }
    };
    next(Date.now());
    return next;
  } catch (error) {
    if (error instanceof AppLoadError) throw error;
    throw refuse(`${(error as Error).message}.`, error);
  }
}

/** A time span of .NET; undefined: the text is none. With 24 or more first, its parts are days, hours and minutes. */
function periodOf(text: string): Millis | undefined {
  const [, first, rest] = /^(\d+):(\d+:\d+)$/.exec(text) ?? [];
  return parseTimeSpan(Number(first) > 23 ? `${first ?? ''}.${rest ?? ''}` : text);
}

/** The values of a field, ascending; undefined if NCRONTAB has no such field. */
function valuesOf(field: string, rules: FieldRules): readonly number[] | undefined {
  const values = new Set<number>();
  for (const item of field.split(',')) {
    const found = ITEM.exec(item)?.groups;
    if (found === undefined) return undefined;
    const { first, last, step } = found;
    const from = first === undefined ? rules.least : valueOf(first, rules);
    const to =
      last === undefined ? (first === undefined || step !== undefined ? rules.most : from) : valueOf(last, rules);
    const by = Number(step ?? 1);
    if (from === undefined || to === undefined || by < 1) return undefined;
    // NCRONTAB reads 22-2 as 2-22.
    for (let value = Math.min(from, to); value <= Math.max(from, to); value += by) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function valueOf(text: string, { least, most, names = [] }: FieldRules): number | undefined {
  if (/^\d/.test(text)) return Number(text) >= least && Number(text) <= most ? Number(text) : undefined;
  const index = names.findIndex((name) => name.startsWith(text.toLowerCase()));
  return index < 0 ? undefined : least + index;
}
