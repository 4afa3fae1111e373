import type { Command } from 'commander';
import type { FileOptions } from '../jobs-file';
import type { NextOptions } from '../show/next';
import { command, type Done, examples, timed, wholeNumber } from './command';

/** Commands that need no storage. */
export function addOffline(program: Command, done: Done): void {
  command(
    program,
    'validate',
    '',
    'check the jobs file',
    'Makes the checks that an app makes at its start, except those of its handlers, and prints every error at once.',
  )
    .option('--json', 'print {ok, errors, warnings, errorCount, warningCount}')
    .addHelpText('after', examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json'))
    .action(async (options: FileOptions) => done((await import('../setup/validate.js')).validate(options)));

  timed(
    program,
    'next',
    '[JOB]',
    'list the next due times',
    'Lists the next due times of a job, or of all jobs. A job with "spread" starts that much later.',
  )
    .argument('[JOB]', 'name of a job, or all (default: all)')
    .option('--tag <TAG>', 'the jobs with this tag')
    .option('--from <TIME>', 'list due times after this, which may be in the past (default: now)')
    .option('--count <N>', 'number of due times, 1 to 1000', wholeNumber(1, 1000), 5)
    .option('--json', 'print [{job, timeZone, dueTimes: [TIME, …]}]')
    .addHelpText('after', examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1'))
    .action(async (job: string | undefined, options: NextOptions) =>
      done((await import('../show/next.js')).next(job, options)),
    );
}
