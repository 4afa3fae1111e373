import { Command as CommanderCommand, InvalidArgumentError, Option } from 'commander';
import { NOTE_LENGTH } from '../../operator/change-control';
import type { FileOptions } from '../jobs-file';
import { UNSUCCESSFUL } from '../output';
import type { StorageOptions } from '../storage';
import type { TimeOptions } from '../time';

/** The options that several commands have. */
export interface Options extends FileOptions, StorageOptions, TimeOptions {
  readonly json?: boolean | undefined;
  readonly note?: string | undefined;
  readonly by?: string | undefined;
  /** A time, or how long from now. */
  readonly until?: string | undefined;
  readonly tag?: string | undefined;
  readonly yes?: boolean | undefined;
}

/** A command, with what several commands have. */
export class Command extends CommanderCommand {
  /** @param done takes the exit code of the command that has run */
  constructor(
    private readonly done: (code: number) => void,
    name?: string,
  ) {
    super(name);
  }

  override createCommand(name?: string): Command {
    return new Command(this.done, name);
  }

  /** The action, whose module is loaded only when the command runs. */
  runs(load: () => Promise<(...args: never[]) => number | Promise<number>>): this {
    // The last argument is the command itself.
    return this.action(async (...args) => this.done(await (await load())(...(args.slice(0, -1) as never[]))));
  }

  withFile(): this {
    return this.option('--file <PATH>', 'the jobs file (default: jobs.json)');
  }

  /** The reason is in the run, in lists of runs, and in the record of the change. */
  withReason(): this {
    return this.option('--note <TEXT>', `the reason, up to ${NOTE_LENGTH} characters, for others to read`, reason);
  }

  withTimes(): this {
    this.addOption(new Option('--utc', 'print times in UTC (the default)').conflicts('local'));
    return this.addOption(new Option('--local', "print times in this machine's time zone"));
  }

  withStorage(): this {
    const container = 'coordination container or schema (default: CRONLEASE_CONTAINER, or else cronlease)';
    this.option('--storage <WHERE>', 'connection string, or URL of a store (default: see cronlease --help)');
    return this.option('--container <NAME>', container);
  }

  examples(...lines: readonly string[]): this {
    return this.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
}

export function command(program: Command, name: string, usage: string, summary: string): Command {
  return program.command(name).usage(`${usage} [options]`.trim()).summary(summary);
}

/** A command that reads the jobs file and prints times. */
export function timed(...parameters: Parameters<typeof command>): Command {
  return command(...parameters)
    .withFile()
    .withTimes();
}

/** As {@link timed}, for one that calls storage. */
export function stored(...parameters: Parameters<typeof command>): Command {
  return timed(...parameters).withStorage();
}

export function acting(program: Command, name: string, summary: string): Command {
  return stored(program, name, 'JOB', summary).argument('<JOB>', 'name of a job');
}

/** A command that requests a run and may wait for its end. */
export function waiting(program: Command, name: string, summary: string, usage = 'JOB'): Command {
  return stored(program, name, usage, summary)
    .withReason()
    .argument('<JOB>', 'name of a job')
    .option('--input <JSON>', "an input for this run, up to 32 KB, instead of the job's own")
    .option('--wait', `wait until the run is over; exit code ${UNSUCCESSFUL} if it did not succeed`)
    .addOption(new Option('--follow', "as --wait, and print the handler's log").conflicts('json'))
    .option('--json', 'print {job, runId, requestedAt}; with --wait also outcome, reason and record');
}

export function actingOnMany(program: Command, name: string, summary: string): Command {
  return stored(program, name, 'JOB…', summary)
    .argument('[JOB...]', 'names of jobs, or patterns such as "report-*"')
    .option('--tag <TAG>', 'instead of JOB: the jobs with this tag')
    .option('--yes', 'do not ask for confirmation');
}

function reason(text: string): string {
  const note = text.trim();
  if (note === '') throw new InvalidArgumentError('It is empty: give the reason, or leave the option out.');
  if (note.length <= NOTE_LENGTH) return note;
  throw new InvalidArgumentError(`It has ${note.length} characters, and ${NOTE_LENGTH} are allowed.`);
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
