import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error';

/** Where a person is asked: not on standard output, which may be one JSON document. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Lets a person type the job's name before something is done that cannot be undone.
 *
 * @param yes they have said so already
 * @throws CliError `NotConfirmed` when they type something else, or nobody can be asked
 */
export async function confirm(job: string, yes: boolean, terminal: Terminal = TERMINAL): Promise<void> {
  if (yes) return;
  if (terminal.input.isTTY !== true) {
    throw new CliError('NotConfirmed', 'nothing was done: nobody can be asked here, so say --yes if it is to be done');
  }
  const lines = createInterface({ input: terminal.input, output: terminal.output });
  try {
    const ended = new Promise<string>((resolve) => {
      lines.once('close', () => {
        resolve('');
      });
    });
    const typed = await Promise.race([lines.question(`Type the name of the job to go on: `), ended]);
    if (typed.trim() === job) return;
  } finally {
    lines.close();
  }
  throw new CliError('NotConfirmed', `nothing was done: the name of the job, "${job}", was not typed`);
}

const TERMINAL: Terminal = { input: process.stdin, output: process.stderr };
