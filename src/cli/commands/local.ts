import { Argument } from 'commander';
import { NO } from '../output';
import { type Command, command, wholeNumber } from './command';

export function addDev(program: Command): void {
  command(program, 'dev', '', 'run the jobs of an app on this machine')
    .withTimes()
    .description(
      'Runs an app on this machine as several deployments that compete for its jobs, with a storage emulator, until Ctrl+C. Restarts them when the jobs, the built code or the settings change.',
    )
    .option('--app <DIR>', 'folder of an app whose package.json "main" registers a coordinator (default: this one)')
    .option('--main <FILE>', 'load this file of the app instead of the "main" of its package.json')
    .option(
      '--build <COMMAND>',
      'command that builds the app, such as "tsc"; run in its folder at the start and when a source under src changes',
    )
    .option('--file <PATH>', "the app's jobs file (default: jobs.json in its folder)")
    .option('--more-jobs <PATH>', 'also run the jobs in this file')
    .option('--instances <N>', 'number of deployments, 1 to 20 (default: 3, or 1 with --same-app)', wholeNumber(1, 20))
    .option(
      '--same-app <N>',
      'run N instances of each deployment; one of them fires the timer, as on Azure',
      wholeNumber(1, 20),
    )
    .option(
      '--port <N>',
      'port of the first one, counting up; 0: any free ports (default: 7071, or the next free ones)',
      wholeNumber(0, 65_535),
    )
    .option(
      '--storage <WHERE>',
      '"embedded" (a storage emulator), "postgres", "redis", "zookeeper", "etcd" or "consul" (a server that is installed here), a connection string, or a URL',
      'embedded',
    )
    .option('--container <NAME>', 'coordination container or schema (default: CRONLEASE_CONTAINER, or else cronlease)')
    .option('--data <DIR>', "folder for the storage server's data (default: in memory, or in a temporary folder)")
    .option('--samples <DIR>', 'upload the files in this folder to the container of its name')
    .option('--duration <SPAN>', 'stop after this long, such as 30s')
    .option('--no-restart', 'do not restart an instance that has ended')
    .option('--strict', 'refuse an app with a function that cannot run here (default: skip that function)')
    .option('--inspect', 'let a debugger attach to each instance')
    .option('--verbose', 'also print claims, tokens, first attempts and full stack traces')
    .option('--json', 'print JSON lines, the first one "ready"')
    .examples('cronlease dev', 'cronlease dev --instances 5 --port 0 --data .data')
    .runs(async () => (await import('../dev/dev.js')).dev);
}

export function addDrill(program: Command): void {
  command(program, 'drill', '', 'test a failover here, and write a report')
    .description(
      `Starts deployments on this machine with their own storage, kills the one that runs a job, waits until another has done its work, restarts it, and writes a report. Runs none of your jobs without --with-jobs. Takes about a minute. Exit code ${NO} if a target was missed.`,
    )
    .option('--report <FILE>', 'file of the report; an older one is replaced', 'drill-report.md')
    .option('--instances <N>', 'number of deployments, 2 to 20', wholeNumber(2, 20), 3)
    .option('--target <SPAN>', 'longest time for the take-over (default: the longest lease, a tick and 2s)')
    .option('--with-jobs', 'run the jobs of an app instead, with the real effects of its handlers')
    .option('--app <DIR>', 'with --with-jobs: folder of that app (default: this one)')
    .option('--file <PATH>', 'with --with-jobs: its jobs file (default: jobs.json in that folder)')
    .option('--wait <SPAN>', 'longest wait for a run to interrupt, and for its end', '2m')
    .option('--json', 'print {ok, checks, interrupted, jobs, duplicates, losses, steps, …}')
    .examples('cronlease drill', 'cronlease drill --with-jobs --report audit/2026-11.md')
    .runs(async () => (await import('../drill/drill.js')).drill);
}

/** Commands for a new app, for one that moves here, and for the shell. */
export function addSetup(program: Command): void {
  command(program, 'init', '', 'write a small app with one job')
    .usage('[DIR]')
    .description(
      'Writes a function app in TypeScript with one job, its handler and a test, and prints the commands that run it. Replaces no file.',
    )
    .argument('[DIR]', 'folder of the app, which is created if it is missing (default: this one)')
    .option('--json', 'print {folder, files, next}')
    .examples('cronlease init my-jobs')
    .runs(async () => (await import('../setup/init.js')).init);

  command(program, 'import', '', 'convert files of another scheduler')
    .usage('FORMAT FILE…')
    .description(
      'Reads crontabs, Kubernetes CronJobs, Quartz cron expressions or Azure Functions timer triggers, and prints a jobs file with the same due times. Notes on standard error list what is left out or differs.',
    )
    .addArgument(new Argument('<FORMAT>', 'the format').choices(['crontab', 'k8s', 'quartz', 'timers']))
    .argument('<FILE...>', 'files, or - for standard input; for timers, also folders')
    .option('--out <FILE>', 'write the jobs file here instead of printing it')
    .option('--force', 'let --out replace a file')
    .option('--time-zone <ZONE>', 'zone of the machine that ran the jobs, if a file names none (default: UTC)')
    .option('--system', 'crontab: entries have a user before the command, as in /etc/crontab')
    .option('--settings <FILE>', "timers: the app's local.settings.json (default: in a folder that is named)")
    .option('--json', 'print {jobsFile, handlers, notes}')
    .examples(
      'crontab -l | cronlease import crontab - --time-zone Europe/Lisbon',
      'cronlease import k8s cronjobs.yaml --out jobs.json',
      'cronlease import timers ../old-app --out jobs.json',
    )
    .runs(async () => (await import('../setup/import.js')).importJobs);

  command(program, 'completion', '', 'print a shell completion script')
    .usage('bash|zsh|fish')
    .description('Prints a shell script that completes commands, options, and the names and tags in the jobs file.')
    .addArgument(new Argument('<SHELL>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .examples(
      'source <(cronlease completion bash)',
      'source <(cronlease completion zsh)',
      'cronlease completion fish > ~/.config/fish/completions/cronlease.fish',
    )
    .runs(async () => (await import('../setup/completion.js')).completion);

  program
    .command('__complete', { hidden: true })
    .argument('[WORDS...]')
    .runs(async () => {
      const { complete } = await import('../setup/completion.js');
      return (words: readonly string[]) => complete(program, words);
    });
}

export function addNotices(program: Command): void {
  command(program, 'notify', '', 'send a test notice')
    .usage('test [RECEIVER]')
    .description(
      `Sends a test notice to one receiver, or to all. Reads CRONLEASE_RECEIVERS and CRONLEASE_NOTIFY_HOSTS from this shell. A Teams workflow may accept a message and not post it, so the command asks whether it arrived. Exit code ${NO} if a receiver refused it, or it did not arrive.`,
    )
    .addArgument(new Argument('<WHAT>', 'the action').choices(['test']))
    .argument('[RECEIVER]', 'name of a receiver (default: all)')
    .option('--json', 'print [{receiver, format, accepted, arrived, problem}]')
    .examples('cronlease notify test', 'cronlease notify test ops')
    .runs(async () => (await import('../run/notify-test.js')).notifyTest);
}
