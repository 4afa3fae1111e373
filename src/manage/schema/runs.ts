import * as z from 'zod';
import { CHANNELS } from '../../core/origin';
import { RAN_OUTCOMES, RUN_TRIGGERS } from '../../core/outcome';
import {
  Instant,
  instant,
  jobName,
  list,
  Milliseconds,
  named,
  object,
  OUTCOMES,
  Reason,
  RunOutcome,
  tag,
  Trigger,
  whole,
} from './common';

const ErrorOfHandler = object('ErrorOfHandler', 'An error that a handler threw.', {
  name: z.string(),
  message: z.string(),
  code: z.string().optional().describe('Its `code`, such as `ECONNREFUSED`.'),
  stack: z.string().optional(),
  get cause() {
    return ErrorOfHandler.optional();
  },
  get errors() {
    return list(ErrorOfHandler).optional();
  },
});

const Progress = z.object({
  note: z.string().optional().describe('What the handler, or the orchestration, is doing.'),
  fraction: z.number().optional().describe('How much of the work is done, from 0 to 1.'),
});

const Attempt = object('Attempt', 'One attempt of a run.', {
  attempt: z.int(),
  token: z.int(),
  deployment: z.string(),
  startedAt: Instant.nullable().describe('The call of its handler. Null if its holder died or lost its lease.'),
  claimedAt: Instant.optional().describe('The claim, if its holder died or lost its lease.'),
  waitedForConcurrencyMs: Milliseconds.optional().describe(
    'How long its handler waited for the concurrency limit of its instance. Absent if it did not.',
  ),
  waitedForGroupMs: Milliseconds.optional().describe(
    "How long it waited, before that, for a place in its job's group. Absent if it did not.",
  ),
  endedAt: Instant.nullable(),
  outcome: z.enum([...RAN_OUTCOMES, 'holderLost', 'draining', 'planned', 'running']),
  error: ErrorOfHandler.nullable(),
});

const runSummary = {
  runId: z.string(),
  job: z.string(),
  timeZone: z.string().nullable().describe("Of the job. Null: the job is not in this app's jobs file."),
  scheduledFor: Instant.describe(
    'The due time, or the oldest one of several. For a manual run: when it was requested.',
  ),
  through: Instant.nullable().describe('The newest due time, if one record covers several.'),
  count: z.int().nullable().describe('How many due times the record covers. Null: unknown.'),
  outcome: RunOutcome,
  reason: Reason.nullable(),
  trigger: Trigger.nullable().describe('Null: nothing ran.'),
  token: z.int().nullable().describe('The fencing token of the last attempt.'),
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
  origin: z
    .object({ actor: z.string(), channel: z.string(), note: z.string().optional() })
    .nullable()
    .describe('Who requested the run, from where and why. Null: the schedule started it, or it was not noted.'),
  rerunOf: Instant.nullable().describe('The due time of the run that this one repeats: its handler sees that time.'),
  latenessMs: Milliseconds.nullable().describe('From the actual due time to the first call of the handler.'),
  durationMs: Milliseconds.nullable().describe("The handler's time in all attempts, without the waits between them."),
  waitedMs: Milliseconds.describe('How long it waited between its attempts.'),
  error: z
    .string()
    .nullable()
    .describe("The error of its last attempt and that error's innermost cause, on one line. Null: it has none."),
};

export const RunSummary = named('RunSummary', 'A run, or due times that did not run.', z.object(runSummary));

export const Runs = object('Runs', 'A page of runs, newest first.', {
  now: Instant,
  runs: list(RunSummary),
  problems: list(z.string()).describe('Records that could not be read.'),
  cursor: z
    .string()
    .nullable()
    .describe('Where the next page begins. Null: there is none. A page may be short, or empty, before the end.'),
});

const Items = object('Items', 'The items of a run that fans out.', {
  planned: z.int().describe('How many items its plan has.'),
  succeeded: z.int(),
  failed: z.int().describe('How many of them failed in their last attempt. The others have not ended.'),
  lines: list(
    z.object({
      index: z.int().describe('Its place in the plan, from 0.'),
      state: z.enum(['succeeded', 'failed']),
      attempts: z.int().describe('How often it was called.'),
      durationMs: Milliseconds.optional().describe(
        "The handler's time in all its calls. Absent: all were lost with their instances.",
      ),
      waitedMs: Milliseconds.optional().describe('How long it waited between its first call and its end.'),
      error: z.string().optional().describe('The first line of its error, if it failed.'),
    }),
  ).describe('The items that have ended, failed ones first, then by index: 64 KB of them at most.'),
  leftOut: z.int().describe('How many items that have ended are not in `lines`.'),
  notEnded: list(z.object({ from: z.int(), to: z.int() }))
    .optional()
    .describe('The items that have not ended, in ranges of their places: the first 500 ranges. Absent: all have.'),
  noted: list(
    z.object({
      index: z.int(),
      state: z.enum(['running', 'retrying']).describe('It is in a call, or waits for its next attempt.'),
      attempt: z.int().describe('The attempt in progress, or the next one.'),
    }),
  )
    .optional()
    .describe(
      'Those that the instances at work noted with their last heartbeats, up to 20 s ago: at most 300 of each instance. `notEnded` has the others: they wait, or have begun since. Absent: the run has ended.',
    ),
});

