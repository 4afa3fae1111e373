import { NOTICE_TOPICS } from '../core/job';
import { AHEAD_AT_MOST_MS } from '../core/row';
import { parseSchedule } from '../core/schedule/parse';
import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf, type Zone } from '../core/schedule/zone';
import { nearest } from './suggest';
import {
  calendarSchema,
  exceptedDate,
  exceptedSpan,
  inOrder,
  duration,
  JOB_NAME,
  json,
  moment,
  reading,
  SCHEDULE,
} from './readers';
import { windowsZone } from './windows-zones';
import { CALL_METHODS } from '../core/call';
import * as z from 'zod';

export const callSchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .meta({
        description: 'The https address. The app setting `CRONLEASE_CALL_HOSTS` must list its host.',
        examples: ['https://billing.example.com/api/close'],
      }),
    method: z.enum(CALL_METHODS).describe('The HTTP method.').prefault('POST'),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'Headers by name.', examples: [{ 'x-functions-key': '%BILLING_KEY%' }] })
      .prefault({}),
    body: z.unknown().check(json).describe('JSON, or a string, which is sent as it is. Default: none.').optional(),
    identity: z
      .string()
      .min(1)
      .meta({
        description: "The audience for which a token of the app's managed identity is sent. Default: none.",
        examples: ['api://billing', 'https://management.azure.com'],
      })
      .optional(),
    expect: z
      .array(z.int().min(200).max(599))
      .min(1)
      .meta({ description: 'The statuses that count as success. Default: 200 to 299.', examples: [[200, 404]] })
      .optional(),
  })
  .describe(
    'An HTTP request instead of a handler. `%NAME%` in its strings is replaced by an app setting when the app starts, and `{scheduledFor}`, `{scheduledFor:date}`, `{runId}`, `{attempt}`, `{token}` and `{input.NAME}` by each attempt. Default: none.',
  );

function knownZone(name: string): Zone {
  try {
    return zoneOf(name);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const windows = windowsZone(name);
    if (windows !== undefined)
      throw new ScheduleError('is the name of a time zone on Windows', `use its IANA name "${windows}"`);
    const meant = nearest(name, Intl.supportedValuesOf('timeZone'));
    throw meant === undefined ? error : new ScheduleError(error.message, `did you mean "${meant}"?`);
  }
}

const dst = z
  .strictObject({
    gap: z
      .enum(['forward', 'skip'])
      .describe('A due time that clocks skip: `forward` moves it to the first instant after the gap, `skip` drops it.')
      .prefault('forward'),
    overlap: z
      .enum(['first', 'second', 'both'])
      .describe('A due time that clocks show twice is due in the `first` pass, in the `second`, or in `both`.')
      .prefault('first'),
  })
  .describe(
    'What happens when clocks change. Does not apply to `@every` and `@at`, nor to an hour field with `*`, `-` or `/`, which follows elapsed time.',
  );

/** A row that waits for more than a year counts as damaged. */
const LONGEST_WAIT = AHEAD_AT_MOST_MS - 86_400_000;

const retry = z
  .strictObject({
    attempts: z.int().min(1).describe('How many attempts a run has, including the first.').prefault(3),
    backoff: duration('The wait before the second attempt.', { least: 0 }).prefault('10s'),
    factor: z.number().min(1).describe('Each further wait is this many times longer.').prefault(2),
    maxBackoff: duration('The longest wait.', { least: 0, most: LONGEST_WAIT }).prefault('5m'),
    jitter: z
      .enum(['full', 'none'])
      .describe(
        '`full` waits for a random part of each wait, so that jobs do not retry together; `none` waits for all of it.',
      )
      .prefault('full'),
  })
  .describe('How an attempt that failed, timed out or stalled is retried.');

/** Each required job costs a storage call for a due time. */
const REQUIRES_AT_MOST = 16;
/** More runs at once need no limit. */
const MAX_PARALLEL = 1_000;
/** A notice has the state of each receiver in its metadata, of 8 KB. */
export const RECEIVERS_AT_MOST = 40;
const receiver = z.string().regex(JOB_NAME);

