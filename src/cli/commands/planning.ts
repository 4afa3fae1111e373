import { InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDuration } from '../../core/duration';
import { type Command, command, type Done, loaded, timed, wholeNumber } from './command';

const LONGEST_RUN_MS = 86_400_000;

/** Commands that look ahead, or at a change of the file, and need no storage. */
export function addPlanning(program: Command, done: Done): void {
  timed(
    program,
    'plan',
    '',
    "list upcoming starts, or a change's effect",
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
    .action(loaded(done, async () => (await import('../show/plan.js')).plan));

  command(
    program,
    'cost',
    '',
    'estimate the monthly cost on Azure',
    'Computes the cost of the due times of 30 days, and of what the jobs share.',
  )
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
    .action(loaded(done, async () => (await import('../show/cost.js')).cost));
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= LONGEST_RUN_MS) return ms;
  throw new InvalidArgumentError(`It must be a duration such as 30s or 5m, up to ${formatDuration(LONGEST_RUN_MS)}.`);
}

/** Commands that need no storage. */
export function addOffline(program: Command, done: Done): void {
  command(
    program,
    'validate',
    '',
    'check the jobs file',
    'Makes the checks that an app makes when it starts, except those of its handlers, and prints all errors at once.',
  )
    .option('--json', 'print {ok, errors, warnings, errorCount, warningCount}')
    .examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json')
    .action(loaded(done, async () => (await import('../setup/validate.js')).validate));

  timed(
    program,
    'next',
    '[JOB]',
    'list the next due times',
    'Lists the next due times of a job, or of all jobs. A job with "spread" starts that much later.',
  )
    .argument('[JOB]', 'name of a job, or all (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .option('--from <TIME>', 'list due times after this, which may be in the past (default: now)')
    .option('--count <N>', 'number of due times, 1 to 1000', wholeNumber(1, 1000), 5)
    .option('--json', 'print [{job, timeZone, dueTimes: [TIME, …]}]')
    .examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1')
    .action(loaded(done, async () => (await import('../show/next.js')).next));
}
