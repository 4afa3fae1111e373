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
      `Sends a test notice to one receiver, or to all. Reads CRONLEASE_RECEIVERS and CRONLEASE_NOTIFY_HOSTS from this shell. A Teams workflow may accept a message and not post it, so the command asks whether it arrived. Exit code ${NO} if a receiver refused it, or it did not arrive.`,
    )
    .addArgument(new Argument('<WHAT>', 'the action').choices(['test']))
    .argument('[RECEIVER]', 'name of a receiver (default: all)')
    .option('--json', 'print [{receiver, format, accepted, arrived, problem}]')
    .addHelpText('after', examples('cronlease notify test', 'cronlease notify test ops'))
    .action(async (_what: 'test', receiver: string | undefined, options: NotifyTestOptions) =>
      done(await (await import('../run/notify-test.js')).notifyTest(receiver, options)),
    );
}
