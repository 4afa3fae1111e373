import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { formatDuration, parseDuration } from '../../core/duration';
import type { CostOptions } from '../cost';
import type { FileOptions } from '../jobs-file';
import type { NextOptions } from '../next';
import type { Done } from './command';
import { command, examples, timed, wholeNumber } from './command';

const LONGEST_RUN_MS = 86_400_000;

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
    .action(async (options: FileOptions) => done((await import('../validate.js')).validate(options)));

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
    .option('--json', 'print [{job, timeZone, occurrences: [TIME, …]}]')
    .addHelpText('after', examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1'))
    .action(async (job: string | undefined, options: NextOptions) =>
      done((await import('../next.js')).next(job, options)),
    );

  command(
    program,
    'cost',
    '',
    'estimate what the jobs cost a month on Azure',
    'Multiplies the due times of 30 days by the counted storage calls and executions of a run, adds what the jobs share, and prices it. The worst job comes first.',
  )
    .option('--against <REF>', 'print the difference to the file at this git revision')
    .option('--deployments <N>', 'number of function apps with these jobs, 1 to 100', wholeNumber(1, 100), 1)
    .option('--memory <MB>', 'memory of an instance, 512 to 4096', wholeNumber(512, 4096), 2048)
    .option('--always-ready <N>', 'always-ready instances of each app, 0 to 100', wholeNumber(0, 100), 1)
    .option('--duration <DURATION>', 'how long a handler runs (default: 1s)', duration)
    .option('--items <JOB=N...>', 'this job fans out into N items')
    .option('--prices <FILE>', 'prices instead of those of the package, which are not checked (its prices.json)')
    .option(
      '--json',
      'print {prices, assumptions, total, storageCalls, jobsCost, jobs, shared}; with --against {before, after}',
    )
    .addHelpText(
      'after',
      examples('cronlease cost', 'cronlease cost --deployments 2 --memory 512', 'cronlease cost --against main'),
    )
    .action(async (options: CostOptions) => done((await import('../cost.js')).cost(options)));
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= LONGEST_RUN_MS) return ms;
  throw new InvalidArgumentError(`It must be a duration such as 30s or 5m, up to ${formatDuration(LONGEST_RUN_MS)}.`);
}
