import * as z from 'zod';
import { BACKFILL_AT_MOST, BACKFILL_STATES } from '../../core/backfill';
import { change, Instant, instant, list, named, object, why } from './common';

const order = z.enum(['oldest', 'newest']).describe('The due times that run first.');
const limit = { least: 1, most: BACKFILL_AT_MOST };

export const BackfillQuery = z.strictObject({
  from: instant.describe('The oldest due time, or an instant before it.'),
  to: instant.optional().describe('The newest due time, or an instant after it. Default: now.'),
  order: order.optional().describe('The due times that run first. Default: `oldest`.'),
  limit: z.coerce
    .number()
    .int()
    .min(limit.least)
    .max(limit.most)
    .optional()
    .describe('How many run at most: the first ones in the order.'),
  includeSucceeded: z.enum(['true']).optional().describe('Those that have succeeded run too.'),
});

export const BackfillBody = named(
  'BackfillBody',
  'Past due times to run again.',
  z.strictObject({
    from: z.iso.datetime({ offset: true }).describe('The oldest due time, or an instant before it.'),
    to: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('The newest due time, or an instant after it. Default: now.'),
    order: order.optional(),
    limit: z.int().min(limit.least).max(limit.most).optional().describe('How many run at most.'),
    includeSucceeded: z.boolean().optional().describe('Whether those that have succeeded run too.'),
    note: why,
  }),
);

/** The most due times that one answer names. */
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
export type StartedBackfill = z.output<typeof StartedBackfill>;

export const StoppedBackfill = named(
  'StoppedBackfill',
  'A back-fill that was stopped. Its run in progress continues.',
  z.object({ job: z.string(), id: z.string(), stopped: Instant, ...change }),
);
export type StoppedBackfill = z.output<typeof StoppedBackfill>;

export const BackfillStatus = object('BackfillStatus', 'How far a back-fill is.', {
  id: z.string(),
  state: z
    .enum(BACKFILL_STATES)
    .describe(
      '`stopping`: its run in progress is not over. `scheduleChanged`: the job has another schedule now, so it has ended.',
    ),
  from: Instant.describe('Its oldest due time.'),
  through: Instant.describe('Its newest due time.'),
  order,
  includeSucceeded: z.boolean(),
  origin: z.object({ actor: z.string(), channel: z.string(), note: z.string().optional() }),
  at: Instant.describe('When it was asked for.'),
  stopped: Instant.nullable().describe('When it was stopped.'),
  dueTimes: z.int().describe('How many due times it has.'),
  left: z.int().describe('How many of them it has not come to.'),
  skipped: z.int().describe('How many of them had succeeded.'),
  outcomes: z.record(z.string(), z.int()).describe('How many of its runs had each outcome.'),
  runId: z.string().nullable().describe('Its run in progress.'),
});
export type BackfillStatus = z.output<typeof BackfillStatus>;

export const OneBackfill = named(
  'OneBackfill',
  'The last back-fill of a job.',
  z.object({ job: z.string(), backfill: BackfillStatus.nullable().describe('Null: it has none.') }),
);
