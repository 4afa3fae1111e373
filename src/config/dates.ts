import * as z from 'zod';
import { dateWindow, spanOf, type Window, type Yearly } from '../core/schedule/window';
import { dayOf } from '../core/schedule/calendar';
import { parseMoment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf } from '../core/schedule/zone';
import { DAY, moment, reading } from './readers';

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
