import * as z from 'zod';
import { BACKFILL_STATES } from '../../core/backfill';
import { RAN_OUTCOMES, UNRUN_OUTCOMES } from '../../core/outcome';
import { JOB_STATES } from '../../core/shown-state';
import { Instant, instant, jobName, list, Milliseconds, named, object, Reason, tag, Trigger, whole } from './common';
import { Deployment, Maintenance } from './about';

export const JobState = named(
  'JobState',
  'The state of a job, the first that applies. `unreadable`: something other than cronlease wrote its row or control, ' +
    'and no deployment runs the job. `paused`, `disabled`: nothing new is claimed. `overdue`: no success for ' +
    'longer than `alertAfter`. `retrying`: its run waits for its next attempt, or its holder died or lost its lease. `running`. ' +
    '`waiting`: a due time is claimed ahead, or waits to be claimed, or a manual run does. `idle`: none of these.',
  z.enum(JOB_STATES),
);

export const Pause = object('Pause', 'A stretch in which nothing new starts, other than manual runs.', {
  by: z.string().describe('The person who paused the job.'),
  note: z.string().describe('The reason.'),
  since: Instant,
  until: Instant.nullable().describe('When it ended, or is to end. Null: when a person resumes the job.'),
});
export type Pause = z.output<typeof Pause>;

const CurrentRun = object('CurrentRun', 'The run in progress.', {
  runId: z.string(),
  scheduledFor: Instant,
  trigger: Trigger,
  attempt: z.int().describe('The number of its current attempt, or of the last one.'),
  startedAt: Instant.nullable().describe(
    'When the handler of that attempt was, or will be, called. Null while no attempt runs.',
  ),
  retryAt: Instant.nullable().describe('When its next attempt may begin. Null while an attempt runs.'),
  holder: z.string().nullable().describe('The deployment that runs it. Null while no attempt runs.'),
});

const ListedRun = object('ListedRun', 'A run that is over.', {
  kind: z.literal('run'),
  runId: z.string(),
  scheduledFor: Instant,
  outcome: z.enum(RAN_OUTCOMES).nullable().describe('Null: only its record has it.'),
  latenessMs: Milliseconds.nullable(),
  durationMs: Milliseconds.nullable().describe("The handler's time in all attempts. Null: only its record has it."),
  waitedMs: Milliseconds.describe('How long it waited between its attempts.'),
  attempts: z.int(),
});

const ListedGap = object('ListedGap', 'Due times that did not run.', {
  kind: z.literal('gap'),
  scheduledFor: Instant.describe('The newest of them.'),
  outcome: z.enum(UNRUN_OUTCOMES),
  reason: Reason,
  count: z.int(),
});

export const Acknowledgement = object(
  'Acknowledgement',
  'The note of a person who looks after an incident. It ends with the next success, or at `until`.',
  {
    by: z.string().describe('The person who acknowledged it.'),
    note: z.string().describe('What the person wrote. May be empty.'),
    at: Instant,
    until: Instant.nullable().describe('When it ends by itself. Null: with the next success.'),
  },
);
export type Acknowledgement = z.output<typeof Acknowledgement>;

const Incident = object(
  'Incident',
  'The failures of a job until its next success. Cancelled runs, and due times that did not run, neither begin nor end it.',
  {
    since: Instant.describe(
      'The due time of its first failed run that is known; if no run has failed, when the job became overdue.',
    ),
    isWhole: z
      .boolean()
      .describe("False: it began before `since`: the job's last 20 outcomes no longer show its beginning."),
    failures: z.int().describe('How many runs have failed. 0: the job is overdue, and no run has failed.'),
    firstRunId: z.string().nullable().describe('The first failed run that is known.'),
    lastRunId: z.string().nullable().describe('The last failed run.'),
    lastReason: Reason.nullable().describe('The reason of the last one. Null: its record has it.'),
    acknowledgement: Acknowledgement.nullable().describe('The acknowledgement that is in force.'),
  },
);

const job = {
  name: z.string(),
  state: JobState,
  detail: z.string().nullable().describe('Why it is in that state, if the state itself does not show it.'),
  description: z.string().nullable(),
  tags: list(z.string()),
  schedule: z.string().nullable().describe("The schedule as written. Null: the job is not in this app's jobs file."),
  timeZone: z.string().nullable(),
  lastRun: ListedRun.nullable().describe('The last run that is over.'),
  recent: list(z.discriminatedUnion('kind', [ListedRun, ListedGap])).describe(
    'Its last outcomes, oldest first: up to 20.',
  ),
  failures: z.int().describe('How many runs in a row have failed.'),
  incident: Incident.nullable().describe('Null: the job neither fails nor is overdue.'),
  currentRun: CurrentRun.nullable(),
  nextDueAt: Instant.nullable().describe(
    'The next due time after now, with `spread`. Null: there is none, or none runs while the job is paused or disabled.',
  ),
  dueSince: Instant.nullable().describe('The oldest due time that has come and waits to be claimed.'),
  overdueSince: Instant.nullable(),
  pause: Pause.nullable().describe('The pause that is in force.'),
  manualRuns: z.int().describe('How many manual runs wait.'),
  lastHolder: z.string().nullable().describe('The deployment whose tick won the job last.'),
};

export const Job = named('Job', 'A job, as a list shows it.', z.object(job));

export type JobStatus = z.output<typeof Job>;

