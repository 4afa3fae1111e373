#!/usr/bin/env node
import { CommanderError } from 'commander';
import { NO, OK, printError, printJson, USAGE, UsageError } from './output';
import { createProgram } from './program';

const OLDEST_NODE = 22;

async function main(): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    printError(`cronlease needs Node ${OLDEST_NODE} or later, and this is ${process.version}.`);
    return NO;
  }
  let code = OK;
  let json = false;
  process.stdout.on('error', endUnwritten);
  // A closed standard error loses messages, and changes neither the answer nor the exit code.
  process.stderr.on('error', () => undefined);
  const program = createProgram((result) => {
    code = result;
  });
  program.hook('preAction', (_program, command) => {
    // The lines of `dev` are its events, and it stops its cluster once they are no longer read.
    if (command.name() === 'dev') process.stdout.off('error', endUnwritten);
    else json = command.opts<{ json?: boolean }>().json === true;
  });
  try {
    await program.parseAsync();
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? OK : USAGE;
    if (error instanceof UsageError) {
      printError(error.message);
      return USAGE;
    }
    return refuse(error, json);
  }
}

/** Ends a command whose output fails, as on a full disk. It is not an error if a reader, such as `head`, closes the pipe. */
function endUnwritten(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(OK);
  printError(`the output cannot be written: ${error.message}`);
  process.exit(NO);
}

/** Prints the error of a command. Errors with a code were written for people; any other error is a fault of ours. */
function refuse(error: unknown, json: boolean): number {
  const known = error instanceof Error && 'code' in error && typeof error.code === 'string';
  const message = error instanceof Error ? error.message : String(error);
  if (json) printJson({ error: { code: known ? error.code : 'Unexpected', message } });
  printError(known || !(error instanceof Error) ? message : (error.stack ?? message));
  return NO;
}

void main().then((code) => {
  // Open connections would delay the end of the process, and its output must be written before it ends.
  process.stdout.write('', () => {
    // The error of a write is emitted after the callback of the next one.
    process.stderr.write('', () => setImmediate(() => process.exit(code)));
  });
});
