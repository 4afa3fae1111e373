import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Millis } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { isoOf } from '../../core/iso';
import { longestGap, tickSchedule } from '../../functions/settings';
import { readLocalSettings } from '../../local/host/app-folder';
import { VERSION } from '../../version';
import { DEFAULT_FILE, loadFile } from '../jobs-file';
import { type Column, fittedTable } from '../fit';
import { NO, OK, print, printJson, UsageError } from '../output';
import { spanOf } from '../time';
import { type Drilled, judge, type Verdict } from './judge';
import { playDrill, type Subject } from './play';

/** The job whose run the drill interrupts. It is due again before its lease expires. */
const LONG_JOB = 'drill-long';

const JOBS = {
  'drill-quick': { schedule: '@every 5s', handler: 'wait', lease: '15s', input: { ms: 100 } },
  [LONG_JOB]: { schedule: '@every 10s', handler: 'wait', lease: '15s', overlap: 'queue', input: { ms: 6_000 } },
};

const HOST = {
  version: '2.0',
  extensions: {
    durableTask: {
      hubName: '%TASKHUB_NAME%',
      storageProvider: {
        partitionCount: 1,
        maxQueuePollingInterval: '00:00:02',
        workItemQueueVisibilityTimeout: '00:00:30',
        controlQueueVisibilityTimeout: '00:01:00',
      },
    },
  },
};

export interface DrillArguments {
  readonly report: string;
  readonly instances: number;
  readonly withJobs?: boolean | undefined;
  readonly app?: string | undefined;
  readonly file?: string | undefined;
  readonly target?: string | undefined;
  readonly wait: string;
  readonly json?: boolean | undefined;
}

/** The time for calls, on a busy machine, that a take-over may need beyond the lease and a tick. */
const SPARE_MS = 2_000;
/** The drill watches this much longer than the target, so that it can measure a late take-over. */
const PATIENCE_MS = 60_000;

/** `cronlease drill`: kills a deployment of a local cluster while it works, and reports the consequences. */
export async function drill(options: DrillArguments): Promise<number> {
  const waitMs = spanOf(options.wait, '--wait');
  const target = options.target === undefined ? undefined : spanOf(options.target, '--target');
  const report = path.resolve(options.report);
  if (!fs.existsSync(path.dirname(report)))
    throw new UsageError(`--report: there is no folder ${path.dirname(report)}`);
  if (options.withJobs !== true && (options.app ?? options.file) !== undefined) {
    throw new UsageError('--app and --file name your own jobs: add --with-jobs to run them');
  }
  const subject = options.withJobs === true ? ownApp(options) : probeApp();
  // Ctrl+C ends the drill, and every process that it has started.
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupt.abort());
  try {
    const targetMs =
      target ?? Math.max(0, ...subject.jobs.jobs.map(({ leaseMs }) => leaseMs)) + tickGap(subject.folder) + SPARE_MS;
    const drilled = await playDrill({
      subject,
      instances: options.instances,
      waitMs,
      patienceMs: targetMs + PATIENCE_MS,
      onStep: ({ at, what }) => {
        if (options.json !== true) print(`${at}  ${what}`);
      },
      signal: interrupt.signal,
    });
    return tell(report, subject, drilled, targetMs, options.json === true);
  } finally {
    for (const folder of subject.temporary) fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A function app whose jobs do nothing but take time, in its own folder. */
function probeApp(): Subject {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-drill-'));
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, text);
    return file;
  };
  write('package.json', JSON.stringify({ name: 'cronlease-drill', main: 'app.js' }));
  write('host.json', JSON.stringify(HOST));
  write('app.js', `require(${JSON.stringify(path.join(__dirname, '../..', 'drill-app.js'))});\n`);
  const { jobsFile: jobs } = loadFile({ file: write('jobs.json', JSON.stringify({ revision: 1, jobs: JOBS })) });
  return { folder, jobs, job: LONG_JOB, said: 'the probe jobs that come with cronlease', temporary: [folder] };
}

function ownApp({ app = '.', file = path.join(app, DEFAULT_FILE) }: DrillArguments): Subject {
  const folder = path.resolve(app);
  const { jobsFile: jobs } = loadFile({ file });
  return { folder, jobs, job: undefined, said: `those of ${folder}`, temporary: [] };
}

/** The longest time between two fires of the tick timer. */
function tickGap(app: string): Millis {
  return longestGap(tickSchedule({ ...readLocalSettings(app), ...process.env }).nextFire, Date.now());
}

function tell(file: string, subject: Subject, drilled: Drilled, targetMs: Millis, asJson: boolean): number {
  const report = reportOf(file, subject, drilled, targetMs);
  fs.writeFileSync(file, reportText(report));
  if (asJson) printJson(report);
  else {
    const columns: readonly Column<DrillReport['checks'][number]>[] = [
      ['CHECK', ({ name }) => name],
      ['TARGET', ({ target }) => target],
      ['MEASURED', ({ measured }) => measured],
      ['RESULT', ({ ok }) => (ok ? { text: 'met', format: 'green' } : { text: 'missed', format: 'red' })],
    ];
    print(`\n${fittedTable(report.checks, columns, [], Infinity).join('\n')}`);
    for (const line of [...report.duplicates, ...report.losses]) print(line);
    print(`\n${report.ok ? 'Passed' : 'Failed'}: ${file}`);
  }
  return report.ok ? OK : NO;
}

