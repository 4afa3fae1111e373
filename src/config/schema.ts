import * as z from 'zod';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../core/duration';
import type { JobName, Millis } from '../core/brand';
import { dateWindow, spanOf, type Window } from '../core/schedule/window';
import { dayOf } from '../core/schedule/calendar';
import { parseMoment } from '../core/schedule/moment';
import { parseSchedule } from '../core/schedule/parse';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf, type Zone } from '../core/schedule/zone';
import { nearest } from './suggest';

const JOB_NAME = /^[a-z0-9-]{1,63}$/;

/** The command line's word for all jobs. */
export const ALL_JOBS = 'all';

export function isJobName(name: string): name is JobName {
  return JOB_NAME.test(name);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Context = z.core.$RefinementCtx;

// Patterns are for editors: they catch obvious mistakes while typing. The readers below decide.
const DAY = String.raw`\d{4}-\d\d-\d\d`;
const ZONED = String.raw`${DAY}[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`;
const MOMENT = String.raw`^(${DAY}(T\d\d:\d\d(:\d\d)?)?|${ZONED})$`;
const SCHEDULE = String.raw`^\s*(@(hourly|daily|weekly|monthly|yearly|always|manual)|@every\s+[\ddhms]+|@at\s+${ZONED}|[^@\s]\S*(\s+\S+){4,5})\s*$`;

/** Adds an issue with its own remedy; `zod-issues.ts` reads it. */
function refuse(context: Context, message: string, remedy: string): never {
  context.issues.push({ code: 'custom', message, input: context.value, params: { remedy } });
  return z.NEVER;
}

/** Turns a reader that throws {@link ScheduleError} into one that reports an issue. */
function reading<Raw, Value>(read: (raw: Raw) => Value): (raw: Raw, context: Context) => Value {
  return (raw, context) => {
    try {
      return read(raw);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      return refuse(context, error.message, error.remedy);
    }
  };
}

const DURATION_REMEDY = 'write whole numbers with the units d, h, m, s in that order, such as 45s, 10m, 1h30m or 7d';

function duration(
  description: string,
  options: { readonly least?: Millis; readonly most?: Millis; readonly examples?: readonly string[] } = {},
) {
  const { least = 1000, most = Infinity, examples = ['45s', '10m', '1h30m', '7d'] } = options;
  const remedy =
    most === Infinity
      ? `write ${formatDuration(least)} or more`
      : `write ${formatDuration(least)} to ${formatDuration(most)}`;
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

function moment(description: string) {
  return z
    .string()
    .meta({ description: `${description}: ${MOMENT_WORDS}.`, pattern: MOMENT, examples: MOMENT_EXAMPLES })
    .transform(reading(parseMoment));
}

/**
 * Returns the window unchanged. If both borders are local, or both are instants, it rejects a window that runs
 * backwards here, since that needs no zone and is reported even if the job's zone is wrong.
 */
function inOrder<Borders extends Window>(window: Borders): Borders {
  const { from, to } = window;
  if ((from?.kind === 'instant') === (to?.kind === 'instant')) spanOf(window, zoneOf('UTC'));
  return window;
}

const exceptedDate = z
  .string()
  .meta({ description: 'A whole local day', pattern: `^${DAY}$`, examples: ['2026-12-25'] })
  .transform(
    reading((text) => {
      const date = parseMoment(text);
      if (date.kind === 'date') return dateWindow(date);
      throw new ScheduleError('is a time, not a date', 'write a date such as "2026-12-25", or {"from": …, "to": …}');
    }),
  );

const exceptedSpan = z
  .strictObject({ from: moment('Nothing is due from this on'), to: moment('Due again from this on') })
  .transform(reading(inOrder));

const year = (description: string) => z.int().min(1970).max(9999).meta({ description }).optional();

const exceptedYearly = z.strictObject({
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
        throw new ScheduleError('is not a day of a year', 'write month and day, such as "12-25"');
      }),
    ),
  days: z.int().min(1).max(366).meta({ description: 'The number of days, this one included.' }).prefault(1),
  since: year('The first year.'),
  until: year('The last year.'),
});

/** The most entries of one calendar, and the most calendars. */
export const CALENDAR_LIMITS = { entries: 5_000, calendars: 100 };

const calendarEntry = z.union([
  exceptedDate,
  exceptedSpan,
  exceptedYearly,
  z.strictObject({
    file: z
      .string()
      .min(1)
      .meta({ description: 'An iCalendar file, relative to the jobs file.', examples: ['holidays.ics'] }),
  }),
]);

