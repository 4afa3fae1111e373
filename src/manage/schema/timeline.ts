import * as z from 'zod';
import { Instant, list, object } from './common';
import { Job } from './jobs';

const TimelineJob = object('TimelineJob', 'A job with what it has done and will do around now.', {
  ...Job.pick({ name: true, state: true, detail: true, tags: true, timeZone: true, lastRun: true }).shape,
  ...Job.pick({ recent: true, failures: true, incident: true, currentRun: true, nextDueAt: true, pause: true }).shape,
  offsetMs: z.int().describe('The delay of every due time by `spread`.'),
  medianMs: z.int().nullable().describe('The middle one of its last durations. Null: none is known.'),
  planned: list(Instant).describe(
    'When its next due times start, oldest first: up to 200. None while it is paused or disabled.',
  ),
  isComplete: z.boolean().describe('Whether `planned` has all due times of the window.'),
});

export const Timeline = object('Timeline', 'The jobs that have run, or will run, around now.', {
  now: Instant.describe("The storage service's time."),
  jobs: list(TimelineJob).describe('The worst first.'),
  busy: z.int().describe('How many of the jobs that were asked for have anything in the window.'),
  empty: z.int().describe('How many of them have nothing in it, and are left out.'),
});

export type JobsTimeline = Omit<z.output<typeof Timeline>, 'now'>;

/** Selects jobs, and the hours around now. */
export const TimelineQuery = z.strictObject({
  hours: z.coerce
    .number()
    .int()
    .min(1)
    .max(12)
    .optional()
    .describe('The window reaches this far back and this far ahead. Default: 12.'),
  tag: z.string().min(1).max(100).optional().describe('Only jobs with this tag.'),
  q: z.string().max(200).optional().describe('Words, each of which the name, the description or a tag must contain.'),
  skip: z.coerce.number().int().min(0).max(100_000).optional().describe('Jobs to leave out before the first one.'),
  limit: z.coerce.number().int().min(1).max(100).optional().describe('Default: 50.'),
});
