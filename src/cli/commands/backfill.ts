import { type Command, Option } from 'commander';
import { BACKFILL_AT_MOST } from '../../core/backfill';
import { acting, type Done, examples, loaded, wholeNumber, withReason } from './command';

export function addBackfill(program: Command, done: Done): void {
  withReason(
    acting(
      program,
      'backfill',
      'run past due times again, one after another',
      'Lists the due times of a span with their outcomes, asks for confirmation, and runs them one after another, except those that have succeeded. New due times go first. Each run has its own record, and its handler gets the past due time.',
    ),
  )
    .option('--from <TIME>', "the oldest due time, or a time before it; without an offset, in the job's time zone")
    .option('--to <TIME>', 'the newest due time, or a time after it (default: now)')
    .addOption(
      new Option('--order <ORDER>', 'the due times that run first').choices(['oldest', 'newest']).default('oldest'),
    )
    .option('--limit <N>', 'run at most N due times, in that order', wholeNumber(1, BACKFILL_AT_MOST))
    .option('--include-succeeded', 'also run those that have succeeded')
    .option('--dry-run', 'list the due times without starting anything')
    .option('--yes', 'do not ask for confirmation')
    .addOption(new Option('--status', 'show the progress of the last back-fill').conflicts(['from', 'stop', 'dryRun']))
    .addOption(new Option('--stop', 'stop the back-fill; its run in progress continues').conflicts(['from', 'dryRun']))
    .option('--json', 'print {job, started, running, skipped, dueTimes}; with --status {job, backfill}')
    .addHelpText(
      'after',
      examples(
        'cronlease backfill nightly-report --from 2026-01-01 --to 2026-01-31 --dry-run',
        'cronlease backfill nightly-report --from 2026-01-01 --order newest --limit 10 --yes',
        'cronlease backfill nightly-report --status',
      ),
    )
    .action(loaded(done, async () => (await import('../run/backfill.js')).backfill));
}
