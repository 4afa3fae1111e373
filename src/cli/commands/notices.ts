import { Argument, type Command } from 'commander';
import { NO } from '../output';
import type { NotifyTestOptions } from '../run/notify-test';
import { type Done, examples } from './command';

export function addNotices(program: Command, done: Done): void {
  program
    .command('notify')
    .usage('test [RECEIVER]')
    .summary('send a test notice')
    .description(
      `Sends a test notice to a receiver, or to each of them. Reads CRONLEASE_RECEIVERS and CRONLEASE_NOTIFY_HOSTS of this shell. A workflow of Teams accepts a message that it then may not post, so the command asks whether it has arrived. Exit code ${NO} if a receiver refused it, or it has not arrived.`,
    )
    .addArgument(new Argument('<WHAT>', 'the action').choices(['test']))
    .argument('[RECEIVER]', 'name of a receiver (default: all)')
    .option('--json', 'print [{receiver, format, accepted, arrived, problem}]')
    .addHelpText('after', examples('cronlease notify test', 'cronlease notify test ops'))
    .action(async (_what: 'test', receiver: string | undefined, options: NotifyTestOptions) =>
      done(await (await import('../run/notify-test.js')).notifyTest(receiver, options)),
    );
}
