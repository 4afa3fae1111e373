import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { DevArguments } from './dev';
import type { FileOptions } from './jobs-file';
import type { NextOptions } from './next';
import type { OperateOptions, PauseOptions } from './operate';
import { NO, OK, USAGE } from './output';
import type { RunsOptions } from './runs';
import type { WhyOptions } from './why';

/** Where the exit code of the command goes. */
type Done = (code: number) => void;

const MAIN_HELP = `
Examples:
  cronlease dev                                three deployments on this machine race for the jobs of this folder
  cronlease next nightly-report --count 3      when it is due
  cronlease why nightly-report 2026-03-29T02:30:00+01:00
                                               what became of that due time

Storage: --storage, or else CRONLEASE_STORAGE (a connection string) or CRONLEASE_STORAGE__blobServiceUri (a URL, for an
identity), or else that of "cronlease dev" where it runs in the current folder. Container: --container, or else
CRONLEASE_CONTAINER, or else "cronlease". local.settings.json is not read.

With --json standard output is one JSON document; a command that says no prints {"error": {"code", "message"}}.

Exit codes:
  ${OK}  done; there may be warnings, on standard error
  ${NO}  no: an invalid file, an unknown job, a refused request, storage that does not answer
  ${USAGE}  the command line is wrong`;

/** The commands. What one needs is loaded when it runs: the help of all is there at once. */
export function createProgram(done: Done): Command {
  const program = new Command('cronlease')
    .description(
      'Scheduled jobs on Azure Functions: every due time is run once, and the ledger says what became of it.',
    )
    .version(version(), '-V, --version', 'print the version')
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
  addActing(program, done);
  addDev(program, done);
  return program;
}

/** Commands that need no storage, or only read it. */
function addReading(program: Command, done: Done): void {
  command(
    program,
    'validate',
    '',
    'check the jobs file',
    'Checks the jobs file as the start of an app does, handlers apart: every error at once.',
  )
    .option('--json', 'print {ok, errors, warnings}, each [{path, value, message, remedy}]')
    .addHelpText('after', examples('cronlease validate', 'cronlease validate --file deploy/jobs.json --json'))
    .action(async (options: FileOptions) => done((await import('./validate.js')).validate(options)));

  command(
    program,
    'next',
    'JOB|all',
    'when a job is due',
    'Prints the next due times of a job, or of all. Nominal ones: a "spread" comes on top.',
  )
    .argument('<JOB|all>', 'name of a job, or all')
    .option('--from <TIME>', 'due times strictly after this; it may be past (default: now)')
    .option('--count <N>', 'how many due times, 1 to 1000', wholeNumber(1, 1000), 5)
    .option('--json', 'print [{job, timeZone, occurrences: [TIME, …]}]')
    .addHelpText('after', examples('cronlease next nightly-report', 'cronlease next all --from 2026-12-31 --count 1'))
    .action(async (job: string, options: NextOptions) => done((await import('./next.js')).next(job, options)));

  withStorage(
    command(
      program,
      'runs',
      '[JOB]',
      'what has run, newest first',
      'Prints the ledger, newest first: what became of each due time.',
    ),
  )
    .argument('[JOB]', 'name of a job (default: all)')
    .option('--limit <N>', 'how many records, 1 to 1000', wholeNumber(1, 1000), 20)
    .option('--json', 'print [ledger record, …]')
    .addHelpText('after', examples('cronlease runs', 'cronlease runs nightly-report --limit 100 --json'))
    .action(async (job: string | undefined, options: RunsOptions) =>
      done(await (await import('./runs.js')).runs(job, options)),
    );

  withStorage(
    command(
      program,
      'why',
      'JOB TIME',
      'what became of a due time, and why',
      'Says what became of an instant, or will, and why: from the ledger, the row, and the schedule.',
    ),
  )
    .argument('<JOB>', 'name of a job')
    .argument('<TIME>', "a due time: ISO 8601 with Z or an offset, or without either in the job's time zone")
    .option('--json', 'print {job, time, due, fate, reason, record}')
    .addHelpText(
      'after',
      examples('cronlease why nightly-report 2026-03-29T03:00:00Z', 'cronlease why nightly-report 2026-03-29T02:30'),
    )
    .action(async (job: string, time: string, options: WhyOptions) =>
      done(await (await import('./why.js')).why(job, time, options)),
    );
}

