import { InvalidArgumentError, Option } from 'commander';
import { CHANNELS } from '../../core/origin';
import { RAN_OUTCOMES, RUN_TRIGGERS, UNRUN_OUTCOMES } from '../../core/outcome';
import { NO } from '../output';
import { type Command, type Done, loaded, timed, wholeNumber } from './command';

const DUE_TIME =
  "a due time in ISO 8601, with Z or an offset, or else in the job's time zone; 21:42 or 21:42:40Z for the latest such time; or how long ago, such as 2h";

export function addStatus(program: Command, done: Done): void {
  timed(
    program,
    'status',
    '[JOB…]',
    'show all jobs and deployments, worst first',
    `Shows the state of jobs and deployments. Jobs that need attention come first. With --failed, the exit code is ${NO} if a job is listed.`,
  )
    .withStorage()
    .argument('[JOB...]', 'names of jobs, or patterns such as "report-*" (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .option(
      '--failed',
      'only jobs that are overdue, unreadable, or whose last run did not succeed, and are not acknowledged',
    )
    .option('--watch', 'follow the state until q or Ctrl+C; without a terminal, print it at each change')
    .option('--json', 'print {now, jobs, deployments, maintenance, problems}')
    .examples('cronlease status', 'cronlease status --watch --tag billing')
    .action(loaded(done, async () => (await import('../show/status.js')).status));
}

export function addHistory(program: Command, done: Done): void {
  timed(
    program,
    'runs',
    '[JOB]',
    'list runs, newest first',
    'Lists runs in progress and the ledger with the outcome of each due time, newest first, in pages.',
  )
    .withStorage()
    .argument('[JOB]', 'name of a job (default: all)')
    .option('--tag <TAG>', 'only jobs with this tag')
    .addOption(new Option('--failed', 'only runs that failed, timed out or stalled').conflicts('outcome'))
    .addOption(
      new Option('--outcome <OUTCOMES>', 'only records with this outcome, or one of several: failed,expired')
        .choices(OUTCOMES)
        .argParser(outcomes),
    )
    .addOption(new Option('--trigger <TRIGGER>', 'only runs with this trigger').choices(RUN_TRIGGERS))
    .option('--actor <NAME>', 'only runs that this person, or the key of this name, requested')
    .addOption(new Option('--channel <CHANNEL>', 'only runs that were requested there').choices(CHANNELS))
    .option('--note <TEXT>', "only runs with this text in their request's note")
    .option('--since <TIME>', 'only records due at TIME or later: in ISO 8601, as 21:42, or how long ago, such as 2h')
    .option('--until <TIME>', 'only records due before TIME, written as for --since')
    .option('--limit <N>', 'number of records, 1 to 1000', wholeNumber(1, 1000), 20)
    .option('--cursor <CURSOR>', 'continue where a page ended, with the same options')
    .option('--json', 'print {runs: [ledger record, …], cursor}')
    .examples(
      'cronlease runs',
      'cronlease runs --failed --since 12h',
      'cronlease runs --trigger manual --actor ann',
      'cronlease runs nightly-report --limit 100 --json',
    )
    .action(loaded(done, async () => (await import('../show/runs.js')).runs));

  timed(
    program,
    'why',
    'JOB TIME',
    'explain the outcome of a due time',
    'Explains the outcome of a due time, past or future, from the ledger, the row and the schedule.',
  )
    .withStorage()
    .argument('<JOB>', 'name of a job')
    .argument('<TIME>', DUE_TIME)
    .option('--verbose', 'also print tokens and full stack traces')
    .option('--json', 'print {job, time, due, outcome, reason, record, backfills}')
    .examples('cronlease why nightly-report 2026-03-29T03:00:00Z', 'cronlease why nightly-report 2026-03-29T02:30')
    .action(loaded(done, async () => (await import('../show/why.js')).why));
}

export function addLogs(program: Command, done: Done): void {
  timed(
    program,
    'logs',
    'JOB [TIME]',
    'print the log of a run',
    "Prints the log of a run, over all its attempts: the handler's lines and its progress.",
  )
    .withStorage()
    .argument('<JOB>', 'name of a job')
    .argument('[TIME]', 'due time of the run, as for "why" (default: the current run, or else the last one)')
    .option('--follow', 'print new lines until the run ends')
    .option('--item <N>', 'the log of one item of a fan-out, by its index from 0', wholeNumber(0, 999_999))
    .option('--json', 'print {job, runId, ended, progress, entries}; with --follow, a line of JSON for each entry')
    .examples('cronlease logs nightly-report --follow', 'cronlease logs nightly-report 2026-03-29T03:00:00Z')
    .action(loaded(done, async () => (await import('../show/logs.js')).logs));
}

export function addAudit(program: Command, done: Done): void {
  program
    .command('audit')
    .withTimes()
    .usage('[options]')
    .summary('list what people changed, newest first')
    .description(
      'Lists the changes that people made or tried to make, newest first: who, when, what and why. An actor verified neither by Entra nor by a key is marked as unproven.',
    )
    .withStorage()
    .option('--limit <N>', 'number of entries, 1 to 1000', wholeNumber(1, 1000), 50)
    .option('--cursor <CURSOR>', 'continue where a page ended')
    .option(
      '--json',
      'print {entries: [{id, at, actor, identity, proven, channel, note, action, target, state, before, after}, …], cursor}',
    )
    .examples('cronlease audit', 'cronlease audit --limit 200 --json')
    .action(loaded(done, async () => (await import('../show/audit.js')).audit));
}

const OUTCOMES: readonly string[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES, 'running', 'retrying'];

function outcomes(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !OUTCOMES.includes(name));
  if (wrong === undefined) return names;
  throw new InvalidArgumentError(`${JSON.stringify(wrong)} is not an outcome. Use ${OUTCOMES.join(', ')}.`);
}
