import type { JobName, Millis } from '../core/brand';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../core/duration';
import * as z from 'zod';
import { dateWindow, spanOf, type Window, type Yearly } from '../core/schedule/window';
import { dayOf } from '../core/schedule/calendar';
import { parseMoment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf } from '../core/schedule/zone';

export const JOB_NAME = /^[a-z0-9-]{1,63}$/;

/** The command line's word for all jobs. */
export const ALL_JOBS = 'all';

export function isJobName(name: string): name is JobName {
  return JOB_NAME.test(name);
}

type Context = z.core.$RefinementCtx;

// Patterns are for editors: they catch obvious mistakes while typing. The readers below decide.
export const DAY = String.raw`\d{4}-\d\d-\d\d`;
const ZONED = String.raw`${DAY}[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`;
const MOMENT = String.raw`^(${DAY}(T\d\d:\d\d(:\d\d)?)?|${ZONED})$`;
export const SCHEDULE = String.raw`^\s*(@(hourly|daily|weekly|monthly|yearly|always|manual)|@every\s+[\ddhms]+|@at\s+${ZONED}|[^@\s]\S*(\s+\S+){4,5})\s*$`;

/** Adds an issue with its own remedy; `zod-issues.ts` reads it. */
export function refuse(context: Context, message: string, remedy: string): never {
  context.issues.push({ code: 'custom', message, input: context.value, params: { remedy } });
  return z.NEVER;
}

/** Turns a reader that throws {@link ScheduleError} into one that reports an issue. */
export function reading<Raw, Value>(read: (raw: Raw) => Value): (raw: Raw, context: Context) => Value {
  return (raw, context) => {
    try {
      return read(raw);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      return refuse(context, error.message, error.remedy);
    }
  };
}

const DURATION_REMEDY = 'must be whole numbers with the units d, h, m, s in that order, such as 45s, 10m, 1h30m or 7d';

export function duration(
  description: string,
  options: { readonly least?: Millis; readonly most?: Millis; readonly examples?: readonly string[] } = {},
) {
  const { least = 1000, most = Infinity, examples = ['45s', '10m', '1h30m', '7d'] } = options;
  const remedy =
    most === Infinity
      ? `must be ${formatDuration(least)} or more`
      : `must be ${formatDuration(least)} to ${formatDuration(most)}`;
  return z
    .string()
    .meta({ description, pattern: DURATION_PATTERN.source, examples: [...examples] })
    .transform((text, context): Millis => {
      const ms = parseDuration(text);
      if (ms === undefined) return refuse(context, 'is not a duration', DURATION_REMEDY);
      if (ms < least) return refuse(context, `is shorter than ${formatDuration(least)}`, remedy);
      if (ms > most) return refuse(context, `is longer than ${formatDuration(most)}`, remedy);
      return ms;
    });
}

const MOMENT_WORDS = "a date (its start), a local date and time in the job's zone, or RFC 3339 with Z or an offset";
const MOMENT_EXAMPLES = ['2026-12-24', '2026-12-24T18:00', '2026-12-24T18:00:00Z'];

export function moment(description: string) {
  return z
    .string()
    .meta({ description: `${description}: ${MOMENT_WORDS}.`, pattern: MOMENT, examples: MOMENT_EXAMPLES })
    .transform(reading(parseMoment));
}

export function json(context: { readonly value: unknown; readonly issues: z.core.$ZodRawIssue[] }): void {
  if (isJson(context.value, 0)) return;
  context.issues.push({
    code: 'custom',
    message: 'is not JSON',
    input: context.value,
    params: { remedy: 'use null, true, false, finite numbers, text, lists and plain objects, at most 200 deep' },
  });
}

function isJson(value: unknown, depth: number): boolean {
  if (depth > 200) return false;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = prototype === null || prototype === Object.prototype;
  return plain && Object.values(value).every((member) => member === undefined || isJson(member, depth + 1));
}

