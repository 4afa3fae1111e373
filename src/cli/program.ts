import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { RUN_FATES, UNRUN_FATES } from '../core/fate';
import { VERSION } from '../version';
import type { AckOptions } from './ack';
import type { CordonOptions, UncordonOptions } from './cordon';
import type { DevArguments } from './dev';
import type { DoctorOptions } from './doctor';
import type { DrillArguments } from './drill';
import type { ForgetOptions } from './forget';
import type { FileOptions } from './jobs-file';
import type { LogsOptions } from './logs';
import type { NextOptions } from './next';
import type { ManyOptions } from './act-on-jobs';
import type { OperateOptions } from './operate';
import { EXIT_CODES, NO, UNSUCCESSFUL } from './output';
import type { PauseOptions } from './pause';
import type { RecoverOptions } from './recover';
import type { RunOptions } from './run';
import type { RunsOptions } from './runs';
import type { StatusOptions } from './status';
import type { UnlockOptions } from './unlock';
import type { WhyOptions } from './why';

/** Where the exit code of the command goes. */
type Done = (code: number) => void;

const MAIN_HELP = `
Examples:
  cronlease dev                                run this folder's jobs locally
  cronlease status --watch                     what they do, live
  cronlease next nightly-report --count 3      its next three due times
  cronlease why nightly-report 2026-03-29T02:30:00+01:00
                                               the outcome of that due time

Storage, the first of these that is set:
  1. --storage: a connection string, or https://ACCOUNT.blob.core.windows.net
     if you are signed in with "az login"
  2. CRONLEASE_STORAGE (a connection string) or
     CRONLEASE_STORAGE__blobServiceUri (a URL, for an identity)
  3. the storage of "cronlease dev", while it runs in the current folder
Container: --container, or else CRONLEASE_CONTAINER, or else "cronlease".
The commands do not read local.settings.json.

With --json, standard output is one JSON document. A command that fails prints
{"error": {"code", "message"}}.

Exit codes:
${EXIT_CODES.map(({ code, meaning }) => `  ${code}  ${meaning}`).join('\n')}`;