export type CalendarEntry = z.output<typeof calendarEntry>;

/** The entries of one calendar. */
export const calendarSchema = z.array(calendarEntry).max(CALENDAR_LIMITS.entries);

function knownZone(name: string): Zone {
  try {
    return zoneOf(name);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const meant = nearest(name, Intl.supportedValuesOf('timeZone'));
    throw meant === undefined ? error : new ScheduleError(error.message, `did you mean "${meant}"?`);
  }
}

const dst = z
  .strictObject({
    gap: z
      .enum(['forward', 'skip'])
      .meta({
        description:
          'A due time that clocks skip: `forward` moves it to the first instant after the gap, `skip` drops it.',
      })
      .prefault('forward'),
    overlap: z
      .enum(['first', 'second', 'both'])
      .meta({
        description: 'A due time that clocks show twice is due in the `first` pass, in the `second`, or in `both`.',
      })
      .prefault('first'),
  })
  .meta({
    description:
      'What happens when clocks change. Does not apply to `@every` and `@at`, nor to an hour field with `*`, `-` or `/`, which follows elapsed time.',
  });

const retry = z
  .strictObject({
    attempts: z.int().min(1).meta({ description: 'How many attempts a run has, the first one included.' }).prefault(3),
    backoff: duration('The wait before the second attempt.', { least: 0 }).prefault('10s'),
    factor: z.number().min(1).meta({ description: 'Each further wait is this many times longer.' }).prefault(2),
    maxBackoff: duration('The longest wait.', { least: 0 }).prefault('5m'),
    jitter: z
      .enum(['full', 'none'])
      .meta({
        description:
          '`full` waits for a random part of each wait, so that jobs do not retry together; `none` waits for all of it.',
      })
      .prefault('full'),
  })
  .meta({ description: 'How an attempt that failed, timed out or stalled is retried.' });

