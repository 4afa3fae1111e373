import type { Command } from 'commander';
import { type Done, examples, loaded, withReason, withStorage, withTimes } from './command';

export function addFleet(program: Command, done: Done): void {
  const about = (name: string, summary: string, description: string): Command =>
    withStorage(withTimes(program.command(name)))
      .usage('DEPLOYMENT [options]')
      .summary(summary)
      .description(description)
      .argument('<DEPLOYMENT>', 'name of a deployment, as "cronlease status" lists it');

  about(
    'cordon',
    'stop a deployment from claiming anything new',
    'Cordons a deployment, which then only finishes what it runs, retries included. Takes effect within a sweep interval, and lasts until "cronlease uncordon".',
  )
    .requiredOption('--note <TEXT>', 'the reason, up to 200 characters, for others to read')
    .option('--by <NAME>', 'name of the person who cordons it (default: your user name)')
    .option('--json', 'print {deployment, by, note, since}')
    .addHelpText('after', examples('cronlease cordon cronlease-weu --note "a new disk"'))
    .action(loaded(done, async () => (await import('../run/cordon.js')).cordon));

  withReason(
    about(
      'uncordon',
      'let a cordoned deployment claim again',
      'Uncordons a deployment, even one that no longer exists. Takes effect within a sweep interval.',
    ),
  )
    .option('--json', 'print {deployment, by, note, since}')
    .addHelpText('after', examples('cronlease uncordon cronlease-weu'))
    .action(loaded(done, async () => (await import('../run/cordon.js')).uncordon));
}
