import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error';

/** The terminal for questions: not standard output, which may be one JSON document. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks a person to type the job's name before an action that cannot be undone.
 *
 * @param yes the action is confirmed already
 * @throws CliError `NotConfirmed` when the name is not typed, or standard input is no terminal
 */
export async function confirm(job: string, yes: boolean, terminal: Terminal = TERMINAL): Promise<void> {
  if (yes) return;
  if (terminal.input.isTTY !== true) {
    throw new CliError('NotConfirmed', 'nothing was done: this is no terminal to confirm on. Add --yes to go ahead');
  }
  const lines = createInterface({ input: terminal.input, output: terminal.output });
  try {
    const ended = new Promise<string>((resolve) => {
      lines.once('close', () => {
        resolve('');
      });
    });
    const typed = await Promise.race([lines.question(`Type the name of the job to confirm: `), ended]);
    if (typed.trim() === job) return;
  } finally {
    lines.close();
  }
  throw new CliError('NotConfirmed', `nothing was done: the name of the job, "${job}", was not typed`);
}

const TERMINAL: Terminal = { input: process.stdin, output: process.stderr };
