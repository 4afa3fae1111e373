import * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { RUN_FATES, UNRUN_FATES } from '../core/fate';
import { JOB_STATES } from '../operator/job-status';
import { ENVIRONMENT_COLORS } from './environment';
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
export const oneDeployment = z.strictObject({
  deployment: z
    .string()
    .regex(/^[\x21-\x7e]{1,100}$/)
    .describe('The name of a deployment.'),
});
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

export const JobState = named(
  'JobState',
  'The state of a job, the first that applies. `quarantined`: something other than cronlease wrote its row or control, ' +
    'and every deployment leaves the job alone. `paused`, `disabled`: nothing new is claimed. `overdue`: no success for ' +
    'longer than `alertAfter`. `retrying`: its run waits for its next attempt, or its holder died. `running`. ' +
    '`waiting`: a due time is claimed ahead, or waits to be claimed, or a request does. `idle`: none of these.',
  z.enum(JOB_STATES),
);

const Pause = named(
  'Pause',
  'A stretch in which nothing new starts, other than by request.',
  z.object({
    by: z.string().describe('The person who paused the job.'),
    note: z.string().describe('The reason.'),
    since: Instant,
    until: Instant.nullable().describe('When it ended, or is to end. Null: when somebody resumes the job.'),
  }),
);

const CurrentRun = named(
  'CurrentRun',
  'The run in progress.',
  z.object({
    runId: z.string(),
    scheduledFor: Instant,
    trigger: Trigger,
    attempt: z.int().describe('The number of its current attempt, or of the last one.'),
    startedAt: Instant.nullable().describe(
      'When the handler of that attempt was, or will be, called. Null while no attempt runs.',
    ),
    retryAt: Instant.nullable().describe('When its next attempt may begin. Null while an attempt runs.'),
    holder: z.string().nullable().describe('The deployment that runs it. Null while no attempt runs.'),
  }),
);

const ListedRun = named(
  'ListedRun',
  'A run that is over.',
  z.object({
    kind: z.literal('run'),
    runId: z.string(),
    scheduledFor: Instant,
    outcome: z.enum(RUN_FATES).nullable().describe('Null: its record alone has it.'),
    latenessMs: Milliseconds.nullable(),
    durationMs: Milliseconds.nullable().describe('Null: its record alone has it.'),
    attempts: z.int(),
  }),
);

const ListedGap = named(
  'ListedGap',
  'Due times that did not run.',
  z.object({
    kind: z.literal('gap'),
    scheduledFor: Instant.describe('The newest of them.'),
    outcome: z.enum(UNRUN_FATES),
    reason: Reason,
    count: z.int(),
  }),
);

const Acknowledgement = named(
  'Acknowledgement',
  'The note of a person who looks after an episode. It ends with the next success, or at `until`.',
  z.object({
    by: z.string().describe('The person who acknowledged it.'),
    note: z.string().describe('What the person wrote. May be empty.'),
    at: Instant,
    until: Instant.nullable().describe('When it ends by itself. Null: with the next success.'),
  }),
);

const Episode = named(
  'Episode',
  'The failures of a job until its next success. Cancelled runs, and due times that did not run, neither begin nor end it.',
  z.object({
    since: Instant.describe(
      'The due time of its first failed run that is known, or when the job became overdue, if that was sooner.',
    ),
    isWhole: z
      .boolean()
      .describe("False: it began before `since`: the job's last 20 outcomes no longer show its beginning."),
    failures: z.int().describe('How many runs have failed. 0: the job is overdue, and no run has failed.'),
    firstRunId: z.string().nullable().describe('The first failed run that is known.'),
    lastRunId: z.string().nullable().describe('The last failed run.'),
    lastReason: Reason.nullable().describe('The reason of the last one. Null: its record has it.'),
    acknowledgement: Acknowledgement.nullable().describe('The acknowledgement that is in force.'),
  }),
);

const job = {
  name: z.string(),
  state: JobState,
  detail: z.string().nullable().describe('Why it is in that state, where the state alone does not show it.'),
  description: z.string().nullable(),
  tags: list(z.string()),
  schedule: z.string().nullable().describe("The schedule as written. Null: the job is not in this app's jobs file."),
  timeZone: z.string().nullable(),
  lastRun: ListedRun.nullable().describe('The last run that is over.'),
  recent: list(z.discriminatedUnion('kind', [ListedRun, ListedGap])).describe(
    'Its last outcomes, oldest first: up to 20.',
  ),
  failures: z.int().describe('How many runs in a row have failed.'),
  episode: Episode.nullable().describe('Null: the job neither fails nor is overdue.'),
  currentRun: CurrentRun.nullable(),
  nextDueAt: Instant.nullable().describe(
    'The next due time after now, with `spread`. Null: there is none, or none runs while the job is paused or disabled.',
  ),
  dueSince: Instant.nullable().describe('The oldest due time that has come and waits to be claimed.'),
  overdueSince: Instant.nullable(),
  pause: Pause.nullable().describe('The pause that is in force.'),
  requests: z.int().describe('How many requests wait.'),
  lastHolder: z.string().nullable().describe('The deployment whose tick won the job last.'),
};

