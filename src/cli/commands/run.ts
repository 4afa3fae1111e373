import { Option } from 'commander';
import { BACKFILL_AT_MOST } from '../../core/backfill';
import { NO } from '../output';
import { acting, actingOnMany, type Command, command, stored, waiting, wholeNumber } from './command';

export function addRequests(program: Command): void {
  waiting(program, 'run', 'run a job now')
    .description(
      'Requests a run now, even if the job is paused or disabled. The schedule does not change. Refused for a leader job (@always), and during a run of a job whose "overlap" is "skip".',
    )
    .examples('cronlease run nightly-report', `cronlease run nightly-report --input '{"day": "2026-01-31"}' --follow`)
    .runs(async () => (await import('../run/run.js')).run);

  waiting(program, 'rerun', 'run an earlier due time again', 'JOB TIME')
    .description(
      'Requests another run for an earlier due time, regardless of its outcome. The handler gets that due time and, after a manual run, its input. The new run has its own record.',
    )
    .argument('<TIME>', 'a due time, or the time of a manual run, written as for "why"')
    .examples('cronlease rerun nightly-report 2026-03-29T01:00:00Z --wait')
    .runs(async () => (await import('../run/run.js')).rerun);

  acting(program, 'cancel', 'cancel the run in progress')
    .description(
      'Cancels the run in progress. Its holder aborts it at the next renewal of its lease, at most a third of the lease later.',
    )
    .withReason()
    .option('--json', 'print {job, runId, requestedAt}')
    .examples('cronlease cancel nightly-report --note "it reads the wrong table"')
    .runs(async () => (await import('../run/operate.js')).cancel);
}

