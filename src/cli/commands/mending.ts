import { NO } from '../output';
import { acting, type Command, type Done, loaded, timed, wholeNumber } from './command';

/** Commands for when something has gone wrong, and for a deleted job. */
export function addMending(program: Command, done: Done): void {
  timed(
    program,
    'doctor',
    '',
    'find problems that prevent jobs from running',
    `Checks storage, rows, leases and deployments. Prints ok, warning or problem for each check, with the remedy. Exit code ${NO} if there is a problem; a warning does not change the exit code.`,
  )
    .withStorage()
    .option('--json', 'print {ok, problems, warnings, findings: [{check, status, subject, message, remedy}]}')
    .examples('cronlease doctor', 'cronlease doctor --file deploy/jobs.json --json')
    .action(loaded(done, async () => (await import('../show/doctor.js')).doctor));

  acting(
    program,
    'unlock',
    'break the lease of a job',
    "Breaks the lease of a job, so that it cannot be renewed. The holder finds out at its next renewal, and the run is retried elsewhere. Asks for the job's name first.",
  )
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {job, runId, holder, endsInMs}')
    .examples('cronlease unlock nightly-report')
    .action(loaded(done, async () => (await import('../run/unlock.js')).unlock));

  acting(
    program,
    'forget',
    'remove what remains of a deleted job',
    'Forgets a job that was deleted from the jobs file. Its ledger and its token stay. A later job of the same name counts as new. Refused while the file contains the job, its lease is held, or its run is not over.',
  )
    .option('--end-run', 'record a run that is not over as cancelled')
    .option('--json', 'print {job, forgottenAt, already, endedRun, droppedNotices}')
    .examples('cronlease forget nightly-report')
    .action(loaded(done, async () => (await import('../run/forget.js')).forget));
}

export function addShards(program: Command, done: Done): void {
  program
    .command('shards')
    .usage('[options]')
    .summary('distribute the jobs over storage accounts')
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
    .action(loaded(done, async () => (await import('../run/shards.js')).shards));
}

export function addMigrate(program: Command, done: Done): void {
  program
    .command('migrate')
    .usage('--from STORE --to STORE [options]')
    .summary('move all jobs to another store')
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
    .action(loaded(done, async () => (await import('../run/migrate.js')).migrate));
}

export function addRecover(program: Command, done: Done): void {
  timed(
    program,
    'recover',
    '--after-failover',
    'repair the jobs after a storage failover',
    'Repairs the jobs after an asynchronous storage failover, which may leave rows older than the work that was done. Raises every token and cursor, and settles the rows by the ledger. Writes nothing without --apply. Stop all deployments first.',
  )
    .withStorage()
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
    .action(loaded(done, async () => (await import('../run/recover.js')).recover));
}
