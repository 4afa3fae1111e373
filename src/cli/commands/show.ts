import { InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDuration } from '../../core/duration';
import { CHANNELS } from '../../core/origin';
import { RAN_OUTCOMES, RUN_TRIGGERS, UNRUN_OUTCOMES } from '../../core/outcome';
import { NO } from '../output';
import { type Command, command, stored, timed, wholeNumber } from './command';

const LONGEST_RUN_MS = 86_400_000;

/** Commands that look ahead, or at a change of the file, and need no storage. */
export function addPlanning(program: Command): void {
  timed(program, 'plan', '', "list upcoming starts, or a change's effect")
    .description(
      'Lists the starts of all jobs in a span, with the busiest minutes and the clock changes that affect jobs. With --against, lists the jobs that were added, removed or changed, with their due times, and what a deployment would catch up or drop.',
    )
    .option('--from <TIME>', 'the start of the span, in UTC unless --local is given (default: now)')
    .option('--to <TIME>', 'the end of the span (default: 24 hours later)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .option('--limit <N>', 'number of starts, or of changed jobs, to list, 1 to 100000', wholeNumber(1, 100_000), 200)
    .option('--against <REF>', 'compare with the file at this git revision')
    .addOption(
      new Option('--excluded', 'list the times that "between", "except" and calendars exclude').conflicts('ics'),
    )
    .addOption(new Option('--ics', 'print an iCalendar file').conflicts('json'))
    .option(
      '--json',
      'print [{job, scheduledFor, runsAt, local, notes}], with --excluded [{job, scheduledFor, runsAt, local, setting, calendar, entry}], with --against {against, changes, leftOut}',
    )
    .examples(
      'cronlease plan',
      'cronlease plan --from 2026-12-31 --to 2027-01-02 --limit 1000',
      'cronlease plan --excluded --to 2027-01-02',
      'cronlease plan --ics > plan.ics',
      'cronlease plan --against main',
    )
    .runs(async () => (await import('../show/plan.js')).plan);

  command(program, 'cost', '', 'estimate the monthly cost on Azure')
    .description('Computes the cost of the due times of 30 days, and of what the jobs share.')
    .withFile()
    .option('--against <REF>', 'print the difference from the file at this git revision')
    .option('--deployments <N>', 'number of function apps with these jobs, 1 to 100', wholeNumber(1, 100), 1)
    .option('--memory <MB>', 'memory of an instance, 512 to 4096', wholeNumber(512, 4096), 2048)
    .option('--always-ready <N>', 'always-ready instances of each app, 0 to 100', wholeNumber(0, 100), 0)
    .option('--places <N>', 'places from which the health is checked, 0 to 5', wholeNumber(0, 5), 2)
    .option('--telemetry', 'include metrics and traces')
    .option('--log-writes', 'include a log of writes')
    .option('--duration <DURATION>', 'how long a handler runs (default: 1s)', duration)
    .option('--items <JOB=N...>', 'number of items into which a job fans out')
    .option('--prices <FILE>', "prices instead of the package's unchecked prices.json")
    .option(
      '--json',
      'print {prices, assumptions, total, storageCalls, callsPerNotice, jobsCost, jobs, runs, shared}; with --against {before, after}',
    )
    .examples('cronlease cost', 'cronlease cost --deployments 2 --memory 512', 'cronlease cost --against main')
    .runs(async () => (await import('../show/cost.js')).cost);
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= LONGEST_RUN_MS) return ms;
  throw new InvalidArgumentError(`It must be a duration such as 30s or 5m, up to ${formatDuration(LONGEST_RUN_MS)}.`);
}