/** One job: its form in the file, its defaults and its parsed form. */
export const jobSchema = z
  .strictObject({
    schedule: z
      .string()
      .meta({
        description:
          'When the job is due. Cron with 5 fields, or with 6 where seconds come first (names, `L` and `#` work); `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`; `@every 90s`, counted from 1970, so that a restart never shifts it; `@at 2026-12-31T23:00:00Z`, once; `@always`, a leader job, which runs one term after another and has no due times; `@manual`, on request only.',
        pattern: SCHEDULE,
        examples: [
          '0 3 * * *',
          '*/15 * * * *',
          '0 9 * * MON-FRI',
          '@daily',
          '@every 90s',
          '@at 2026-12-31T23:00:00Z',
          '@always',
          '@manual',
        ],
      })
      .transform(reading((text) => ({ text, ...parseSchedule(text) }))),
    timeZone: z
      .string()
      .meta({
        description: 'IANA time zone of the schedule and its windows.',
        examples: ['Europe/Lisbon', 'America/New_York', 'UTC'],
      })
      .transform(reading(knownZone))
      .prefault('UTC'),
    dst: dst.prefault({ gap: 'forward', overlap: 'first' }),
    between: z
      .strictObject({
        from: moment('Nothing is due before this').optional(),
        to: moment('Nothing is due from this on').optional(),
      })
      .meta({
        description:
          'The only period in which the job is due. The actual start counts, `spread` included, here and in `except`.',
      })
      .transform(reading(inOrder))
      .optional(),
    except: z
      .array(
        z.union([
          exceptedDate,
          exceptedSpan,
          z.strictObject({
            calendar: z.string().meta({ description: "The name of one of the file's `calendars`." }),
          }),
        ]),
      )
      .meta({
        description:
          'Dates, periods with an exclusive `to`, or calendars of this file, as `{"calendar": "holidays"}`, in which nothing is due.',
      })
      .prefault([]),
    catchUp: z
      .enum(['latest', 'all', 'none'])
      .meta({ description: 'Which missed due times run: only the `latest`, `all` in turn, or `none`.' })
      .prefault('latest'),
    catchUpWindow: duration('A due time older than this never runs.').prefault('1h'),
    overlap: z
      .enum(['skip', 'queue', 'cancel'])
      .meta({
        description:
          'A due time that comes during a run: `skip` it; `queue` it, so that the newest one runs right after; or `cancel` the run and then start.',
      })
      .prefault('skip'),
    priority: z
      .int()
      .min(0)
      .max(9)
      .meta({
        description:
          'Which jobs go first where many are due together: 9 first, 0 last. It orders claims, and handlers that wait for a free slot (`CRONLEASE_MAX_CONCURRENT_RUNS`); it does not change when a job is due. The default lies in the middle, so that some jobs can be put first, or last, without a change to the others.',
      })
      .prefault(5),
    spread: duration(
      'Delays every start by one fixed offset inside this span, taken from a hash of the job name, so that jobs do not all start at once. `scheduledFor` stays the nominal time.',
      {
        least: 0,
      },
    ).prefault('0s'),
    timeout: duration(
      'An attempt is aborted after this long. With `grace` it must fit into `functionTimeout` of host.json. Default: `10m`; none for `@always`.',
    ).optional(),
    stallAfter: duration(
      'An attempt that calls no `progress()` for this long is aborted, and its lease is released. Default: off.',
    ).optional(),
    grace: duration(
      'How long a handler may take to obey its abort signal before the attempt ends without it. Less than two thirds of the lease minus its margin, which is 2 s or a tenth of the lease, whichever is longer.',
      {
        least: 0,
        examples: ['0s', '5s', '15s'],
      },
    ).prefault('5s'),
    retry: retry.prefault({ attempts: 3, backoff: '10s', factor: 2, maxBackoff: '5m', jitter: 'full' }),
    lease: duration(
      'How long the lease of a running job lasts without renewal, `15s` to `60s` on Azure Blob Storage. Others take over from a dead holder after that.',
      {
        examples: ['15s', '30s', '60s'],
      },
    ).prefault('30s'),
    pauseAfterFailures: z
      .int()
      .min(1)
      .meta({ description: 'After this many failed runs in a row the job is paused, with a note. Default: off.' })
      .optional(),
    alertAfter: duration(
      'A job without a success for this long is overdue, which is logged at each sweep, unless the job is paused or disabled. Default: off.',
    ).optional(),
    keep: duration(
      'How long ledger records and logs are kept. A lifecycle rule deletes them after the longest `keep` of all jobs.',
    ).prefault('90d'),
    logs: z
      .enum(['keep', 'none'])
      .meta({
        description:
          '`keep` stores what the handler writes with `log` and `progress`, for each attempt up to 256 KB or 2,000 lines: the beginning and the end, with the gap named. `none` stores nothing of it. The host logs it either way.',
      })
      .prefault('keep'),
    input: z
      .unknown()
      .check(json)
      .meta({
        description: "JSON for the handler. The handler's own schema checks it when the app starts. Default: none.",
      })
      .optional(),
    handler: z
      .string()
      .min(1)
      .meta({ description: "The handler's name in the registry. Default: the job's name." })
      .optional(),
    description: z.string().meta({ description: 'A description for people. Default: none.' }).optional(),
    tags: z.array(z.string().min(1)).meta({ description: 'Labels for finding jobs.' }).prefault([]),
    enabled: z
      .boolean()
      .meta({
        description:
          '`false` records the due times as `disabled` instead of running them. The job can still be run by hand.',
      })
      .prefault(true),
  })
  .meta({ description: 'When a job runs, and how.' });

const topShape = {
  $schema: z
    .string()
    .meta({ description: 'The path of the JSON Schema of this file, for completion in editors.' })
    .optional(),
  revision: z
    .int()
    .min(0)
    .meta({
      description:
        'The version of this file. Raise it with each change of a schedule: a deployment with a lower revision never claims a job whose schedule differs.',
    })
    .prefault(0),
  calendars: z
    .record(z.string().regex(JOB_NAME), calendarSchema)
    .meta({
      description:
        'Calendars by name, for `except`: lists of dates, periods, days of each year as `{"yearly": "12-25"}`, and iCalendar files as `{"file": "holidays.ics"}`, which are read at the start. Days are those of the zone of each job.',
    })
    .prefault({}),
};

/** The whole file, for the JSON Schema. `loadJobs` checks it job by job, so that one bad job does not hide another. */
export const fileSchema = z
  .strictObject({
    ...topShape,
    jobs: z
      .record(z.string().regex(JOB_NAME), jobSchema)
      .meta({ description: 'The jobs by name: 1 to 63 characters of `a-z`, `0-9` and `-`.' }),
  })
  .meta({ title: 'cronlease jobs' });

/** The file's top, with its jobs unchecked. */
export const topSchema = z.strictObject({ ...topShape, jobs: z.record(z.string(), z.unknown()) });

/** A job without its wrong members. */
export const jobRemainder = jobSchema.partial({ schedule: true });

/** A job as the file has it. */
export type JobInFile = z.input<typeof jobSchema>;

export type JobSettings = z.output<typeof jobRemainder>;

function json(context: { readonly value: unknown; readonly issues: z.core.$ZodRawIssue[] }): void {
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