export const OneRun = object('OneRun', 'A run with its attempts.', {
  now: Instant,
  ...runSummary,
  claimedAt: Instant.nullable(),
  attempts: list(Attempt),
  input: z
    .object({
      value: z.unknown(),
      from: z
        .enum(['manualRun', 'jobsFile'])
        .describe('`manualRun`: the run has its own. `jobsFile`: that of its job, as the file has it now.'),
      inFile: z.unknown().optional().describe("The input of the jobs file, if the run's own differs."),
      isRedacted: z.boolean().describe('Whether a secret in it is hidden.'),
    })
    .optional()
    .describe('What its handler gets. Absent: nothing.'),
  inputHidden: z.boolean().optional().describe('Whether there is an input that needs the role `payloads`.'),
  result: z.unknown().optional().describe('The value that the handler returned.'),
  resultHidden: z.boolean().optional().describe('Whether there is a result that needs the role `payloads`.'),
  resultChanges: list(z.string()).optional().describe('Values in the result that JSON cannot represent.'),
  orchestration: z
    .string()
    .optional()
    .describe('The id of the Durable orchestration that it has started last. Absent: it started none.'),
  progress: Progress.optional().describe(
    'The last progress: of an orchestration its custom status, by the last heartbeat. Absent: none, or the run is in progress and its log has it.',
  ),
  items: Items.optional().describe('The items of a fan-out, as they are now, or were at its end. Absent: none.'),
  overlappedRunId: z.string().nullable().describe('The run that was in progress, for an overlapped due time.'),
});
export type OneRun = z.output<typeof OneRun>;

export const Why = object('Why', 'The outcome of an instant of a job, or what is to be expected of it.', {
  now: Instant,
  job: z.string(),
  time: Instant,
  due: z.boolean().describe('Whether the schedule contains it.'),
  outcome: z.enum([...OUTCOMES, 'pending', 'future', 'notDue']),
  reason: Reason,
  text: z.string().describe('The explanation in words.'),
  warnings: list(z.string()),
  runId: z.string().nullable().describe('The record that has the answer. Null: the ledger has none.'),
  backfills: list(
    z.object({
      runId: z.string(),
      outcome: RunOutcome,
      reason: Reason.nullable(),
      startedAt: Instant.nullable(),
      endedAt: Instant.nullable(),
    }),
  ).describe('The runs of this due time in back-fills, the oldest first. Their records lie beside that of the answer.'),
});

const LogEntry = object('LogEntry', 'A line of a log, a report of progress, or a gap.', {
  n: z
    .int()
    .describe(
      'The number of the line among those of its attempt, from 1. Of progress and an error: of the line before.',
    ),
  at: z.string().describe('When it was logged, in RFC 3339.'),
  attempt: z.int().describe('The attempt; of the item, if there is one.'),
  token: z.int().describe('The fencing token of the attempt.'),
  item: z.int().optional().describe('The item of a fan-out that logged it.'),
  level: z.enum(['debug', 'info', 'warn', 'error']).optional().describe('Of a line.'),
  text: z.string().optional().describe('Of a line: any text. Show it only as text.'),
  progress: Progress.optional(),
  gap: z.object({ lines: z.int() }).optional().describe('Missing lines: the attempt logged more than is kept.'),
  error: z
    .string()
    .optional()
    .describe(
      'What the attempt threw, with its causes. It ends what the attempt said, and comes when the run is over.',
    ),
});

export const RunLog = object('RunLog', 'A page of the log of a run.', {
  runId: z.string(),
  entries: list(LogEntry).describe('In order: by attempt, and within it by time.'),
  next: z.string().describe('Where the next page begins: `from` of the next request.'),
  ended: z.boolean().describe('Whether the run is over, and this is the last page.'),
  progress: Progress.nullable().describe('The last progress, if the record of the run or this page has one.'),
  leftOut: z.int().describe('How many logs of items were left out: `item` reads those of one.'),
});

export const RunsQuery = z.strictObject({
  job: jobName.optional(),
  tag: tag.optional().describe('Runs of jobs with this tag.'),
  outcome: z.enum(OUTCOMES).optional(),
  failed: z.enum(['true']).optional().describe('Runs that failed, timed out or stalled.'),
  trigger: z.enum(RUN_TRIGGERS).optional().describe('Runs that this started.'),
  actor: z.string().min(1).max(100).optional().describe('Runs that this person, or the key of this name, requested.'),
  channel: z.enum(CHANNELS).optional().describe('Runs that were requested there.'),
  note: z.string().min(1).max(200).optional().describe('Runs whose request has this text in its note.'),
  since: instant.optional().describe('Due at this time or later.'),
  until: instant.optional().describe('Due before this time.'),
  limit: whole(1, 500).describe('Default: 50.'),
  cursor: z.string().max(300).optional().describe('The `cursor` of the page before, with the same filter.'),
});
