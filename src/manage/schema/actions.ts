import * as z from 'zod';
import { BACKFILL_AT_MOST } from '../../core/backfill';
import {
  body,
  change,
  dateTime,
  instant,
  Instant,
  jobName,
  Json,
  list,
  named,
  note,
  object,
  tag,
  until,
  whole,
  why,
} from './common';
import { Acknowledgement, BackfillStatus, Pause } from './jobs';

export const Requested = object('Requested', 'A requested run.', {
  job: z.string(),
  runId: z.string().describe('The id that the run will have.'),
  requestedAt: Instant,
  ahead: z.int().describe('How many manual runs were waiting before it.'),
  seen: z.boolean().describe('False: no deployment has seen the job yet, and the manual run waits until one does.'),
  paused: z.boolean().describe('Whether the job is paused, which does not hold the manual run back.'),
  ...change,
});
export type Requested = z.output<typeof Requested>;

export const Cancelled = object('Cancelled', 'A run whose cancel was requested.', {
  job: z.string(),
  runId: z.string(),
  requestedAt: Instant,
  endedBy: z
    .enum(['holder', 'tick', 'caller'])
    .describe(
      '`holder`: its attempt ends at its next renewal. `tick`: the run waits, and the next tick ends it. `caller`: no ' +
        'file has the job, and the run was ended at once.',
    ),
  ...change,
});
export type Cancelled = z.output<typeof Cancelled>;

export const Paused = object('Paused', 'A job that was paused.', { job: z.string(), pause: Pause, ...change });
export type Paused = z.output<typeof Paused>;

export const Resumed = object('Resumed', 'A job that was resumed.', { job: z.string(), pause: Pause, ...change });

export const PausedMany = object('PausedMany', 'What became of several jobs.', {
  done: list(Paused),
  refused: list(z.object({ job: z.string(), code: z.string(), problem: z.string() })).describe(
    'The jobs that were left as they were, and planned work that could not be written.',
  ),
});
export type PausedMany = z.output<typeof PausedMany>;

export const Acknowledged = object(
  'Acknowledged',
  'A job whose incident was acknowledged, or whose acknowledgement was removed.',
  { job: z.string(), acknowledgement: Acknowledgement, ...change },
);
export type Acknowledged = z.output<typeof Acknowledged>;

export const PauseBody = body('PauseBody', 'The reason of a pause.', {
  note: note.describe('The reason, for others to read.'),
  until,
});

export const AcknowledgeBody = body('AcknowledgeBody', 'An acknowledgement.', {
  note: note.optional().describe('What you do about it, for others to read.'),
  until: until.describe('When it ends by itself. Default: with the next success.'),
});

const input = Json.optional().describe("In the place of the job's own input: JSON of at most 32 KB.");

export const RunBody = body('RunBody', 'A run to request.', { input, note: why });

export const RerunBody = body('RerunBody', 'A run to repeat. Without an input it gets the one that it had.', {
  input,
  note: why,
});

const choice = {
  jobs: z.array(jobName).min(1).max(1_000).optional().describe('The names of the jobs.'),
  tag: tag.optional().describe('Jobs with this tag.'),
  pattern: z
    .string()
    .regex(/^[a-z0-9*-]{1,63}$/)
    .optional()
    .describe('Jobs whose names match: `*` stands for any characters, or none.'),
};

export const JobChoice = z.object(choice);

const chooses = ({ jobs, tag, pattern }: z.output<typeof JobChoice>): boolean =>
  [jobs, tag, pattern].filter((one) => one !== undefined).length === 1;

const ONE_CHOICE = 'must have either jobs, or tag, or pattern';

export const PauseManyBody = named(
  'PauseManyBody',
  'Jobs to pause: by `jobs`, `tag` or `pattern`, one of them.',
  z
    .strictObject({ ...choice, note: note.describe('The reason, for others to read.'), until })
    .refine(chooses, ONE_CHOICE),
);

export const ResumeManyBody = named(
  'ResumeManyBody',
  'Jobs to resume: by `jobs`, `tag` or `pattern`, one of them.',
  z
    .strictObject({
      ...choice,
      note: why,
      maintenance: z
        .string()
        .max(1_000)
        .optional()
        .describe(
          'The `jobs` of the planned work that ends with it, as lists show them. Default: those of the choice.',
        ),
    })
    .refine(chooses, ONE_CHOICE),
);

export const NoteBody = body('NoteBody', 'The note of a change.', { note: why });

export const BackfillQuery = z.strictObject({
  from: instant.describe('The oldest due time, or an instant before it.'),
  to: instant.optional().describe('The newest due time, or an instant after it. Default: now.'),
  order: BackfillStatus.shape.order.optional().describe('The due times that run first. Default: `oldest`.'),
  limit: whole(1, BACKFILL_AT_MOST).describe('How many run at most: the first ones in the order.'),
  includeSucceeded: z.enum(['true']).optional().describe('Those that have succeeded run too.'),
});

export const BackfillBody = body('BackfillBody', 'Past due times to run again.', {
  from: dateTime.describe('The oldest due time, or an instant before it.'),
  to: dateTime.optional().describe('The newest due time, or an instant after it. Default: now.'),
  order: BackfillStatus.shape.order.optional(),
  limit: z.int().min(1).max(BACKFILL_AT_MOST).optional().describe('How many run at most.'),
  includeSucceeded: z.boolean().optional().describe('Whether those that have succeeded run too.'),
  note: why,
});

export const PLANNED_DUE_TIMES = 1_000;

export const BackfillPlan = object('BackfillPlan', 'What a back-fill would do: nothing is changed.', {
  job: z.string(),
  running: z.int().describe('How many due times would run.'),
  skipped: z.int().describe('How many have succeeded, and would not run.'),
  dueTimes: list(
    z.object({
      scheduledFor: Instant,
      outcome: z.string().nullable().describe('Null: it has no record.'),
      runs: z.boolean(),
    }),
  ).describe('The first 1,000, in the order of the runs.'),
  complete: z.boolean().describe('Whether `dueTimes` has all of them.'),
});

export const StartedBackfill = object('StartedBackfill', 'A back-fill that was started.', {
  job: z.string(),
  id: z.string(),
  from: Instant,
  through: Instant,
  running: z.int(),
  skipped: z.int(),
  paused: z.boolean().describe('Whether it waits, because the job is paused or disabled.'),
  ...change,
});

export const StoppedBackfill = object(
  'StoppedBackfill',
  'A back-fill that was stopped. Its run in progress continues.',
  { job: z.string(), id: z.string(), stopped: Instant, ...change },
);

export type StartedBackfill = z.output<typeof StartedBackfill>;
export type StoppedBackfill = z.output<typeof StoppedBackfill>;