/** The commands. Each loads its modules only when it runs, so that the help appears at once. */
export function createProgram(done: Done): Command {
  const program = new Command('cronlease')
    .description('Scheduled jobs on Azure Functions: every due time runs once, and a ledger keeps its outcome.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [COMMAND]', 'print help for a command')
    .usage('COMMAND [options]')
    .showHelpAfterError('(see --help)')
    .configureHelp({
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`.replace(/ \[options\]$/, ''),
    })
    .addHelpText('after', MAIN_HELP)
    .exitOverride();
  addReading(program, done);
  addStatus(program, done);
  addHistory(program, done);
  addLogs(program, done);
  addRequests(program, done);
  addPauses(program, done);
  addAcknowledgements(program, done);
  addFleet(program, done);
  addMending(program, done);
  addRecover(program, done);
  addDev(program, done);
  addDrill(program, done);
  addCompletion(program, done);
  return program;
}

/** Commands that need no storage. */
function addReading(program: Command, done: Done): void {
  command(
    program,
    'validate',
    '',
    'check the jobs file',
    "Makes all checks of an app's start, except for the handlers, and prints every error at once.",
  )
    .option('--json', 'print {ok, errors, warnings, errorCount, warningCount}')
    .addHelpText('after', examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json'))
    .action(async (options: FileOptions) => done((await import('./validate.js')).validate(options)));

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
      done((await import('./next.js')).next(job, options)),
    );
}

function addStatus(program: Command, done: Done): void {
  withStorage(
    timed(
      program,
      'status',
      '[JOB…]',
      'show the state of all jobs and deployments, the worst first',
      `Shows the state of jobs and deployments by two listings: jobs that need a person come first. With --failed, the exit code is ${NO} if a job is listed.`,
    ),
  )
    .argument('[JOB...]', 'names of jobs, or patterns such as "report-*" (default: all)')
    .option('--tag <TAG>', 'the jobs with this tag')
    .option(
      '--failed',
      'the jobs that are overdue, quarantined, or whose last run did not succeed, without acknowledged ones',
    )
    .option('--watch', 'follow the state until q or Ctrl+C; where there is no terminal, print it at each change')
    .option('--json', 'print {now, jobs, deployments, maintenance, problems}')
    .addHelpText('after', examples('cronlease status', 'cronlease status --watch --tag billing'))
    .action(async (jobs: string[], options: StatusOptions) =>
      done(await (await import('./status.js')).status(jobs, options)),
    );
}

/** Commands that read the ledger. */
function addHistory(program: Command, done: Done): void {
  withStorage(
    timed(
      program,
      'runs',
      '[JOB]',
      'list runs, newest first',
      'Lists runs in progress and the ledger with the outcome of each due time, newest first, in pages.',
    ),
  )
    .argument('[JOB]', 'name of a job (default: all)')
    .option('--tag <TAG>', 'the jobs with this tag')
    .addOption(new Option('--failed', 'those that failed, timed out or stalled').conflicts('outcome'))
    .addOption(
      new Option('--outcome <OUTCOMES>', 'those with this outcome, or with one of several: failed,expired')
        .choices(OUTCOMES)
        .argParser(outcomes),
    )
    .option('--since <TIME>', 'those due at TIME or later; also how long ago, such as 2h')
    .option('--until <TIME>', 'those due before TIME; also how long ago, such as 2h')
    .option('--limit <N>', 'number of records, 1 to 1000', wholeNumber(1, 1000), 20)
    .option('--cursor <CURSOR>', 'continue where a page ended, with the same options')
    .option('--json', 'print {runs: [ledger record, …], cursor}')
    .addHelpText(
      'after',
      examples(
        'cronlease runs',
        'cronlease runs --failed --since 12h',
        'cronlease runs nightly-report --limit 100 --json',
      ),
    )
    .action(async (job: string | undefined, options: RunsOptions) =>
      done(await (await import('./runs.js')).runs(job, options)),
    );

  withStorage(
    timed(
      program,
      'why',
      'JOB TIME',
      'explain the outcome of a due time',
      'Explains the outcome of a due time, past or future, from the ledger, the row and the schedule.',
    ),
  )
    .argument('<JOB>', 'name of a job')
    .argument('<TIME>', "a due time in ISO 8601: with Z or an offset, or else in the job's time zone")
    .option('--verbose', 'print tokens and whole stack traces too')
    .option('--json', 'print {job, time, due, outcome, reason, record}')
    .addHelpText(
      'after',
      examples('cronlease why nightly-report 2026-03-29T03:00:00Z', 'cronlease why nightly-report 2026-03-29T02:30'),
    )
    .action(async (job: string, time: string, options: WhyOptions) =>
      done(await (await import('./why.js')).why(job, time, options)),
    );
}

/** The command that reads what handlers said. */
function addLogs(program: Command, done: Done): void {
  withStorage(
    timed(
      program,
      'logs',
      'JOB [TIME]',
      'print what the handler of a run said',
      "Prints the log of a run, over all its attempts: the handler's lines and its progress. With --follow it prints new lines as they come, until the run ends, whatever its outcome.",
    ),
  )
    .argument('<JOB>', 'name of a job')
    .argument('[TIME]', 'due time of the run, as for "why" (default: the current run, or else the last one)')
    .option('--follow', 'print new lines until the run ends')
    .option('--item <N>', 'what one item of a fan-out said, by its index from 0', wholeNumber(0, 999_999))
    .option('--json', 'print {job, runId, ended, progress, entries}; with --follow, a line of JSON for each entry')
    .addHelpText(
      'after',
      examples('cronlease logs nightly-report --follow', 'cronlease logs nightly-report 2026-03-29T03:00:00Z'),
    )
    .action(async (job: string, time: string | undefined, options: LogsOptions) =>
      done(await (await import('./logs.js')).logs(job, time, options)),
    );
}

/** Commands that write requests. */
function addRequests(program: Command, done: Done): void {
  const load = () => import('./operate.js');

  waiting(
    program,
    'run',
    'run a job now',
    'Requests a run now, also of a job that is paused or disabled. The schedule stays as it is. Refused for a leader job (@always), and during a run of a job whose "overlap" is "skip".',
  )
    .addHelpText(
      'after',
      examples('cronlease run nightly-report', `cronlease run nightly-report --input '{"day": "2026-01-31"}' --follow`),
    )
    .action(async (job: string, options: RunOptions) => done(await (await import('./run.js')).run(job, options)));

  waiting(
    program,
    'rerun',
    'run an earlier due time again',
    'Requests a run whose handler gets an earlier due time as its own, whatever became of that one. The new run has a record of its own, and the input of the earlier request if that had one.',
    'JOB TIME',
  )
    .argument('<TIME>', "a due time, or the time of a request, in ISO 8601; without an offset in the job's time zone")
    .addHelpText('after', examples('cronlease rerun nightly-report 2026-03-29T01:00:00Z --wait'))
    .action(async (job: string, time: string, options: RunOptions) =>
      done(await (await import('./run.js')).rerun(job, time, options)),
    );

  acting(
    program,
    'cancel',
    'cancel the run in progress',
    'Cancels the run in progress. Its holder aborts it at the next renewal of its lease, at most a third of the lease later.',
  )
    .option('--json', 'print {job, runId, requestedAt}')
    .addHelpText('after', examples('cronlease cancel nightly-report'))
    .action(async (job: string, options: OperateOptions) => done(await (await load()).cancel(job, options)));
}

function addPauses(program: Command, done: Done): void {
  actingOnMany(
    program,
    'pause',
    'pause jobs',
    'Pauses jobs on all deployments: their due times no longer run. A run in progress continues, and "cronlease run" still works. Lists several jobs and asks before it pauses them.',
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
    .action(async (jobs: string[], options: PauseOptions) =>
      done(await (await import('./pause.js')).pause(jobs, options)),
    );

  actingOnMany(
    program,
    'resume',
    'end the pause of jobs',
    'Ends the pause of jobs now. The due times of the pause do not run, and are recorded as paused. Lists several jobs and asks before it resumes them.',
  )
    .option('--json', 'print {job, by, note, since, until}; for several jobs [{…}, …]')
    .addHelpText('after', examples('cronlease resume nightly-report', 'cronlease resume --tag billing --yes'))
    .action(async (jobs: string[], options: ManyOptions) =>
      done(await (await import('./pause.js')).resume(jobs, options)),
    );
}

function addAcknowledgements(program: Command, done: Done): void {
  acting(
    program,
    'ack',
    'acknowledge the failures of a job',
    'Acknowledges the failures of a job until its next success: "cronlease status" then lists the job below those that nobody looks after. A later failure after a success is not acknowledged. Used again, it replaces the note and the end.',
  )
    .option('--note <TEXT>', 'what you do about it, up to 200 characters, for others to read')
    .option('--until <TIME>', 'when it ends, success or not: a time, or a duration from now such as 2h')
    .option('--by <NAME>', 'name of the person who looks after it (default: your user name)')
    .option('--json', 'print {job, by, note, at, until}')
    .addHelpText('after', examples('cronlease ack nightly-report --note "the warehouse is being mended" --until 8h'))
    .action(async (job: string, options: AckOptions) => done(await (await import('./ack.js')).ack(job, options)));

  acting(
    program,
    'unack',
    'remove the acknowledgement of a job',
    'Removes the acknowledgement of a job, which then counts as one that nobody looks after.',
  )
    .option('--json', 'print {job, by, note, at, until}')
    .addHelpText('after', examples('cronlease unack nightly-report'))
    .action(async (job: string, options: OperateOptions) => done(await (await import('./ack.js')).unack(job, options)));
}

/** Commands about deployments. */
function addFleet(program: Command, done: Done): void {
  const about = (name: string, summary: string, description: string): Command =>
    withStorage(withTimes(program.command(name)))
      .usage('DEPLOYMENT [options]')
      .summary(summary)
      .description(description)
      .argument('<DEPLOYMENT>', 'name of a deployment, as "cronlease status" lists it');

  about(
    'cordon',
    'keep a deployment from claiming anything new',
    'Cordons a deployment: it finishes what it runs, retries included, and leaves all other due times to the others. Takes effect within a sweep interval, and lasts until "cronlease uncordon".',
  )
    .requiredOption('--note <TEXT>', 'the reason, up to 200 characters, for others to read')
    .option('--by <NAME>', 'name of the person who cordons it (default: your user name)')
    .option('--json', 'print {deployment, by, note, since}')
    .addHelpText('after', examples('cronlease cordon cronlease-weu --note "a new disk"'))
    .action(async (deployment: string, options: CordonOptions) =>
      done(await (await import('./cordon.js')).cordon(deployment, options)),
    );

  about(
    'uncordon',
    'let a cordoned deployment claim again',
    'Lifts the cordon of a deployment, also of one that no longer exists. Takes effect within a sweep interval.',
  )
    .option('--json', 'print {deployment, by, note, since}')
    .addHelpText('after', examples('cronlease uncordon cronlease-weu'))
    .action(async (deployment: string, options: UncordonOptions) =>
      done(await (await import('./cordon.js')).uncordon(deployment, options)),
    );
}

/** Commands for when something has gone wrong, and for a deleted job. */
function addMending(program: Command, done: Done): void {
  withStorage(
    timed(
      program,
      'doctor',
      '',
      'find problems that keep jobs from running',
      `Checks storage, rows, leases and deployments. Prints ok, warning or problem for each check, with the remedy. Exit code ${NO} if there is a problem; a warning does not change the exit code.`,
    ),
  )
    .option('--json', 'print {ok, problems, warnings, findings: [{check, status, subject, message, remedy}]}')
    .addHelpText('after', examples('cronlease doctor', 'cronlease doctor --file deploy/jobs.json --json'))
    .action(async (options: DoctorOptions) => done(await (await import('./doctor.js')).doctor(options)));

  acting(
    program,
    'unlock',
    'break the lease of a job',
    "Breaks the lease of a job, so that it cannot be renewed. The holder finds out at its next renewal, and the run is retried elsewhere. Asks for the job's name first.",
  )
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {job, runId, holder, endsInMs}')
    .addHelpText('after', examples('cronlease unlock nightly-report'))
    .action(async (job: string, options: UnlockOptions) =>
      done(await (await import('./unlock.js')).unlock(job, options)),
    );

  acting(
    program,
    'forget',
    'remove what remains of a job that was deleted from jobs.json',
    'Forgets a job that was deleted from the jobs file. Its ledger and its token stay. A later job of the same name counts as a new one. Refused while the file has the job, its lease is held, or its run is not over.',
  )
    .option('--end-run', 'record a run that is not over as cancelled')
    .option('--json', 'print {job, forgottenAt, already, endedRun}')
    .addHelpText('after', examples('cronlease forget nightly-report'))
    .action(async (job: string, options: ForgetOptions) =>
      done(await (await import('./forget.js')).forget(job, options)),
    );
}

function addRecover(program: Command, done: Done): void {
  withStorage(
    timed(
      program,
      'recover',
      '--after-failover',
      'repair the jobs after a failover of their storage account',
      'Repairs the jobs after an asynchronous failover of the storage account, when rows may be older than the work that was done. Raises every token and cursor, and settles the rows by the ledger. Writes nothing without --apply. No deployment may run meanwhile.',
    ),
  )
    .requiredOption('--after-failover', 'confirm that the storage account has failed over')
    .option('--apply', 'write the changes (default: only print them)')
    .option('--yes', 'the same as --apply')
    .option('--until <TIME>', 'treat everything due before TIME (UTC by default) as possibly run (default: now)')
    .option('--raise-by <N>', 'raise tokens by N, 1 to 999999999', wholeNumber(1, 999_999_999), 1_000_000)
    .option('--rerun', 'retry an interrupted run even if its attempts are used up')
    .option('--fail', 'end an interrupted run as failed (default: retry it while it has attempts left)')
    .option(
      '--json',
      'print {applied, until, jobs: [{job, token, cursor, run, dueTimes, requests, abandoned}], elections: [{election, token}]}',
    )
    .addHelpText(
      'after',
      examples(
        'cronlease recover --after-failover',
        'cronlease recover --after-failover --until 2026-11-21T17:40:00Z --apply',
      ),
    )
    .action(async (options: RecoverOptions) => done(await (await import('./recover.js')).recover(options)));
}

function addDev(program: Command, done: Done): void {
  withTimes(program.command('dev'))
    .usage('[options]')
    .summary('run the jobs of an app on this machine')
    .description(
      'Runs an app on this machine as several deployments that race for its jobs, with a storage emulator, until Ctrl+C. Restarts them when the jobs, the built code or the settings change.',
    )
    .option('--app <DIR>', 'folder of an app whose package.json "main" registers a coordinator (default: this one)')
    .option('--file <PATH>', "the app's jobs file (default: jobs.json in its folder)")
    .option('--more-jobs <PATH>', 'run the jobs of this file too')
    .option('--instances <N>', 'number of deployments, 1 to 20', wholeNumber(1, 20), 3)
    .option('--port <N>', 'port of the first one, others count up; 0: any free ports', wholeNumber(0, 65_535), 7071)
    .option('--storage <WHERE>', '"embedded", or a connection string', 'embedded')
    .option('--container <NAME>', 'coordination container (default: CRONLEASE_CONTAINER, or else cronlease)')
    .option('--data <DIR>', 'folder for the data of the embedded storage (default: in memory)')
    .option('--samples <DIR>', 'upload the files of this folder to the container of its name')
    .option('--duration <SPAN>', 'stop after this long, such as 30s')
    .option('--no-restart', 'do not restart an instance that has ended')
    .option('--strict', 'refuse an app with a function that cannot run here (default: skip that function)')
    .option('--inspect', 'let a debugger attach to each instance')
    .option('--verbose', 'print claims, tokens, first attempts and whole stack traces too')
    .option('--json', 'print JSON lines, the first one "ready"')
    .addHelpText('after', examples('cronlease dev', 'cronlease dev --instances 5 --port 0 --data .data'))
    .action(async (options: DevArguments) => done(await (await import('./dev.js')).dev(options)));
}

function addDrill(program: Command, done: Done): void {
  program
    .command('drill')
    .usage('[options]')
    .summary('test fail-over on this machine, and write a report')
    .description(
      `Starts deployments on this machine with storage of their own, kills the one that runs a job, waits until another has done its work, restarts it, and writes a report. Runs none of your jobs without --with-jobs. Takes about two minutes. Exit code ${NO} when a target was missed.`,
    )
    .option('--report <FILE>', 'file of the report; an older one is replaced', 'drill-report.md')
    .option('--instances <N>', 'number of deployments, 2 to 20', wholeNumber(2, 20), 3)
    .option('--target <SPAN>', 'longest time for the take-over (default: the longest lease, a tick and 2s)')
    .option('--with-jobs', 'run the jobs of an app instead, with the real effects of its handlers')
    .option('--app <DIR>', 'with --with-jobs: folder of that app (default: this one)')
    .option('--file <PATH>', 'with --with-jobs: its jobs file (default: jobs.json in that folder)')
    .option('--wait <SPAN>', 'longest wait for a run to interrupt, and for its end', '2m')
    .option('--json', 'print {ok, checks, interrupted, jobs, duplicates, losses, steps, …}')
    .addHelpText('after', examples('cronlease drill', 'cronlease drill --with-jobs --report audit/2026-11.md'))
    .action(async (options: DrillArguments) => done(await (await import('./drill.js')).drill(options)));
}

function addCompletion(program: Command, done: Done): void {
  program
    .command('completion')
    .usage('bash|zsh|fish')
    .summary('print a script that completes commands, options and job names')
    .description(
      'Prints a script for a shell. It completes commands, options, and the names and tags of the jobs file. It makes no call to storage.',
    )
    .addArgument(new Argument('<SHELL>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        'source <(cronlease completion bash)',
        'source <(cronlease completion zsh)',
        'cronlease completion fish > ~/.config/fish/completions/cronlease.fish',
      ),
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => done((await import('./completion.js')).completion(shell)));

  program
    .command('__complete', { hidden: true })
    .argument('[WORDS...]')
    .action(async (words: string[]) => done((await import('./completion.js')).complete(program, words)));
}

function command(program: Command, name: string, usage: string, summary: string, description: string): Command {
  return program
    .command(name)
    .usage(`${usage} [options]`.trim())
    .summary(summary)
    .description(description)
    .option('--file <PATH>', 'the jobs file (default: jobs.json)');
}

/** As {@link command}, for one that prints times. */
function timed(...parameters: Parameters<typeof command>): Command {
  return withTimes(command(...parameters));
}

function acting(program: Command, name: string, summary: string, description: string): Command {
  return withStorage(timed(program, name, 'JOB', summary, description)).argument('<JOB>', 'name of a job');
}

/** A command that requests a run and may wait for its end. */
function waiting(program: Command, name: string, summary: string, description: string, usage = 'JOB'): Command {
  return withStorage(timed(program, name, usage, summary, description))
    .argument('<JOB>', 'name of a job')
    .option('--input <JSON>', "an input for this run, up to 32 KB, instead of the job's own")
    .option('--wait', `wait until the run is over; exit code ${UNSUCCESSFUL} if it did not succeed`)
    .addOption(new Option('--follow', 'as --wait, and print what the handler says').conflicts('json'))
    .option('--json', 'print {job, runId, requestedAt}; with --wait also outcome, reason and record');
}

function actingOnMany(program: Command, name: string, summary: string, description: string): Command {
  return withStorage(timed(program, name, 'JOB…', summary, description))
    .argument('[JOB...]', 'names of jobs, or patterns such as "report-*"')
    .option('--tag <TAG>', 'instead of JOB: the jobs with this tag')
    .option('--yes', 'do not ask for confirmation');
}

function withTimes(to: Command): Command {
  return to
    .addOption(new Option('--utc', 'print times in UTC (the default)').conflicts('local'))
    .addOption(new Option('--local', "print times in this machine's time zone"));
}

function withStorage(to: Command): Command {
  return to
    .option('--storage <WHERE>', 'connection string, or URL of a blob service (default: see cronlease --help)')
    .option('--container <NAME>', 'coordination container (default: CRONLEASE_CONTAINER, or else cronlease)');
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

const OUTCOMES: readonly string[] = [...RUN_FATES, ...UNRUN_FATES, 'running', 'retrying'];

function outcomes(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !OUTCOMES.includes(name));
  if (wrong === undefined) return names;
  throw new InvalidArgumentError(`${JSON.stringify(wrong)} is no outcome. Use ${OUTCOMES.join(', ')}.`);
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
