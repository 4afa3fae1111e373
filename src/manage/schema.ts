import * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { RUN_FATES, UNRUN_FATES } from '../core/fate';
import { ROLES } from './roles';

/** The named schemas: the components of the OpenAPI document. */
export const COMPONENTS = z.registry<{ id: string }>();

function named<Schema extends z.ZodType>(id: string, description: string, schema: Schema): Schema {
  const described = schema.describe(description);
  COMPONENTS.add(described, { id });
  return described;
}

/** A list in an answer. */
function list<Schema extends z.ZodType>(schema: Schema) {
  return z.array(schema).readonly();
}

const JOB_PATTERN = /^[a-z0-9-]{1,63}$/;
const RUN_ID_PATTERN = /^[a-z0-9-]{1,63}-\d{8}T\d{6}(?:\.\d{3})?Z(?:-m-[0-9a-z]{1,64})?$/;
/** Record keys count down from this instant, in the year 2286. */
const LATEST = 1e13;

/** An instant in a request: RFC 3339 with Z or an offset. */
export const instant = z.iso
  .datetime({ offset: true })
  .transform((text): EpochMs => Date.parse(text))
  .refine((at) => at >= 0 && at < LATEST, { message: 'is not between 1970 and 2286' });

export const jobName = z.string().regex(JOB_PATTERN).describe('The name of a job.');
export const runId = z.string().regex(RUN_ID_PATTERN).describe('The id of a run.');

const Instant = named('Instant', 'An instant in UTC, in RFC 3339.', z.iso.datetime());
const Milliseconds = z.int();

export const OUTCOMES = [...RUN_FATES, ...UNRUN_FATES, 'running', 'retrying'] as const;
export const RunOutcome = named(
  'Outcome',
  'The outcome of a due time, or `running` or `retrying` while its run is in progress.',
  z.enum(OUTCOMES),
);
const Reason = z.string().describe('The reason for the outcome: docs/reference/outcomes.md lists them.');
const Trigger = z.enum(['schedule', 'catchUp', 'takeOver', 'manual', 'backfill']).describe('The start of the run.');

export const JOB_STATES = [
  'running',
  'waiting',
  'retrying',
  'paused',
  'disabled',
  'overdue',
  'quarantined',
  'idle',
] as const;
export const JobState = named(
  'JobState',
  'The state of a job. `waiting`: its items run, or a due time waits for the job. `quarantined`: something other than ' +
    'cronlease wrote its row or control, and every deployment leaves the job alone.',
  z.enum(JOB_STATES),
);

const Pause = named(
  'Pause',
  'A stretch in which nothing new starts, other than by request.',
  z.object({
    by: z.string().describe('The person who paused the job.'),
    reason: z.string(),
    since: Instant,
    until: Instant.nullable().describe('Null: until somebody resumes the job.'),
  }),
);

const CurrentRun = named(
  'CurrentRun',
  'The run in progress.',
  z.object({
    runId: z.string(),
    scheduledFor: Instant,
    trigger: Trigger,
    attempt: z.int().describe('The number of the current attempt, from 1.'),
    startedAt: Instant.nullable().describe('The start of the current attempt. Null while the run waits.'),
    notBefore: Instant.nullable().describe('The earliest start of the next attempt, while the run waits for it.'),
  }),
);

const LastRun = named(
  'LastRun',
  'The last run that is over.',
  z.object({
    runId: z.string(),
    scheduledFor: Instant,
    outcome: RunOutcome.nullable().describe('Null: only its record has it.'),
    reason: Reason.nullable(),
    latenessMs: Milliseconds.nullable(),
    durationMs: Milliseconds.nullable(),
  }),
);

const RecentOutcome = named(
  'RecentOutcome',
  'One of the last outcomes: of a run, or of due times that did not run.',
  z.object({
    runId: z.string().nullable().describe('Null: nothing ran.'),
    scheduledFor: Instant.describe('The due time; the newest one of several.'),
    outcome: RunOutcome.nullable().describe('Null: only its record has it.'),
    reason: Reason.nullable().describe('For due times that did not run.'),
    latenessMs: Milliseconds.nullable(),
    durationMs: Milliseconds.nullable(),
    attempts: z.int().nullable(),
    count: z.int().describe('How many due times: 1 for a run.'),
  }),
);

