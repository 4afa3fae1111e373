import type { Command } from 'commander';
import { command, type Done, examples, loaded, timed, wholeNumber } from './command';

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
    .addHelpText('after', examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json'))
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
    .addHelpText('after', examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1'))
    .action(loaded(done, async () => (await import('../show/next.js')).next));
}
