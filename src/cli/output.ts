import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters, styleText } from 'node:util';
import { printable, printableJson } from '../core/text';

export const OK = 0;
export const NO = 1;
export const USAGE = 2;
/** A run that the command has waited for did not succeed. */
export const UNSUCCESSFUL = 3;
/** As a shell reports SIGINT. */
export const FORCED = 130;
/** The exit codes of every command, in the help and in docs/reference/exit-codes.md. */
export const EXIT_CODES: readonly { readonly code: number; readonly meaning: string }[] = [
  { code: OK, meaning: 'success; warnings, if any, are on standard error' },
  {
    code: NO,
    meaning: 'failure or refusal, such as an invalid file or no answer from storage',
  },
  { code: USAGE, meaning: 'the command line is wrong' },
  { code: UNSUCCESSFUL, meaning: 'run and rerun, with --wait or --follow: the run has not succeeded' },
  { code: FORCED, meaning: 'dev: interrupted again before its instances had stopped' },
];

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  readonly code = 'Usage';
  override readonly name = 'UsageError';
}

/** The command line is right, but there is nothing to act on: exit code 1. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    readonly code:
      | 'NoStorage'
      | 'NoJobsFile'
      | 'NotConfirmed'
      | 'NoRevision'
      | 'NoPrices'
      | 'NoReceiver'
      | 'NoSource'
      | 'NothingImported'
      | 'FileExists',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The folder of this package: the clone, or a folder in the app's `node_modules`. */
export const OWN = packageAbove(__dirname);

/** The nearest folder above with a package.json. A build may lie at any depth below it. */
function packageAbove(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(path.join(folder, 'package.json')) || parent === folder ? folder : packageAbove(parent);
}

export type Style = Parameters<typeof styleText>[0];

/** The colours of outcomes, wherever they are shown. Others have none. */
export const OUTCOME_COLOURS: Readonly<Record<string, Style>> = {
  succeeded: 'green',
  failed: 'red',
  timedOut: 'red',
  stalled: 'red',
  expired: 'yellow',
  cancelled: 'yellow',
  retrying: 'yellow',
  running: 'cyan',
};

/** Stands for the escape character of cronlease's colours. It is random, so no text from storage can contain it. */
const ESCAPE = randomUUID();

export function print(text: string): void {
  process.stdout.write(`${shown(text)}\n`);
}

/** Prints to standard error, for people. */
export function say(text: string): void {
  process.stderr.write(`${shown(text)}\n`);
}

/** Makes control characters of foreign text visible: sent to a terminal, they could rewrite its earlier lines. */
export function shown(text: string): string {
  return printable(text).replaceAll(ESCAPE, '\u001b');
}

/** Prints the one document of a command with `--json`. Returns the exit code of success. */
export function printJson(value: unknown): number {
  print(printableJson(value, 2));
  return OK;
}

/** Prints the answer of a command: its document with `--json`, or else its text. Returns the exit code of success. */
export function answer(
  { json }: { readonly json?: boolean | undefined },
  document: unknown,
  text: () => string,
): number {
  if (json === true) return printJson(document);
  print(text());
  return OK;
}

export function warn(text: string): void {
  say(`${style('yellow', 'warning:', process.stderr)} ${text}`);
}

export function printError(text: string): void {
  say(`${style('red', 'error:', process.stderr)} ${text}`);
}

/** Colours text on a terminal only, unless it may go anywhere; respects NO_COLOR and FORCE_COLOR. */
export function style(format: Style, text: string, to: NodeJS.WriteStream | 'anywhere' = process.stdout): string {
  const options = to === 'anywhere' ? { validateStream: false } : { stream: to };
  return styleText(format, text, options).replaceAll('\u001b', ESCAPE);
}

/** The text without colours of ours. */
export function withoutColours(text: string): string {
  return stripVTControlCharacters(text.replaceAll(ESCAPE, '\u001b'));
}