const notifyShape = {
  to: z
    .array(receiver)
    .min(1)
    .max(RECEIVERS_AT_MOST)
    .describe('The receivers by name. Their addresses are in the app setting `CRONLEASE_RECEIVERS`.')
    .optional(),
  on: z
    .array(z.enum(NOTICE_TOPICS))
    .min(1)
    .describe(
      'What is notified: a `failure`, once for each incident; the `recovery` from it; that the job is `overdue` or `unreadable`, and when it no longer is; its `pause` after `pauseAfterFailures`. Default: all of them.',
    )
    .optional(),
  after: z
    .int()
    .min(1)
    .describe('How many runs in a row must have failed. Attempts never count. Default: 1.')
    .optional(),
  remind: duration(
    'How often the notice of a failure or an overdue job is repeated until it is over or acknowledged. Default: never.',
    { least: 60_000, examples: ['1h', '4h', '1d'] },
  ).optional(),
};

const notify = z.strictObject(notifyShape);

/** One job: its form in the file, its defaults and its parsed form. */
export const jobSchema = z
  .strictObject({
    schedule: z
      .string()
      .meta({
        description:
          'When the job is due. Cron with 5 fields, or with 6 and seconds first (names, `L` and `#` work), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. `@every 90s` counts from 1970. `@at 2026-12-31T23:00:00Z` is due once. `@always` is a leader job, which has terms and no due times. `@manual` runs only on request.',
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
        description: 'The IANA time zone of the schedule and its windows.',
        examples: ['Europe/Lisbon', 'America/New_York', 'UTC'],
      })
      .transform(reading(knownZone))
      .prefault('UTC'),
    dst: dst.prefault({ gap: 'forward', overlap: 'first' }),
    between: z
      .strictObject({
        from: moment('Nothing is due before this').optional(),
        to: moment('Nothing is due from this time on').optional(),
      })
      .describe(
        'The only period in which the job is due. Here and in `except`, the actual start counts, including `spread`.',
      )
      .transform(reading(inOrder))
      .optional(),
    except: z
      .array(
        z.union([
          exceptedDate,
          exceptedSpan,
          z.strictObject({ calendar: z.string().describe("The name of one of the file's `calendars`.") }),
        ]),
      )
      .describe(
        'Dates, periods with an exclusive `to`, or calendars of this file (`{"calendar": "holidays"}`), in which nothing is due.',
      )
      .prefault([]),
    catchUp: z
      .enum(['latest', 'all', 'none'])
      .describe('Which missed due times run: only the `latest`, `all` in turn, or `none`.')
      .prefault('latest'),
    catchUpWindow: duration('A due time older than this never runs.').prefault('1h'),
    overlap: z
      .enum(['skip', 'queue', 'cancel'])
      .describe(
        'A due time during a run: `skip` it; `queue` it, so that the newest one runs right after; or `cancel` the run and then start.',
      )
      .prefault('skip'),
    requires: z
      .array(z.string())
      .max(REQUIRES_AT_MOST)
      .meta({
        description:
          'Jobs of this file. A due time waits until each of them has succeeded since the previous due time of this job. Manual runs do not wait.',
        examples: [['extract']],
      })
      .prefault([]),
    requireWithin: duration(
      'How long a due time waits for the jobs that it `requires` before it expires. Default: nine tenths of `catchUpWindow`.',
    ).optional(),
    group: z
      .string()
      .regex(JOB_NAME)
      .meta({
        description:
          "One of the file's `groups`. A run of the job starts only while fewer than `maxParallel` runs of its group are in progress, on any instance. Others wait, by `priority` and then by age. Default: none.",
        examples: ['db'],
      })
      .optional(),
    priority: z
      .int()
      .min(0)
      .max(9)
      .describe(
        'Which jobs go first if many are due together: 9 first, 0 last. It orders claims, runs that wait for their `group`, and handlers that wait for `CRONLEASE_MAX_CONCURRENT_RUNS`.',
      )
      .prefault(5),
    spread: duration(
      'Delays every start by a fixed offset within this span, derived from the job name, so that jobs do not all start at once. `scheduledFor` stays the due time.',
      { least: 0 },
    ).prefault('0s'),
    timeout: duration(
      'An attempt is aborted after this long. With `grace`, it must fit in `functionTimeout` of host.json. Default: `10m`; none for `@always`.',
      { most: LONGEST_WAIT },
    ).optional(),
    stallAfter: duration(
      'An attempt that calls no `progress()` for this long is aborted, and its lease is released. Default: off.',
    ).optional(),
    grace: duration(
      'How long a handler may take to obey its abort signal before the attempt ends without it. It must be less than two thirds of the lease minus 2 s or a tenth of the lease, whichever is longer.',
      { least: 0, examples: ['0s', '5s', '15s'] },
    ).prefault('5s'),
    retry: retry.prefault({ attempts: 3, backoff: '10s', factor: 2, maxBackoff: '5m', jitter: 'full' }),
    lease: duration(
      "How long a running job's lease lasts without renewal, `15s` to `60s`. Others take over from a dead holder after that, or after 15 s if runs are short.",
      { examples: ['15s', '30s', '60s'] },
    ).prefault('30s'),
    pauseAfterFailures: z
      .int()
      .min(1)
      .describe('After this many failed runs in a row the job is paused, with a note. Default: off.')
      .optional(),
    alertAfter: duration(
      'A job without a success for this long is overdue, which each sweep logs unless the job is paused or disabled. Default: off.',
    ).optional(),
    notify: z
      .union([notify, z.literal(false)])
      .describe(
        "The receivers of notices about the job's troubles. Its members replace those of the file's `notify`; `false`: none. Default: the file's.",
      )
      .optional(),
    ping: z
      .string()
      .regex(JOB_NAME)
      .describe(
        'A name in the app setting `CRONLEASE_PINGS`, whose address is called when a run starts (`/start`), succeeds, or ends without success (`/fail`), so that an outside service can watch the job. Default: none.',
      )
      .optional(),
    keep: duration(
      'How long ledger records and logs are kept after their last write. A tick then deletes them, on blobs within five days.',
    ).prefault('90d'),
    logs: z
      .enum(['keep', 'host', 'none'])
      .describe(
        '`keep` stores what the handler writes with `log` and `progress`, for each attempt up to 256 KB or 2,000 lines: the beginning and the end, with a note of the gap. `none` stores nothing. `host`: as `keep`, and the host logs lines and events as warnings, regardless of the levels in `host.json`.',
      )
      .prefault('keep'),
    input: z
      .unknown()
      .check(json)
      .describe("JSON for the handler. The handler's own schema checks it when the app starts. Default: none.")
      .optional(),
    handler: z.string().min(1).describe("The handler's name in the registry. Default: the job's name.").optional(),
    call: callSchema.optional(),
    description: z.string().describe('A description for people. Default: none.').optional(),
    tags: z.array(z.string().min(1)).describe('Labels for finding jobs.').prefault([]),
    enabled: z
      .boolean()
      .describe('`false` records due times as `disabled` instead of running them. The job can still be run by hand.')
      .prefault(true),
  })
  .describe('When and how a job runs.');