export const Job = named('Job', 'A job, as a list shows it.', z.object(job));

const Cordon = z.object({ by: z.string(), note: z.string(), since: Instant });

const Deployment = named(
  'Deployment',
  'A deployment that has ticked in the last week.',
  z.object({
    name: z.string(),
    live: z.boolean().describe('Whether it has reported its ticks as often as it should: once in five minutes.'),
    tickedAt: Instant.describe('The last tick that it reported.'),
    version: z.string(),
    revision: z.int().describe('The revision of its jobs file.'),
    skewMs: Milliseconds.describe("How far its clock is ahead of the storage service's: 0 below 2 s."),
    hubProven: z.boolean().nullable().describe('Whether its task hub has shown that it runs orchestrations.'),
    cordon: Cordon.nullable().describe('Why it claims nothing new.'),
  }),
);

const Maintenance = named(
  'Maintenance',
  'Planned work during which jobs are paused.',
  z.object({
    by: z.string(),
    note: z.string(),
    since: Instant,
    until: Instant.nullable(),
    jobs: z.string().describe('Which jobs it paused, in words.'),
  }),
);

export const Jobs = named(
  'Jobs',
  'One state of everything.',
  z.object({
    now: Instant.describe("The storage service's time."),
    jobs: list(Job).describe('The worst first.'),
    deployments: list(Deployment),
    maintenance: list(Maintenance),
    problems: list(z.string()).describe('What could not be read.'),
  }),
);

export const Deployments = named(
  'Deployments',
  'All deployments.',
  z.object({ now: Instant, deployments: list(Deployment), problems: list(z.string()) }),
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
    enabled: z.boolean().nullable().describe("Null: the job is not in this app's jobs file."),
    settings: Settings.nullable().describe("Null: the job is not in this app's jobs file."),
    waiting: list(z.object({ runId: z.string(), requestedAt: Instant })).describe('The requests that wait.'),
    pauses: list(Pause).describe('Pauses that undecided due times may lie in, the one in force among them.'),
    cancelling: z.string().nullable().describe('The id of the run whose cancel was requested.'),
    controlVersion: z
      .string()
      .describe(
        'The version of its pauses, requests, cancel and acknowledgement: send it as `If-Match` with a change, in quotes.',
      ),
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
  origin: z
    .object({ actor: z.string(), channel: z.string(), reason: z.string().optional() })
    .nullable()
    .describe('Who asked for the run, from where and why. Null: the schedule started it, or nobody noted it.'),
  rerunOf: Instant.nullable().describe('The due time of the run that this one repeats: its handler sees that time.'),
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

export const Calendar = named(
  'Calendar',
  'Outcomes of a job, counted by day.',
  z.object({
    now: Instant,
    job: z.string(),
    timeZone: z.string().describe('The zone of the days.'),
    days: list(
      z.object({
        day: z.iso.date(),
        outcomes: z
          .partialRecord(z.enum([...RUN_FATES, ...UNRUN_FATES]), z.int())
          .describe('How many due times had each outcome.'),
      }),
    ).describe('The days that have outcomes, newest first.'),
    complete: z.boolean().describe('False: there are more records than one answer counts, and older days lack some.'),
  }),
);

const Progress = z.object({
  note: z.string().optional().describe('What the handler is doing.'),
  fraction: z.number().optional().describe('How much of the work is done, from 0 to 1.'),
});

const LogEntry = named(
  'LogEntry',
  'A line of a log, a report of progress, or a gap.',
  z.object({
    n: z.int().describe('The number of the line among those of its attempt, from 1. Of progress: of the line before.'),
    at: z.string().describe('When it was said, in RFC 3339.'),
    attempt: z.int().describe('The attempt; of the item, where there is one.'),
    token: z.int().describe('The fencing token of the attempt.'),
    item: z.int().optional().describe('The item of a fan-out that said it.'),
    level: z.enum(['debug', 'info', 'warn', 'error']).optional().describe('Of a line.'),
    text: z.string().optional().describe('Of a line: any text. Show it as text alone.'),
    progress: Progress.optional(),
    gap: z
      .object({ lines: z.int(), why: z.string() })
      .optional()
      .describe('Lines that are missing. `limit`: more than is kept. `storage`: storage did not take them in time.'),
  }),
);

export const RunLog = named(
  'RunLog',
  'A page of what the handler of a run said.',
  z.object({
    runId: z.string(),
    entries: list(LogEntry).describe('In order: by attempt, and within it by time.'),
    next: z.string().describe('Where the next page begins: `from` of the next request.'),
    ended: z.boolean().describe('Whether the run is over, and this is the last page.'),
    progress: Progress.nullable().describe('The last progress, if the record of the run or this page has one.'),
    leftOut: z.int().describe('How many logs of items were left out: `item` reads those of one.'),
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
    environment: z
      .object({ name: z.string(), color: z.enum(ENVIRONMENT_COLORS) })
      .nullable()
      .describe('The name of the environment, for people, and its colour.'),
  }),
);

export const Health = named(
  'Health',
  'The health of an instance.',
  z.object({ status: z.enum(['healthy', 'unhealthy']) }),
);

/** Of every answer to a change. */
const change = {
  recorded: z
    .boolean()
    .describe('False: the change took place, but its record shows only that it was begun. See `GET audit`.'),
};

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
    ...change,
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
    ...change,
  }),
);