/** Commands that write what people want of a job. */
function addActing(program: Command, done: Done): void {
  const load = () => import('./operate.js');

  acting(
    program,
    'run',
    'run it now',
    'Asks for a run now. The schedule does not move, and neither a pause nor "enabled": false holds it back. Refused for a leader job (@always), and while a run goes on if "overlap" is "skip".',
  )
    .option('--json', 'print {job, runId, requestedAt}')
    .addHelpText('after', examples('cronlease run nightly-report'))
    .action(async (job: string, options: OperateOptions) => done(await (await load()).run(job, options)));

  acting(
    program,
    'cancel',
    'end the run that goes on',
    'Asks for the end of the run that goes on. Its holder ends it at its next renewal, at most a third of the lease later.',
  )
    .option('--json', 'print {job, runId, requestedAt}')
    .addHelpText('after', examples('cronlease cancel nightly-report'))
    .action(async (job: string, options: OperateOptions) => done(await (await load()).cancel(job, options)));

  acting(
    program,
    'pause',
    'claim nothing new',
    'Pauses a job from now on, everywhere. A run that goes on is not ended, and requests are run.',
  )
    .requiredOption('--note <TEXT>', 'why, for whoever finds the job paused: up to 200 characters')
    .option('--by <NAME>', 'who pauses it (default: the user of this machine)')
    .option('--json', 'print {job, by, note, since, until}')
    .addHelpText('after', examples('cronlease pause nightly-report --note "the warehouse is being moved"'))
    .action(async (job: string, options: PauseOptions) => done(await (await load()).pause(job, options)));

  acting(
    program,
    'resume',
    'end a pause',
    'Ends the pause of a job, now. What was due in it is recorded as paused, and not run.',
  )
    .option('--json', 'print {job, by, note, since, until}')
    .addHelpText('after', examples('cronlease resume nightly-report'))
    .action(async (job: string, options: OperateOptions) => done(await (await load()).resume(job, options)));
}

function addDev(program: Command, done: Done): void {
  program
    .command('dev')
    .usage('[options]')
    .summary('run the jobs of an app on this machine')
    .description('Runs an app as several deployments that race for its jobs, over a storage emulator, until Ctrl+C.')
    .option('--app <DIR>', 'folder of an app whose package.json "main" registers a coordinator (default: this one)')
    .option('--instances <N>', 'how many deployments, 1 to 20', wholeNumber(1, 20), 3)
    .option('--port <N>', 'port of the first one, the others count up; 0: any free ones', wholeNumber(0, 65_535), 7071)
    .option('--storage <WHERE>', '"embedded", or a connection string', 'embedded')
    .option('--container <NAME>', 'coordination container (default: CRONLEASE_CONTAINER, or else cronlease)')
    .option('--data <DIR>', 'where the embedded storage keeps its data (default: in memory)')
    .option('--duration <SPAN>', 'stop after this long, such as 30s')
    .option('--no-restart', 'do not start an instance again that ended')
    .option('--inspect', 'let a debugger attach to each instance')
    .option('--json', 'print JSON lines, the first one "ready"')
    .addHelpText('after', examples('cronlease dev', 'cronlease dev --instances 5 --port 0 --data .data'))
    .action(async (options: DevArguments) => done(await (await import('./dev.js')).dev(options)));
}

function command(program: Command, name: string, usage: string, summary: string, description: string): Command {
  return program
    .command(name)
    .usage(`${usage} [options]`.trim())
    .summary(summary)
    .description(description)
    .option('--file <PATH>', 'the jobs file (default: jobs.json)');
}

function acting(program: Command, name: string, summary: string, description: string): Command {
  return withStorage(command(program, name, 'JOB', summary, description)).argument('<JOB>', 'name of a job');
}

function withStorage(to: Command): Command {
  return to
    .option('--storage <CONNECTION_STRING>', 'where the jobs are coordinated (default: see cronlease --help)')
    .option('--container <NAME>', 'coordination container (default: CRONLEASE_CONTAINER, or else cronlease)');
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Of the package that this file is part of, wherever its build put it. */
function version(): string {
  for (let folder = __dirname; ; folder = path.dirname(folder)) {
    const file = path.join(folder, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
    if (folder === path.dirname(folder)) return 'unknown';
  }
}