const job = {
  name: z.string(),
  description: z.string().nullable(),
  schedule: z.string().nullable().describe("The schedule as written. Null: the job is not in this app's jobs file."),
  timeZone: z.string().nullable(),
  tags: list(z.string()),
  enabled: z.boolean().nullable().describe("Null: the job is not in this app's jobs file."),
  state: JobState,
  pause: Pause.nullable().describe('The pause that is in force.'),
  current: CurrentRun.nullable().describe('The run in progress.'),
  holder: z.string().nullable().describe('The deployment that holds the job.'),
  lastRun: LastRun.nullable(),
  recent: list(RecentOutcome).describe('The last outcomes, oldest first: up to 20, and fewer where none was noted.'),
  nextDue: Instant.nullable().describe('The next actual due time. Null: there is none, or the job is not in the file.'),
  overdueSince: Instant.nullable().describe('Since when the job is overdue by `alertAfter`.'),
  failures: z.int().describe('Failed runs in a row.'),
  requests: z.int().describe('Requests that wait for their run.'),
  problems: list(z.string()).describe('Why the job is quarantined.'),
  controlVersion: z
    .string()
    .describe('The version of its pauses, requests and cancel: send it as `If-Match` with a change, in quotes.'),
};

export const Job = named('Job', 'A job, as a list shows it.', z.object(job));

const Deployment = named(
  'Deployment',
  'A deployment that has ticked in the last week.',
  z.object({
    name: z.string(),
    tickedAt: Instant.describe('Its last report of a tick. It reports at most once every 5 minutes.'),
    live: z.boolean().describe('Whether it has reported a tick as often as it should.'),
    version: z.string(),
    revision: z.int().describe('The revision of its jobs file.'),
    skewMs: Milliseconds.describe("How far its clock is ahead of the storage service's: 0 below 2 s."),
    hub: z.string().nullable().describe('Its task hub and the account of that.'),
  }),
);

export const Jobs = named(
  'Jobs',
  'All jobs and deployments.',
  z.object({
    now: Instant.describe("The storage service's time."),
    jobs: list(Job).describe('The jobs of the file in its order, then those that only storage has.'),
    deployments: list(Deployment),
  }),
);

export const Deployments = named(
  'Deployments',
  'All deployments.',
  z.object({ now: Instant, deployments: list(Deployment) }),
);

const Settings = named(
  'Settings',
  'The settings of a job, with every default.',
  z.object({
    kind: z.enum(['timed', 'always', 'manual']),
    handler: z.string(),
    catchUp: z.enum(['latest', 'all', 'none']),
    catchUpWindowMs: Milliseconds,
    overlap: z.enum(['skip', 'queue', 'cancel']),
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
  }),
);

export const OneJob = named(
  'OneJob',
  'A job with its settings and requests.',
  z.object({
    now: Instant,
    ...job,
    settings: Settings.nullable().describe("Null: the job is not in this app's jobs file."),
    waiting: list(z.object({ runId: z.string(), requestedAt: Instant })).describe('The requests that wait.'),
    pauses: list(Pause).describe('Pauses that undecided due times may lie in, the one in force among them.'),
    cancelling: z.string().nullable().describe('The id of the run whose cancel was requested.'),
  }),
);

export const DueTimes = named(
  'DueTimes',
  'The next due times of jobs.',
  z.object({
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
  }),
);

const ErrorOfHandler = z.object({ name: z.string(), message: z.string(), stack: z.string().optional() });

const Attempt = named(
  'Attempt',
  'One attempt of a run.',
  z.object({
    attempt: z.int(),
    token: z.int(),
    deployment: z.string(),
    startedAt: Instant.nullable().describe('The call of its handler. Null where its holder died.'),
    claimedAt: Instant.optional().describe('The claim, where its holder died.'),
    endedAt: Instant.nullable(),
    outcome: z.enum([...RUN_FATES, 'holderLost', 'draining', 'planned', 'running']),
    error: ErrorOfHandler.nullable(),
  }),
);

const runSummary = {
  runId: z.string(),
  job: z.string(),
  scheduledFor: Instant.describe('The due time, or the oldest one of several. For a run by request: the request.'),
  through: Instant.nullable().describe('The newest due time, where one record covers several.'),
  count: z.int().nullable().describe('How many due times the record covers. Null: unknown.'),
  outcome: RunOutcome,
  reason: Reason.nullable(),
  trigger: Trigger.nullable().describe('Null: nothing ran.'),
  token: z.int().nullable().describe('The fencing token of the last attempt.'),
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
  latenessMs: Milliseconds.nullable().describe('From the actual due time to the first call of the handler.'),
  durationMs: Milliseconds.nullable().describe('From the first call of the handler to the end of the run.'),
};