export const Paused = named('Paused', 'A job that was paused.', z.object({ job: z.string(), pause: Pause, ...change }));
export const Resumed = named(
  'Resumed',
  'A job that was resumed.',
  z.object({ job: z.string(), pause: Pause, ...change }),
);
export const PausedMany = named(
  'PausedMany',
  'What became of several jobs.',
  z.object({
    done: list(Paused),
    refused: list(z.object({ job: z.string(), code: z.string(), problem: z.string() })).describe(
      'The jobs that were left as they were.',
    ),
  }),
);
export const Acknowledged = named(
  'Acknowledged',
  'A job whose episode was acknowledged, or whose acknowledgement was removed.',
  z.object({ job: z.string(), acknowledgement: Acknowledgement, ...change }),
);
export const Cordoned = named(
  'Cordoned',
  'A deployment that was cordoned, or whose cordon was lifted.',
  z.object({ deployment: z.string(), cordon: Cordon, ...change }),
);

export const Audit = named(
  'Audit',
  'A page of changes, newest first.',
  z.object({
    entries: list(
      z.object({
        id: z.string(),
        at: Instant,
        actor: z.string().describe('The person, or the name of the key.'),
        channel: z.string().describe('`browser`, `shell`, `key` or `app`.'),
        reason: z.string().nullable().describe('Why, as the person wrote.'),
        action: z.string().describe('The command: `run`, `rerun`, `cancel`, `pause`, `resume`, `ack`, …'),
        target: z.string().describe('The job or the deployment.'),
        state: z
          .enum(['begun', 'done', 'refused'])
          .describe('`begun`: nobody knows how it ended, since its writer died, or storage did not answer.'),
        before: z.unknown().optional().describe('What was there before. Absent: nothing.'),
        after: z.unknown().optional().describe('What was there then. Of a refusal, its reason.'),
      }),
    ),
    problems: list(z.string()).describe('Entries that cronlease did not write.'),
    cursor: z.string().nullable().describe('Where the next page begins. Null: there is none.'),
  }),
);

/** A note in a request: it becomes metadata. */
const note = z.string().trim().min(1).max(200);

const until = z.iso
  .datetime({ offset: true })
  .optional()
  .describe('When the pause ends by itself. Default: when somebody ends it.');
export const PauseBody = named(
  'PauseBody',
  'The reason of a pause.',
  z.strictObject({ note: note.describe('The reason, which is shown to everybody.'), until }),
);
export const AcknowledgeBody = named(
  'AcknowledgeBody',
  'An acknowledgement.',
  z.strictObject({
    note: note.optional().describe('What you do about it, for everybody to read.'),
    until: until.describe('When it ends by itself. Default: with the next success.'),
  }),
);
export const CordonBody = named(
  'CordonBody',
  'The reason of a cordon.',
  z.strictObject({ note: note.describe('The reason, which is shown to everybody.') }),
);
const reason = note.optional().describe('Why: shown with the run, and recorded.');
export const Json = named('Json', 'Any JSON.', z.json());
const input = Json.optional().describe("In the place of the job's own input: JSON of at most 32 KB.");

export const RunBody = named('RunBody', 'A run to request.', z.strictObject({ input, reason }));
export const RerunBody = named(
  'RerunBody',
  'A run to repeat. Without an input it gets the one that it had.',
  z.strictObject({ input, reason }),
);
const choice = {
  jobs: z.array(jobName).min(1).max(1_000).optional().describe('The names of the jobs.'),
  tag: z.string().min(1).max(100).optional().describe('Jobs with this tag.'),
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
    .strictObject({ ...choice, note: note.describe('The reason, which is shown to everybody.'), until })
    .refine(chooses, ONE_CHOICE),
);
export const ResumeManyBody = named(
  'ResumeManyBody',
  'Jobs to resume: by `jobs`, `tag` or `pattern`, one of them.',
  z.strictObject({ ...choice, reason }).refine(chooses, ONE_CHOICE),
);
export const ReasonBody = named('ReasonBody', 'The reason of a change.', z.strictObject({ reason }));

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