/** Commands that need no storage. */
export function addOffline(program: Command): void {
  command(program, 'validate', '', 'check the jobs file')
    .description(
      'Makes the checks that an app makes when it starts, except those of its handlers, and prints all errors at once.',
    )
    .withFile()
    .option('--json', 'print {ok, errors, warnings, errorCount, warningCount}')
    .examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json')
    .runs(async () => (await import('../setup/validate.js')).validate);

  timed(program, 'next', '[JOB]', 'list the next due times')
    .description('Lists the next due times of a job, or of all jobs. A job with "spread" starts that much later.')
    .argument('[JOB]', 'name of a job, or all (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .option('--from <TIME>', 'list due times after this, which may be in the past (default: now)')
    .option('--count <N>', 'number of due times, 1 to 1000', wholeNumber(1, 1000), 5)
    .option('--json', 'print [{job, timeZone, dueTimes: [TIME, …]}]')
    .examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1')
    .runs(async () => (await import('../show/plan.js')).next);
}

const DUE_TIME =
  "a due time in ISO 8601, with Z or an offset, or else in the job's time zone; 21:42 or 21:42:40Z for the latest such time; or how long ago, such as 2h";

export function addStatus(program: Command): void {
  stored(program, 'status', '[JOB…]', 'show all jobs and deployments, worst first')
    .description(
      `Shows the state of jobs and deployments. Jobs that need attention come first. With --failed, the exit code is ${NO} if a job is listed.`,
    )
    .argument('[JOB...]', 'names of jobs, or patterns such as "report-*" (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .option(
      '--failed',
      'only jobs that are overdue, unreadable, or whose last run did not succeed, and are not acknowledged',
    )
    .option('--watch', 'follow the state until q or Ctrl+C; without a terminal, print it at each change')
    .option('--json', 'print {now, jobs, deployments, maintenance, problems}')
    .examples('cronlease status', 'cronlease status --watch --tag billing')
    .runs(async () => (await import('../show/status.js')).status);
}

export function addHistory(program: Command): void {
  stored(program, 'runs', '[JOB]', 'list runs, newest first')
    .description('Lists runs in progress and the ledger with the outcome of each due time, newest first, in pages.')
    .argument('[JOB]', 'name of a job (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .addOption(new Option('--failed', 'only runs that failed, timed out or stalled').conflicts('outcome'))
    .addOption(
      new Option('--outcome <OUTCOMES>', 'only records with this outcome, or one of several: failed,expired')
        .choices(OUTCOMES)
        .argParser(outcomes),
    )
    .addOption(new Option('--trigger <TRIGGER>', 'only runs with this trigger').choices(RUN_TRIGGERS))
    .option('--actor <NAME>', 'only runs that this person, or the key of this name, requested')
    .addOption(new Option('--channel <CHANNEL>', 'only runs that were requested there').choices(CHANNELS))
    .option('--note <TEXT>', "only runs with this text in their request's note")
    .option('--since <TIME>', 'only records due at TIME or later: in ISO 8601, as 21:42, or how long ago, such as 2h')
    .option('--until <TIME>', 'only records due before TIME, written as for --since')
    .option('--limit <N>', 'number of records, 1 to 1000', wholeNumber(1, 1000), 20)
    .option('--cursor <CURSOR>', 'continue where a page ended, with the same options')
    .option('--json', 'print {runs: [ledger record, …], cursor}')
    .examples(
      'cronlease runs',
      'cronlease runs --failed --since 12h',
      'cronlease runs --trigger manual --actor ann',
      'cronlease runs nightly-report --limit 100 --json',
    )
    .runs(async () => (await import('../show/runs.js')).runs);

  stored(program, 'why', 'JOB TIME', 'explain the outcome of a due time')
    .description('Explains the outcome of a due time, past or future, from the ledger, the row and the schedule.')
    .argument('<JOB>', 'name of a job')
    .argument('<TIME>', DUE_TIME)
    .option('--verbose', 'also print tokens and full stack traces')
    .option('--json', 'print {job, time, due, outcome, reason, record, backfills}')
    .examples('cronlease why nightly-report 2026-03-29T03:00:00Z', 'cronlease why nightly-report 2026-03-29T02:30')
    .runs(async () => (await import('../show/why.js')).why);
}

export function addLogs(program: Command): void {
  stored(program, 'logs', 'JOB [TIME]', 'print the log of a run')
    .description("Prints the log of a run, over all its attempts: the handler's lines and its progress.")
    .argument('<JOB>', 'name of a job')
    .argument('[TIME]', 'due time of the run, as for "why" (default: the current run, or else the last one)')
    .option('--follow', 'print new lines until the run ends')
    .option('--item <N>', 'the log of one item of a fan-out, by its index from 0', wholeNumber(0, 999_999))
    .option('--json', 'print {job, runId, ended, progress, entries}; with --follow, a line of JSON for each entry')
    .examples('cronlease logs nightly-report --follow', 'cronlease logs nightly-report 2026-03-29T03:00:00Z')
    .runs(async () => (await import('../show/logs.js')).logs);
}

export function addAudit(program: Command): void {
  command(program, 'audit', '', 'list what people changed, newest first')
    .withTimes()
    .description(
      'Lists the changes that people made or tried to make, newest first: who, when, what and why. An actor verified neither by Entra nor by a key is marked as unproven.',
    )
    .withStorage()
    .option('--limit <N>', 'number of entries, 1 to 1000', wholeNumber(1, 1000), 50)
    .option('--cursor <CURSOR>', 'continue where a page ended')
    .option(
      '--json',
      'print {entries: [{id, at, actor, identity, proven, channel, note, action, target, state, before, after}, …], cursor}',
    )
    .examples('cronlease audit', 'cronlease audit --limit 200 --json')
    .runs(async () => (await import('../show/audit.js')).audit);
}

const OUTCOMES: readonly string[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES, 'running', 'retrying'];

function outcomes(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !OUTCOMES.includes(name));
  if (wrong === undefined) return names;
  throw new InvalidArgumentError(`${JSON.stringify(wrong)} is not an outcome. Use ${OUTCOMES.join(', ')}.`);
}