export const Jobs = object('Jobs', 'One state of everything.', {
  now: Instant.describe("The storage service's time."),
  jobs: list(Job).describe('The worst first.'),
  deployments: list(Deployment),
  maintenance: list(Maintenance),
  problems: list(z.string()).describe('What could not be read.'),
});

/** One state of everything, from two listings. */
export type Overview = z.output<typeof Jobs>;

export const BackfillStatus = object('BackfillStatus', 'How far a back-fill is.', {
  id: z.string(),
  state: z
    .enum(BACKFILL_STATES)
    .describe(
      '`stopping`: its run in progress is not over. `scheduleChanged`: the job has another schedule now, so it has ended.',
    ),
  from: Instant.describe('Its oldest due time.'),
  through: Instant.describe('Its newest due time.'),
  order: z.enum(['oldest', 'newest']).describe('The due times that run first.'),
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

export const OneBackfill = object('OneBackfill', 'The last back-fill of a job.', {
  job: z.string(),
  backfill: BackfillStatus.nullable().describe('Null: it has none.'),
});

const Settings = object('Settings', 'The settings of a job, with every default.', {
  kind: z.enum(['timed', 'always', 'manual']),
  handler: z.string(),
  call: z
    .string()
    .nullable()
    .describe('The method and the address of its call, without the query. Null: it runs a handler.'),
  catchUp: z.enum(['latest', 'all', 'none']),
  catchUpWindowMs: Milliseconds,
  overlap: z.enum(['skip', 'queue', 'cancel']),
  requires: list(z.string()).describe('A due time waits until each of these jobs has succeeded.'),
  requireWithinMs: Milliseconds.nullable().describe('How long it waits for them. Null: it requires none.'),
  priority: z.int().min(0).max(9).describe('Of jobs that are due together, 9 goes first.'),
  offsetMs: Milliseconds.describe('The delay of every due time by `spread`.'),
  timeoutMs: Milliseconds.nullable(),
  stallAfterMs: Milliseconds.nullable(),
  graceMs: Milliseconds,
  leaseMs: Milliseconds,
  keepMs: Milliseconds,
  alertAfterMs: Milliseconds.nullable(),
  pauseAfterFailures: z.int().nullable(),
  retry: z.object({
    attempts: z.int(),
    backoffMs: Milliseconds,
    factor: z.number(),
    maxBackoffMs: Milliseconds,
    jitter: z.enum(['full', 'none']),
  }),
});

export const OneJob = object('OneJob', 'A job with its settings and manual runs.', {
  now: Instant,
  ...job,
  enabled: z.boolean().nullable().describe("Null: the job is not in this app's jobs file."),
  settings: Settings.nullable().describe("Null: the job is not in this app's jobs file."),
  waiting: list(z.object({ runId: z.string(), requestedAt: Instant })).describe('The manual runs that wait.'),
  pauses: list(Pause).describe('Pauses that undecided due times may lie in, the one in force among them.'),
  backfill: z
    .object({
      id: z.string(),
      state: BackfillStatus.shape.state,
      last: Instant.nullable().describe('The last due time that it came to.'),
    })
    .nullable()
    .describe("Its last back-fill. Null: it has none, or is not in this app's jobs file."),
  cancelling: z.string().nullable().describe('The id of the run whose cancel was requested.'),
  controlVersion: z
    .string()
    .describe(
      'The version of its pauses, manual runs, cancel and acknowledgement: send it as `If-Match` with a change, in quotes.',
    ),
});

export const DueTimes = object('DueTimes', 'The next due times of jobs.', {
  now: Instant,
  jobs: list(
    z.object({
      job: z.string(),
      timeZone: z.string(),
      paused: z.boolean(),
      enabled: z.boolean(),
      due: list(
        z.object({
          scheduledFor: Instant.describe('The due time of the schedule.'),
          startsAt: Instant.describe('When it starts: later by `spread`.'),
        }),
      ),
      complete: z.boolean().describe('Whether `due` has all due times that were asked for.'),
    }),
  ),
});

export const Calendar = object('Calendar', 'Outcomes of a job, counted by day.', {
  now: Instant,
  job: z.string(),
  timeZone: z.string().describe('The zone of the days.'),
  days: list(
    z.object({
      day: z.iso.date(),
      outcomes: z
        .partialRecord(z.enum([...RAN_OUTCOMES, ...UNRUN_OUTCOMES]), z.int())
        .describe('How many due times had each outcome.'),
    }),
  ).describe('The days that have outcomes, newest first.'),
  complete: z.boolean().describe('False: there are more records than one answer counts, and older days lack some.'),
});
export type Calendar = z.output<typeof Calendar>;

export const DueTimesQuery = z.strictObject({
  job: jobName.optional(),
  tag: tag.optional().describe('Only jobs with this tag.'),
  from: instant.optional().describe('Due times after this instant. Default: now.'),
  until: instant.optional().describe('Due times up to this instant. Default: no limit.'),
  count: whole(1, 200).describe('The most for each job. Default: 10.'),
});

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

export const TimelineQuery = z.strictObject({
  hours: whole(1, 12).describe('The window reaches this far back and this far ahead. Default: 12.'),
  tag: tag.optional().describe('Only jobs with this tag.'),
  q: z.string().max(200).optional().describe('Words, each of which the name, the description or a tag must contain.'),
  skip: whole(0, 100_000).describe('Jobs to leave out before the first one.'),
  limit: whole(1, 100).describe('Default: 50.'),
});

export type BackfillStatus = z.output<typeof BackfillStatus>;