export function addPauses(program: Command): void {
  actingOnMany(program, 'pause', 'pause jobs')
    .description(
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
    .runs(async () => (await import('../run/pause.js')).pause);

  actingOnMany(program, 'resume', 'end the pause of jobs')
    .description(
      'Ends the pause of jobs now. The due times of the pause do not run, and are recorded as paused. Lists several jobs and asks for confirmation.',
    )
    .withReason()
    .option('--json', 'print {job, by, note, since, until}; for several jobs [{…}, …]')
    .examples('cronlease resume nightly-report', 'cronlease resume --tag billing --yes')
    .runs(async () => (await import('../run/pause.js')).resume);
}

export function addAcknowledgements(program: Command): void {
  acting(program, 'ack', 'acknowledge the failures of a job')
    .description(
      'Acknowledges the failures of a job until its next success. Lists then show the job below the unacknowledged ones. Running it again replaces the note and the end.',
    )
    .option('--note <TEXT>', 'what you are doing about it, up to 200 characters, for others to read')
    .option('--until <TIME>', 'when it ends, even without a success: a time, or a duration from now such as 2h')
    .option('--by <NAME>', 'name of the person who takes care of it (default: your user name)')
    .option('--json', 'print {job, by, note, at, until}')
    .examples('cronlease ack nightly-report --note "the warehouse is being repaired" --until 8h')
    .runs(async () => (await import('../run/operate.js')).ack);

  acting(program, 'unack', 'remove the acknowledgement of a job')
    .description('Removes the acknowledgement of a job.')
    .withReason()
    .option('--json', 'print {job, by, note, at, until}')
    .examples('cronlease unack nightly-report')
    .runs(async () => (await import('../run/operate.js')).unack);
}

export function addBackfill(program: Command): void {
  acting(program, 'backfill', 'run past due times again, one after another')
    .description(
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
    .runs(async () => (await import('../run/backfill.js')).backfill);
}

export function addFleet(program: Command): void {
  const about = (name: string, summary: string): Command =>
    command(program, name, 'DEPLOYMENT', summary)
      .withTimes()
      .withStorage()
      .argument('<DEPLOYMENT>', 'name of a deployment, as "cronlease status" lists it');

  about('cordon', 'stop a deployment from claiming anything new')
    .description(
      'Cordons a deployment, which then only finishes what it runs, retries included. Takes effect within a sweep interval, and lasts until "cronlease uncordon".',
    )
    .requiredOption('--note <TEXT>', 'the reason, up to 200 characters, for others to read')
    .option('--by <NAME>', 'name of the person who cordons it (default: your user name)')
    .option('--json', 'print {deployment, by, note, since}')
    .examples('cronlease cordon cronlease-weu --note "a new disk"')
    .runs(async () => (await import('../run/operate.js')).cordon);

  about('uncordon', 'let a cordoned deployment claim again')
    .description('Uncordons a deployment, even one that no longer exists. Takes effect within a sweep interval.')
    .withReason()
    .option('--json', 'print {deployment, by, note, since}')
    .examples('cronlease uncordon cronlease-weu')
    .runs(async () => (await import('../run/operate.js')).uncordon);
}

/** Commands for when something has gone wrong, and for a deleted job. */
export function addMending(program: Command): void {
  stored(program, 'doctor', '', 'find problems that prevent jobs from running')
    .description(
      `Checks storage, rows, leases and deployments. Prints ok, warning or problem for each check, with the remedy. Exit code ${NO} if there is a problem; a warning does not change the exit code.`,
    )
    .option('--json', 'print {ok, problems, warnings, findings: [{check, status, subject, message, remedy}]}')
    .examples('cronlease doctor', 'cronlease doctor --file deploy/jobs.json --json')
    .runs(async () => (await import('../show/doctor.js')).doctor);

  acting(program, 'unlock', 'break the lease of a job')
    .description(
      "Breaks the lease of a job, so that it cannot be renewed. The holder finds out at its next renewal, and the run is retried elsewhere. Asks for the job's name first.",
    )
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {job, runId, holder, endsInMs}')
    .examples('cronlease unlock nightly-report')
    .runs(async () => (await import('../run/operate.js')).unlock);

  acting(program, 'forget', 'remove what remains of a deleted job')
    .description(
      'Forgets a job that was deleted from the jobs file. Its ledger and its token stay. A later job of the same name counts as new. Refused while the file contains the job, its lease is held, or its run is not over.',
    )
    .option('--end-run', 'record a run that is not over as cancelled')
    .option('--json', 'print {job, forgottenAt, already, endedRun, droppedNotices}')
    .examples('cronlease forget nightly-report')
    .runs(async () => (await import('../run/operate.js')).forget);
}

/** Commands that move jobs between stores. */
export function addMoves(program: Command): void {
  command(program, 'shards', '', 'distribute the jobs over storage accounts')
    .description(
      'Shows how the jobs are distributed over storage accounts. With --apply, announces the list in CRONLEASE_SHARDS in each account, so that no run begins, moves each job, and lets deployments with this list claim. If it is interrupted, run it again.',
    )
    .option('--apply', 'put the list in force (default: only show what would be done)')
    .option('--repair', 'replace a layout that something else wrote, if its earlier content is certain')
    .option('--leaving <NAME...>', 'settings with the connections of accounts that leave the list')
    .option('--wait <TIME>', 'twice the longest CRONLEASE_SWEEP_INTERVAL of a deployment', '2m')
    .option('--end-runs', 'record runs that are not over as cancelled (default: leave their jobs where they are)')
    .option('--container <NAME>', 'coordination container or schema (default: CRONLEASE_CONTAINER, or else cronlease)')
    .option(
      '--json',
      'print {settled, accounts: [{location, listed, jobs, layout}], moves: [{job, from, to}], problems}; with --apply {settled, moved, refused, version}; with --repair {repaired}',
    )
    .examples('cronlease shards', 'cronlease shards --leaving CRONLEASE_STORAGE_3 --apply')
    .runs(async () => (await import('../run/shards.js')).shards);

  command(program, 'migrate', '--from STORE --to STORE', 'move all jobs to another store')
    .description(
      'Moves all jobs from one store to another, with tokens, controls and ledger. With --apply, copies the ledger while jobs run, announces the move in both stores, so that no run begins, and moves each job. Deployments on the new store then claim. If it is interrupted, run it again.',
    )
    .requiredOption('--from <STORE>', 'connection of the old store, or the name of the setting that contains it')
    .requiredOption('--to <STORE>', 'the same for the new store')
    .option(
      '--from-container <NAME>',
      "the old store's container or schema (default: CRONLEASE_CONTAINER, or else cronlease)",
    )
    .option('--to-container <NAME>', 'the same for the new store')
    .option('--apply', 'move the jobs (default: only show what would be done)')
    .option('--wait <TIME>', 'twice the longest CRONLEASE_SWEEP_INTERVAL of a deployment', '2m')
    .option('--end-runs', 'record runs that are not over as cancelled (default: leave their jobs where they are)')
    .option(
      '--json',
      'print {settled, accounts: [{location, listed, jobs, layout}], moves: [{job, from, to}], problems}; with --apply {settled, moved, refused, version}',
    )
    .examples('cronlease migrate --from CRONLEASE_STORAGE --to DATABASE_URL')
    .runs(async () => (await import('../run/shards.js')).migrate);
}

export function addRecover(program: Command): void {
  stored(program, 'recover', '--after-failover', 'repair the jobs after a storage failover')
    .description(
      'Repairs the jobs after an asynchronous storage failover, which may leave rows older than the work that was done. Raises every token and cursor, and settles the rows by the ledger. Writes nothing without --apply. Stop all deployments first.',
    )
    .requiredOption('--after-failover', 'confirm that the storage has failed over')
    .option('--apply', 'write the changes (default: only print them)')
    .option('--yes', 'the same as --apply')
    .option('--until <TIME>', 'treat everything due before TIME (UTC by default) as possibly run (default: now)')
    .option('--raise-by <N>', 'raise tokens by N, 1 to 999999999', wholeNumber(1, 999_999_999), 1_000_000)
    .option('--rerun', 'retry an interrupted run even if its attempts are used up')
    .option('--fail', 'end an interrupted run as failed (default: retry it while it has attempts left)')
    .option(
      '--json',
      'print {applied, until, jobs: [{job, token, cursor, run, dueTimes, manualRuns, abandoned}], elections: [{election, token}]}',
    )
    .examples(
      'cronlease recover --after-failover',
      'cronlease recover --after-failover --until 2026-11-21T17:40:00Z --apply',
    )
    .runs(async () => (await import('../run/recover.js')).recover);
}