export const RunSummary = named('RunSummary', 'A run, or due times that did not run.', z.object(runSummary));

export const Runs = named(
  'Runs',
  'A page of runs, newest first.',
  z.object({
    now: Instant,
    runs: list(RunSummary),
    problems: list(z.string()).describe('Records that could not be read.'),
    cursor: z
      .string()
      .nullable()
      .describe('Where the next page begins. Null: there is none. A page may be short, or empty, before the end.'),
  }),
);

export const OneRun = named(
  'OneRun',
  'A run with its attempts.',
  z.object({
    now: Instant,
    ...runSummary,
    claimedAt: Instant.nullable(),
    attempts: list(Attempt),
    result: z.unknown().optional().describe('The value that the handler returned.'),
    overlappedRunId: z.string().nullable().describe('The run that was in progress, for an overlapped due time.'),
  }),
);

export const Why = named(
  'Why',
  'The outcome of an instant of a job, or what is to be expected of it.',
  z.object({
    now: Instant,
    job: z.string(),
    time: Instant,
    due: z.boolean().describe('Whether the schedule contains it.'),
    outcome: z.enum([...OUTCOMES, 'pending', 'future', 'notDue']),
    reason: Reason,
    text: z.string().describe('The explanation in words.'),
    warnings: list(z.string()),
    runId: z.string().nullable().describe('The record that has the answer. Null: the ledger has none.'),
  }),
);

export const Me = named(
  'Me',
  'The caller.',
  z.object({
    actor: z.string(),
    role: z.enum(ROLES),
    channel: z.string(),
    readOnly: z.boolean().describe('Whether this app refuses every change.'),
  }),
);

export const Version = named(
  'Version',
  'The app that answers.',
  z.object({
    version: z.string().describe('The version of cronlease.'),
    deployment: z.string(),
    revision: z.int().describe('The revision of its jobs file.'),
    pollMs: z.int().describe('The shortest time between two polls that have news of each other.'),
    readOnly: z.boolean(),
  }),
);

export const Health = named(
  'Health',
  'The health of an instance.',
  z.object({ status: z.enum(['healthy', 'unhealthy']) }),
);

export const Requested = named(
  'Requested',
  'A requested run.',
  z.object({
    job: z.string(),
    runId: z.string().describe('The id that the run will have.'),
    requestedAt: Instant,
    ahead: z.int().describe('How many requests were waiting before it.'),
    seen: z.boolean().describe('False: no deployment has seen the job yet, and the request waits until one does.'),
    paused: z.boolean().describe('Whether the job is paused, which does not hold the request back.'),
  }),
);

export const Cancelled = named(
  'Cancelled',
  'A run whose cancel was requested.',
  z.object({
    job: z.string(),
    runId: z.string(),
    requestedAt: Instant,
    endedBy: z
      .enum(['holder', 'tick'])
      .describe('`holder`: its attempt ends at its next renewal. `tick`: the run waits, and the next tick ends it.'),
  }),
);

export const Paused = named('Paused', 'A job that was paused.', z.object({ job: z.string(), pause: Pause }));
export const Resumed = named('Resumed', 'A job that was resumed.', z.object({ job: z.string(), pause: Pause }));

/** A note in a request: it becomes metadata. */
const note = z.string().trim().min(1).max(200);

export const PauseBody = named(
  'PauseBody',
  'The reason of a pause.',
  z.strictObject({ reason: note.describe('Shown to everybody.') }),
);
export const EmptyBody = named('EmptyBody', 'Nothing.', z.strictObject({}));

const Issue = z.object({
  place: z.string().describe('The member, parameter or header.'),
  value: z.string().nullable().describe('Its value, cut. Null: it was missing, or is secret.'),
  problem: z.string().describe('What is wrong with it.'),
  remedy: z.string().describe('What to do.'),
});

export const Problem = named(
  'Problem',
  'An error, as RFC 9457 describes it.',
  z.object({
    type: z.literal('about:blank').describe('Always `about:blank`: `code` tells the errors apart.'),
    title: z.string().describe('The meaning of the status.'),
    status: z.int().describe('The status of the answer.'),
    code: z.string().describe('What went wrong, for programs.'),
    detail: z.string().describe('What went wrong, for people.'),
    ...Issue.pick({ place: true, value: true, remedy: true }).shape,
    errors: list(Issue).optional().describe('Every error of the request, where it has several.'),
  }),
);