/**
 * Returns the window unchanged. If both boundaries are local, or both are instants, it rejects a window that runs
 * backwards here, because that needs no zone and is reported even if the job's zone is wrong.
 */
export function inOrder<Borders extends Window>(window: Borders): Borders {
  const { from, to } = window;
  if ((from?.kind === 'instant') === (to?.kind === 'instant')) spanOf(window, zoneOf('UTC'));
  return window;
}

export const exceptedDate = z
  .string()
  .meta({ description: 'A whole local day', pattern: `^${DAY}$`, examples: ['2026-12-25'] })
  // A word, such as the name of a calendar, gets the remedy of its place, which names all that may stand there.
  .refine((text) => /^\d/.test(text), { message: 'is not a date', abort: true })
  .transform(
    reading((text) => {
      const date = parseMoment(text);
      if (date.kind === 'date') return dateWindow(date);
      throw new ScheduleError('is a time, not a date', 'must be a date such as "2026-12-25", or {"from": …, "to": …}');
    }),
  );

const name = z
  .string()
  .min(1)
  .meta({ description: 'What it is, for people: `why` and `plan --excluded` show it.', examples: ['Christmas Day'] })
  .optional();

export const exceptedSpan = z
  .strictObject({ from: moment('Nothing is due from this on'), to: moment('Due again from this on'), name })
  .transform(reading(inOrder));

const year = (description: string) => z.int().min(1970).max(9999).meta({ description }).optional();

export const exceptedYearly = z.strictObject({
  yearly: z
    .string()
    .meta({
      description: 'Month and day of a local day, each year',
      pattern: String.raw`^\d\d-\d\d$`,
      examples: ['12-25'],
    })
    .transform(
      reading((text) => {
        const [, month = 0, day = 0] = (/^(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number);
        // 2024 is a leap year.
        if (dayOf(2024, month, day) !== undefined) return { month, day };
        throw new ScheduleError('is not a day of a year', 'must be month and day, such as "12-25"');
      }),
    ),
  days: z.int().min(1).max(366).describe('The number of days, this one included.').prefault(1),
  since: year('The first year.'),
  until: year('The last year.'),
  name,
});

/** A yearly entry unchanged. One whose years run backwards would exclude nothing, unnoticed. */
function inYears<Entry extends Pick<Yearly, 'since' | 'until'>>(entry: Entry): Entry {
  if ((entry.since ?? 0) <= (entry.until ?? Infinity)) return entry;
  throw new ScheduleError('ends before it begins', '"until" is the last year, and must not be before "since"');
}

const texts = (description: string, examples: string[]) =>
  z
    .array(z.string().min(1))
    .min(1)
    .meta({ description, examples: [examples] })
    .optional();

const eventFilter = (description: string) =>
  z
    .strictObject({
      categories: texts('Events with one of these CATEGORIES, in any case.', ['Public holiday']),
      summary: texts('Events with one of these SUMMARY texts, in any case; `*` stands for any text.', ['*(observed)']),
    })
    .refine(({ categories, summary }) => (categories ?? summary) !== undefined, { message: 'is empty' })
    .meta({ description })
    .optional();

/** By which events of an iCalendar file are selected. */
export type EventFilter = NonNullable<z.output<ReturnType<typeof eventFilter>>>;

/** The most entries of one calendar, and the most calendars. */
export const CALENDAR_LIMITS = { entries: 5_000, calendars: 100 };

const calendarEntry = z.union([
  exceptedDate,
  exceptedSpan,
  exceptedYearly.transform(reading(inYears)),
  z.strictObject({
    file: z
      .string()
      .min(1)
      .meta({ description: 'An iCalendar file, relative to the jobs file.', examples: ['holidays.ics'] }),
    select: eventFilter('Only these events of the file count.'),
    exclude: eventFilter('These events of the file do not count.'),
  }),
]);

export type CalendarEntry = z.output<typeof calendarEntry>;

export const calendarSchema = z.array(calendarEntry).max(CALENDAR_LIMITS.entries);
