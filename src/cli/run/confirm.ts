import { createInterface } from 'node:readline/promises';
import { CliError } from '../cli-error';

/** The terminal for questions: not standard output, which may be one JSON document. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks a person to type the job's name before an action that cannot be undone.
 *
 * @param yes the action is confirmed already
 * @throws CliError `NotConfirmed` when the name is not typed, or standard input is not a terminal
 */
export async function confirm(job: string, yes: boolean, terminal: Terminal = TERMINAL): Promise<void> {
  if (yes || (await ask('Type the name of the job to confirm: ', terminal)) === job) return;
  throw new CliError('NotConfirmed', `nothing was done: the name of the job, "${job}", was not typed`);
}

/** As {@link confirm}, by `yes` or `y`, for what can be undone. */
export async function confirmYes(question: string, yes: boolean, terminal: Terminal = TERMINAL): Promise<void> {
  if (yes || /^y(?:es)?$/i.test(await ask(question, terminal))) return;
  throw new CliError('NotConfirmed', 'nothing was done: it was not confirmed with "yes"');
}

/** The answer to a question; undefined if there is no terminal to ask on. */
export async function askYes(question: string, terminal: Terminal = TERMINAL): Promise<boolean | undefined> {
  if (terminal.input.isTTY !== true) return undefined;
  return /^y(?:es)?$/i.test(await answerTo(question, terminal));
}

async function ask(question: string, terminal: Terminal): Promise<string> {
  if (terminal.input.isTTY !== true) {
    throw new CliError(
      'NotConfirmed',
      'nothing was done: not a terminal, so the command cannot ask for confirmation. Add --yes to proceed',
    );
  }
  return answerTo(question, terminal);
}

/** The answer; empty where the input ends. */
async function answerTo(question: string, terminal: Terminal): Promise<string> {
  const lines = createInterface({ input: terminal.input, output: terminal.output });
  try {
    const ended = new Promise<string>((resolve) => {
      lines.once('close', () => resolve(''));
    });
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    lines.close();
  }
}

const TERMINAL: Terminal = { input: process.stdin, output: process.stderr };
