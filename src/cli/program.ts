import { VERSION } from '../version';
import { Command } from './commands/command';
import { addDev, addDrill, addNotices, addSetup } from './commands/local';
import {
  addAcknowledgements,
  addBackfill,
  addFleet,
  addMending,
  addMoves,
  addPauses,
  addRecover,
  addRequests,
} from './commands/run';
import { addAudit, addHistory, addLogs, addOffline, addPlanning, addStatus } from './commands/show';
import { EXIT_CODES } from './output';

const MAIN_HELP = `
Examples:
  cronlease dev                                run this folder's jobs locally
  cronlease status --watch                     what they do, live
  cronlease next nightly-report --count 3      its next three due times
  cronlease why nightly-report 2026-03-29T02:30:00+01:00
                                               the outcome of that due time

Storage, the first of these that is set:
  1. --storage: a connection string, or https://ACCOUNT.blob.core.windows.net
     if you are signed in with "az login", or postgres://USER@HOST/DATABASE
  2. CRONLEASE_STORAGE (a connection string, postgres://…, rediss://…, zk://…,
     etcds://… or consuls://…) or CRONLEASE_STORAGE__blobServiceUri (a URL, for
     an identity)
  3. the storage of "cronlease dev", while it runs in the current folder
Container: --container, or else CRONLEASE_CONTAINER, or else "cronlease".
The commands do not read local.settings.json.

With --json, standard output is one JSON document. A command that fails prints
{"error": {"code", "message"}}.

Exit codes:
${EXIT_CODES.map(({ code, meaning }) => `  ${String(code).padEnd(3)}  ${meaning}`).join('\n')}`;

/** The commands. Each loads its modules only when it runs, so that the help appears at once. */
export function createProgram(done: (code: number) => void): Command {
  const program = new Command(done, 'cronlease')
    .description('Scheduled jobs on Azure Functions. Every due time ends in exactly one recorded outcome.')
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
  addOffline(program);
  addPlanning(program);
  addStatus(program);
  addHistory(program);
  addLogs(program);
  addAudit(program);
  addRequests(program);
  addBackfill(program);
  addPauses(program);
  addAcknowledgements(program);
  addFleet(program);
  addMending(program);
  addRecover(program);
  addMoves(program);
  addNotices(program);
  addDev(program);
  addDrill(program);
  addSetup(program);
  return program;
}