const topShape = {
  $schema: z.string().describe('The path of the JSON Schema of this file, for completion in editors.').optional(),
  revision: z
    .int()
    .min(0)
    .describe(
      'The version of this file. Raise it with each change of a schedule: a deployment with a lower revision never claims a job whose schedule differs.',
    )
    .prefault(0),
  notify: notify.describe('The receivers of notices about all jobs. Without `to`, no notice is sent.').prefault({}),
  groups: z
    .record(
      z.string().regex(JOB_NAME),
      z.strictObject({
        maxParallel: z
          .int()
          .min(1)
          .max(MAX_PARALLEL)
          .describe('How many runs of the group may be in progress at once.'),
      }),
    )
    .describe(
      'Groups of jobs by name, for `group`: `{"db": {"maxParallel": 3}}` for a database that can handle three jobs at once. A job that fans out counts once.',
    )
    .prefault({}),
  calendars: z
    .record(z.string().regex(JOB_NAME), calendarSchema)
    .describe(
      'Calendars by name, for `except`: lists of dates, periods, days of each year as `{"yearly": "12-25"}`, and iCalendar files as `{"file": "holidays.ics"}`, which are read at the start. Days are in the time zone of each job.',
    )
    .prefault({}),
};

/** The whole file, for the JSON Schema. `loadJobs` checks it job by job, so that one bad job does not hide another. */
export const fileSchema = z
  .strictObject({
    ...topShape,
    jobs: z
      .record(z.string().regex(JOB_NAME), jobSchema)
      .describe('The jobs by name: 1 to 63 characters of `a-z`, `0-9` and `-`.'),
  })
  .meta({ title: 'cronlease jobs' });

/** The file's top, with its jobs unchecked. */
export const topSchema = z.strictObject({ ...topShape, jobs: z.record(z.string(), z.unknown()) });

/** The file's top without its jobs and its wrong members. */
export const topRemainder = z.object(topShape);

/** A job without its wrong members. */
export const jobRemainder = jobSchema.partial({ schedule: true });

export type FileNotify = z.output<typeof notify>;

export type FileGroups = z.output<typeof topSchema>['groups'];

export type JobSettings = z.output<typeof jobRemainder>;
