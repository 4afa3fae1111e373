import type { Command } from 'commander';
import { acting, actingOnMany, type Done, examples, loaded, waiting, withReason } from './command';

export function addRequests(program: Command, done: Done): void {
  waiting(
    program,
    'run',
    'run a job now',
    'Requests a run now, even if the job is paused or disabled. The schedule does not change. Refused for a leader job (@always), and during a run of a job whose "overlap" is "skip".',
  )
    .addHelpText(
      'after',
      examples('cronlease run nightly-report', `cronlease run nightly-report --input '{"day": "2026-01-31"}' --follow`),
    )
    .action(loaded(done, async () => (await import('../run/run.js')).run));

  waiting(
    program,
    'rerun',
    'run an earlier due time again',
    'Requests another run for an earlier due time, regardless of its outcome. The handler gets that due time and, after a manual run, its input. The new run has its own record.',
    'JOB TIME',
  )
    .argument('<TIME>', 'a due time, or the time of a manual run, written as for "why"')
    .addHelpText('after', examples('cronlease rerun nightly-report 2026-03-29T01:00:00Z --wait'))
    .action(loaded(done, async () => (await import('../run/run.js')).rerun));

  withReason(
    acting(
      program,
      'cancel',
      'cancel the run in progress',
      'Cancels the run in progress. Its holder aborts it at the next renewal of its lease, at most a third of the lease later.',
    ),
  )
    .option('--json', 'print {job, runId, requestedAt}')
    .addHelpText('after', examples('cronlease cancel nightly-report --note "it reads the wrong table"'))
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
    .addHelpText(
      'after',
      examples(
        'cronlease pause nightly-report --note "the warehouse is being moved"',
        'cronlease pause "report-*" --note "no reports on holidays" --until 2026-12-27',
      ),
    )
    .action(loaded(done, async () => (await import('../run/pause.js')).pause));

  withReason(
    actingOnMany(
      program,
      'resume',
      'end the pause of jobs',
      'Ends the pause of jobs now. The due times of the pause do not run, and are recorded as paused. Lists several jobs and asks for confirmation.',
    ),
  )
    .option('--json', 'print {job, by, note, since, until}; for several jobs [{…}, …]')
    .addHelpText('after', examples('cronlease resume nightly-report', 'cronlease resume --tag billing --yes'))
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
    .addHelpText('after', examples('cronlease ack nightly-report --note "the warehouse is being repaired" --until 8h'))
    .action(loaded(done, async () => (await import('../run/ack.js')).ack));

  withReason(acting(program, 'unack', 'remove the acknowledgement of a job', 'Removes the acknowledgement of a job.'))
    .option('--json', 'print {job, by, note, at, until}')
    .addHelpText('after', examples('cronlease unack nightly-report'))
    .action(loaded(done, async () => (await import('../run/ack.js')).unack));
}
