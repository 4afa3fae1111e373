import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Millis } from '../../core/brand';
import { parseDuration } from '../../core/duration';
import { isoOf } from '../../core/iso';
import type { JobsFile } from '../../core/job';
import { decodePresence } from '../../core/presence';
import { longestGap, tickSchedule } from '../../functions/settings';
import { readLocalSettings } from '../../local/host/app-folder';
import { listRuns } from '../../operator/views/runs';
import { DEFAULT_CONTAINER } from '../../stores/open';
import { VERSION } from '../../version';
import { UsageError } from '../cli-error';
import { DEFAULT_FILE, loadFile } from '../jobs-file';
import { NO, OK, print, printJson, style, table } from '../output';
import { openStore } from '../storage';
import { type Records, judge, undecided } from './judge';
import { type DrillLedger, type Drilled, playDrill } from './play';
import { type DrillReport, reportText, stepShape } from './report';

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

interface Subject {
  readonly folder: string;
  readonly jobs: JobsFile;
  /** The job whose run is interrupted; undefined: any. */
  readonly job: string | undefined;
  readonly said: string;
  /** Folders that are removed after the drill, however it ends. */
  readonly temporary: readonly string[];
}

/** The time for calls, on a busy machine, that a take-over may need beyond the lease and a tick. */
const SPARE_MS = 2_000;
/** The drill watches this much longer than the target, so that it can measure a late take-over. */
const PATIENCE_MS = 60_000;
const RECORDS_AT_MOST = 20_000;

/** `cronlease drill`: kills a deployment of a local cluster while it works, and reports the consequences. */
export async function drill(options: DrillArguments): Promise<number> {
  const waitMs = span(options.wait, '--wait');
  const target = options.target === undefined ? undefined : span(options.target, '--target');
  const report = path.resolve(options.report);
  if (!fs.existsSync(path.dirname(report)))
    throw new UsageError(`--report: there is no folder ${path.dirname(report)}`);
  if (options.withJobs !== true && (options.app ?? options.file) !== undefined) {
    throw new UsageError('--app and --file name your own jobs: add --with-jobs to run them');
  }
  const subject = options.withJobs === true ? ownApp(options) : probeApp();
  const interrupt = watchSignals();
  try {
    const targetMs =
      target ?? Math.max(0, ...subject.jobs.jobs.map(({ leaseMs }) => leaseMs)) + tickGap(subject.folder) + SPARE_MS;
    const drilled = await playDrill<Records>({
      app: subject.folder,
      temporary: subject.temporary,
      instances: options.instances,
      container: DEFAULT_CONTAINER,
      job: subject.job,
      waitMs,
      patienceMs: targetMs + PATIENCE_MS,
      ledger: (storage) => ledgerOf(storage, subject.jobs),
      onStep: ({ at, what }) => {
        if (options.json !== true) print(`${new Date(at).toISOString()}  ${what}`);
      },
      signal: interrupt.signal,
    });
    return tell(report, subject, drilled, targetMs, options.json === true);
  } finally {
    interrupt.dispose();
    for (const folder of subject.temporary) fs.rmSync(folder, { recursive: true, force: true });
  }
}

function span(text: string, option: string): Millis {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UsageError(`${option} ${JSON.stringify(text)} is not a duration: use a form such as 30s, 10m or 1h30m`);
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

function ledgerOf(storage: string, { jobs }: JobsFile): DrillLedger<Records> {
  const store = openStore({ storage, container: DEFAULT_CONTAINER });
  const read = async (): Promise<Records> => {
    const names = jobs.map(({ name }) => name);
    return (await listRuns(store, names, await store.list(), RECORDS_AT_MOST)).records.map((record) => ({
      ...record,
      outcome: record.outcome === 'running' || record.outcome === 'retrying' ? null : record.outcome,
    }));
  };
  return {
    prepare: () => store.prepare(),
    read,
    undecided: async (within) => undecided(jobs, within, await read()).length,
    async ticking() {
      const { presences } = await store.listPresences();
      return new Map([...presences].map(([name, { metadata }]) => [name, decodePresence(metadata).instance]));
    },
  };
}

function tell(file: string, subject: Subject, drilled: Drilled<Records>, targetMs: Millis, asJson: boolean): number {
  const { steps, stopped, span } = drilled;
  const verdict = judge(drilled, subject.jobs.jobs, targetMs);
  const report: DrillReport = {
    ...verdict,
    report: file,
    app: subject.said,
    machine: `${os.hostname()} (${os.type()} ${os.release()})`,
    versions: { cronlease: VERSION, node: process.version },
    revision: subject.jobs.revision,
    deployments: drilled.deployments,
    stopped: { ...stopped, at: isoOf(stopped.at) },
    span: { from: isoOf(span.from), until: isoOf(span.until) },
    steps: steps.map(stepShape),
  };
  fs.writeFileSync(file, reportText(report));
  if (asJson) printJson(report);
  else {
    const mark = (ok: boolean): string => (ok ? style('green', 'met') : style('red', 'missed'));
    const rows = verdict.checks.map(({ name, target, measured, ok }) => [name, target, measured, mark(ok)]);
    print(`\n${table(['CHECK', 'TARGET', 'MEASURED', 'RESULT'], rows)}`);
    for (const line of [...verdict.duplicates, ...verdict.losses]) print(line);
    print(`\n${verdict.ok ? 'Passed' : 'Failed'}: ${file}`);
  }
  return verdict.ok ? OK : NO;
}

/** Ctrl+C ends the drill, and every process that it has started. */
function watchSignals(): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, abort);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const signal of signals) process.off(signal, abort);
    },
  };
}
