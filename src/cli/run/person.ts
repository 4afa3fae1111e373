import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { given } from '../../core/given';
import { oneLine } from '../../core/text';
import type { LeaseStore } from '../../lease/store';
import type { Acting } from '../../operator/audit';
import { CliError, warn } from '../output';
import { deskOf, shellIdentity } from '../storage';
import { orRefusal } from '../../operator/operator-error';

/** The name of the person who runs the command, as the operating system has it. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return 'unknown';
  }
}

/**
 * The person who runs the command: the identity of the token with which it calls storage, or else the user of the
 * operating system, whose name proves nothing.
 */
export async function actingOn(store: LeaseStore, note?: string): Promise<Acting> {
  const identity = await shellIdentity();
  const who =
    identity === undefined
      ? { actor: userName() }
      : { actor: oneLine(identity.name), identity: `${identity.tenant}/${identity.objectId}`.toLowerCase() };
  const unrecorded = (what: string): void => {
    warn(`${what} took place, but its record in audit/ shows only that it was begun`);
  };
  return { ...deskOf(store), origin: { ...who, channel: 'shell', ...given({ note }) }, unrecorded };
}

/**
 * Reads what a command adds to its answer once its change is made. If that fails, the answer lacks it: an error would
 * look as if the change had failed.
 */
export async function afterwards<Found>(read: () => Promise<Found>): Promise<Found | undefined> {
  const answer = await orRefusal(async () => ({ found: await read() }));
  if ('found' in answer) return answer.found;
  warn(`the change took place, but what follows from it could not be read: ${answer.problem}`);
  return undefined;
}

/** The terminal for questions: not standard output, which may be one JSON document. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

const TERMINAL: Terminal = { input: process.stdin, output: process.stderr };

/**
 * Asks a person to type the job's name before an action that cannot be undone.
 *
 * @param yes the action is confirmed already
 * @throws CliError `NotConfirmed` when the name is not typed, or standard input is not a terminal
 */
export async function confirm(job: string, yes: boolean, terminal = TERMINAL): Promise<void> {
  if (yes || answered(await ask('Type the name of the job to confirm: ', terminal)) === job) return;
  throw notConfirmed(`the name of the job, "${job}", was not typed`);
}

/** As {@link confirm}, by `yes` or `y`, for what can be undone. */
export async function confirmYes(question: string, yes: boolean, terminal = TERMINAL): Promise<void> {
  if (yes || isYes(answered(await ask(question, terminal)))) return;
  throw notConfirmed('it was not confirmed with "yes"');
}

/** The answer to a question; undefined if there is no terminal to ask on. */
export async function askYes(question: string): Promise<boolean | undefined> {
  const text = await ask(question, TERMINAL);
  return text === undefined ? undefined : isYes(text);
}

function answered(text: string | undefined): string {
  if (text !== undefined) return text;
  throw notConfirmed('not a terminal, so the command cannot ask for confirmation. Add --yes to proceed');
}

function notConfirmed(why: string): CliError {
  return new CliError('NotConfirmed', `nothing was done: ${why}`);
}

function isYes(text: string): boolean {
  return /^y(?:es)?$/i.test(text);
}

/** The answer, empty where the input ends; undefined: there is no terminal. */
async function ask(question: string, { input, output }: Terminal): Promise<string | undefined> {
  if (input.isTTY !== true) return undefined;
  const lines = createInterface({ input, output });
  try {
    const ended = new Promise<string>((resolve) => {
      lines.once('close', () => resolve(''));
    });
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    lines.close();
  }
}