/** The whole report of a drill, which `--json` prints. Times are ISO 8601 in UTC. */
export type DrillReport = ReturnType<typeof reportOf>;

function reportOf(file: string, subject: Subject, drilled: Drilled, targetMs: Millis) {
  const { deployments, steps, stopped, span } = drilled;
  return {
    ...judge(drilled, subject.jobs.jobs, targetMs),
    report: file,
    /** The app whose jobs ran: its folder, or the probe jobs that come with cronlease. */
    app: subject.said,
    machine: `${os.hostname()} (${os.type()} ${os.release()})`,
    versions: { cronlease: VERSION, node: process.version },
    revision: subject.jobs.revision,
    deployments,
    stopped: { ...stopped, at: isoOf(stopped.at) },
    span: { from: isoOf(span.from), until: isoOf(span.until) },
    steps,
  };
}

/** The report for people: Markdown. */
export function reportText(report: DrillReport): string {
  const { ok, versions, machine, span, duplicates, losses } = report;
  const paragraphs = [
    `# Failover drill: ${ok ? 'passed' : 'failed'}`,
    `One of ${report.deployments.length} deployments that coordinate the same jobs was killed while it ran one of ` +
      'them, and started again later. All times are UTC.',
    list([
      `jobs: ${report.app}, revision ${report.revision}`,
      `software: cronlease ${versions.cronlease}, Node ${versions.node}`,
      `where: ${machine}, with a storage emulator and all deployments on it`,
      `watched: ${span.from} to ${span.until}`,
    ]),
    '## Result',
    markdownTable(
      ['check', 'target', 'measured', 'result'],
      report.checks.map(({ name, target, measured, ok }) => [name, target, measured, ok ? 'met' : '**missed**']),
    ),
    ...(duplicates.length === 0 ? [] : ['Duplicates:', list(duplicates)]),
    ...(losses.length === 0 ? [] : ['Losses:', list(losses)]),
    '## Steps',
    markdownTable(
      ['when', 'what'],
      report.steps.map(({ at, what }) => [at, what]),
    ),
    '## Interrupted runs',
    interruptedTable(report),
    '## Every due time',
    'From the ledger.',
    ...report.jobs.flatMap(({ job, dueTimes }) => [`### ${job}`, dueTimesTable(dueTimes)]),
    '## How to read this',
    list([
      'take-over: from the kill until another deployment claimed the run. Its target is the lease of the job, one ' +
        'gap between two ticks, and 2 s.',
      'catch-up: from the kill until every due time before the end of the interrupted run had an outcome.',
      "gap: from the kill until the run's handler worked again.",
      'duplicate: an attempt that started twice, a run that started again after its end or ended twice, or a due ' +
        'time with two outcomes. An interrupted run continues with its next attempt, which is not a duplicate.',
      'loss: a due time without an outcome. A due time that did not run, because the last run was still in progress ' +
        'or a newer due time came, has an outcome with that reason.',
      'The drill ran on one machine: it tests the coordination, but neither a network nor Azure itself.',
    ]),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function interruptedTable({ interrupted }: DrillReport): string {
  if (interrupted.length === 0) return 'None.';
  return markdownTable(
    ['run', 'taken over by', 'take-over', 'gap', 'outcome'],
    interrupted.map(({ runId, takenOverBy, takeOverMs, gapMs, outcome }) => [
      runId,
      takenOverBy ?? 'nobody',
      orNever(takeOverMs),
      orNever(gapMs),
      outcome ?? 'none',
    ]),
  );
}

function dueTimesTable(dueTimes: Verdict['jobs'][number]['dueTimes']): string {
  if (dueTimes.length === 0) return 'Nothing was due.';
  return markdownTable(
    ['due', 'outcome', 'reason', 'late', 'attempts'],
    dueTimes.map(({ scheduledFor, outcome, reason, latenessMs, attempts }) => [
      scheduledFor,
      outcome ?? '**none**',
      reason ?? '',
      latenessMs === null ? '' : `${latenessMs} ms`,
      attempts
        .map(({ deployment, outcome, startedAt }) =>
          startedAt === null ? `${deployment}: ${outcome}` : `${deployment} from ${startedAt}: ${outcome}`,
        )
        .join('; '),
    ]),
  );
}

function orNever(ms: number | null): string {
  return ms === null ? 'never' : formatDuration(ms);
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${escape(line)}`).join('\n');
}

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escape).join(' | ')} |`;
  return [line(heading), line(heading.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Escapes what would end a cell of a table, or a line. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
}
