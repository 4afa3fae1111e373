import { Option } from 'commander';
import { BACKFILL_AT_MOST } from '../../core/backfill';
import { acting, actingOnMany, type Command, type Done, loaded, waiting, wholeNumber } from './command';

export function addRequests(program: Command, done: Done): void {
  waiting(
    program,
    'run',
    'run a job now',
    'Requests a run now, even if the job is paused or disabled. The schedule does not change. Refused for a leader job (@always), and during a run of a job whose "overlap" is "skip".',
  )
    .examples('cronlease run nightly-report', `cronlease run nightly-report --input '{"day": "2026-01-31"}' --follow`)
    .action(loaded(done, async () => (await import('../run/run.js')).run));

  waiting(
    program,
    'rerun',
    'run an earlier due time again',
    'Requests another run for an earlier due time, regardless of its outcome. The handler gets that due time and, after a manual run, its input. The new run has its own record.',
    'JOB TIME',
  )
    .argument('<TIME>', 'a due time, or the time of a manual run, written as for "why"')
    .examples('cronlease rerun nightly-report 2026-03-29T01:00:00Z --wait')
    .action(loaded(done, async () => (await import('../run/run.js')).rerun));

  acting(
    program,
    'cancel',
    'cancel the run in progress',
    'Cancels the run in progress. Its holder aborts it at the next renewal of its lease, at most a third of the lease later.',
  )
    .withReason()
    .option('--json', 'print {job, runId, requestedAt}')
    .examples('cronlease cancel nightly-report --note "it reads the wrong table"')
    .action(loaded(done, async () => (await import('../run/operate.js')).cancel));
}

export function addPauses(program: Command, done: Done): void {
  actingOnMany(
    program,
    'pause',
    'pause jobs',
    'Pauses jobs on all deployments: their due times no longer run. A run in progress continues, and "cronlease run" still works. Lists several jobs and asks for confirmation.',
  )
    .requiredOption('--note <TEXT>', 'the reason, up to 200 characters, for others to read')
    .option('--until <TIME>', 'when the pause ends by itself: a time, or a duration from now such as 2h')
    .option('--by <NAME>', 'name of the person who pauses them (default: your user name)')
    .option('--json', 'print {job, by, note, since, until}; for several jobs [{…}, …]')
    .examples(
      'cronlease pause nightly-report --note "the warehouse is being moved"',
      'cronlease pause "report-*" --note "no reports on holidays" --until 2026-12-27',
    )
    .action(loaded(done, async () => (await import('../run/pause.js')).pause));

  actingOnMany(
    program,
    'resume',
    'end the pause of jobs',
    'Ends the pause of jobs now. The due times of the pause do not run, and are recorded as paused. Lists several jobs and asks for confirmation.',
  )
    .withReason()
    .option('--json', 'print {job, by, note, since, until}; for several jobs [{…}, …]')
    .examples('cronlease resume nightly-report', 'cronlease resume --tag billing --yes')
    .action(loaded(done, async () => (await import('../run/pause.js')).resume));
}

export function addAcknowledgements(program: Command, done: Done): void {
  acting(
    program,
    'ack',
    'acknowledge the failures of a job',
    'Acknowledges the failures of a job until its next success. Lists then show the job below the unacknowledged ones. Running it again replaces the note and the end.',
  )
    .option('--note <TEXT>', 'what you are doing about it, up to 200 characters, for others to read')
    .option('--until <TIME>', 'when it ends, even without a success: a time, or a duration from now such as 2h')
    .option('--by <NAME>', 'name of the person who takes care of it (default: your user name)')
    .option('--json', 'print {job, by, note, at, until}')
    .examples('cronlease ack nightly-report --note "the warehouse is being repaired" --until 8h')
    .action(loaded(done, async () => (await import('../run/operate.js')).ack));

  acting(program, 'unack', 'remove the acknowledgement of a job', 'Removes the acknowledgement of a job.')
    .withReason()
    .option('--json', 'print {job, by, note, at, until}')
    .examples('cronlease unack nightly-report')
    .action(loaded(done, async () => (await import('../run/operate.js')).unack));
}

export function addBackfill(program: Command, done: Done): void {
  acting(
    program,
    'backfill',
    'run past due times again, one after another',
    'Lists the due times of a span with their outcomes, asks for confirmation, and runs them one after another, except those that have succeeded. New due times go first. Each run has its own record, and its handler gets the past due time.',
  )
    .withReason()
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
    .examples(
      'cronlease backfill nightly-report --from 2026-01-01 --to 2026-01-31 --dry-run',
      'cronlease backfill nightly-report --from 2026-01-01 --order newest --limit 10 --yes',
      'cronlease backfill nightly-report --status',
    )
    .action(loaded(done, async () => (await import('../run/backfill.js')).backfill));
}

export function addFleet(program: Command, done: Done): void {
  const about = (name: string, summary: string, description: string): Command =>
    program
      .command(name)
      .withTimes()
      .withStorage()
      .usage('DEPLOYMENT [options]')
      .summary(summary)
      .description(description)
      .argument('<DEPLOYMENT>', 'name of a deployment, as "cronlease status" lists it');

  about(
    'cordon',
    'stop a deployment from claiming anything new',
    'Cordons a deployment, which then only finishes what it runs, retries included. Takes effect within a sweep interval, and lasts until "cronlease uncordon".',
  )
    .requiredOption('--note <TEXT>', 'the reason, up to 200 characters, for others to read')
    .option('--by <NAME>', 'name of the person who cordons it (default: your user name)')
    .option('--json', 'print {deployment, by, note, since}')
    .examples('cronlease cordon cronlease-weu --note "a new disk"')
    .action(loaded(done, async () => (await import('../run/operate.js')).cordon));

  about(
    'uncordon',
    'let a cordoned deployment claim again',
    'Uncordons a deployment, even one that no longer exists. Takes effect within a sweep interval.',
  )
    .withReason()
    .option('--json', 'print {deployment, by, note, since}')
    .examples('cronlease uncordon cronlease-weu')
    .action(loaded(done, async () => (await import('../run/operate.js')).uncordon));
}
