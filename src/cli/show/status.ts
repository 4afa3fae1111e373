import { parseDuration } from '../../core/duration';
import { showAge } from '../../core/show-time';
import { needsAttention } from '../../core/shown-state';
import { printableJson } from '../../core/text';
import { durationSetting } from '../../functions/settings';
import type { JobStatus, Overview } from '../../manage/schema/jobs';
import { readOverview } from '../../operator/views/overview';

import { type FileAtHand, unknownAnywhere } from '../../operator/subject';
import { systemClock } from '../../system-clock';
import { type FileOptions, atHand, jobsWithTag, loadFile, loadFileIfAny } from '../jobs-file';
import { NO, OK, print, printJson, warn } from '../output';
import { type Screen, type Sight, openScreen, watch } from './screen';
import { selects } from '../../core/job-pattern';
import { type StatusView, statusLines } from './status-text';
import { type StorageOptions, devStorage, openStore } from '../storage';
import { type TimeOptions, timesOf } from '../time';
import { withSignal } from '../../lease/store';

export interface StatusOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly tag?: string | undefined;
  readonly failed?: boolean | undefined;
  readonly watch?: boolean | undefined;
  readonly json?: boolean | undefined;
}

type Reading = (signal?: AbortSignal) => Promise<Overview>;

export async function status(jobs: readonly string[], options: StatusOptions): Promise<number> {
  const file = loadFileIfAny(options);
  const tagged = options.tag === undefined ? undefined : jobsWithTag(loadFile(options), options.tag, options);
  const store = openStore(options);
  const names = tagged?.map(({ name }) => name);
  const select = selection(jobs, names);
  const read: Reading = async (signal) => {
    const all = await readOverview(signal ? withSignal(store, signal) : store, file?.jobsFile.jobs ?? []);
    assertKnown(jobs, all, file && atHand(file, options), store.location);
    const wanted = (job: JobStatus): boolean => !options.failed || needsAttention(job, file !== undefined);
    return { ...all, jobs: all.jobs.filter((job) => select(job.name) && wanted(job)) };
  };
  const seen = options.watch
    ? await follow(read, file !== undefined, options)
    : await once(read, file !== undefined, options);
  return options.failed && seen !== undefined && seen.jobs.length > 0 ? NO : OK;
}

function selection(jobs: readonly string[], tagged: readonly string[] | undefined): (name: string) => boolean {
  return (name) =>
    (jobs.length === 0 || jobs.some((job) => selects(job, name))) && (tagged === undefined || tagged.includes(name));
}

function assertKnown(
  jobs: readonly string[],
  { jobs: known }: Overview,
  file: FileAtHand | undefined,
  location: string,
): void {
  const names = known.map(({ name }) => name);
  const unknown = jobs.find((job) => !names.some((name) => selects(job, name)));
  if (unknown !== undefined) throw unknownAnywhere(unknown, file, { location, jobs: names });
}

async function once(read: Reading, hasFile: boolean, options: StatusOptions): Promise<Overview> {
  const overview = await read();
  if (options.json) {
    printJson(overview);
    return overview;
  }
  for (const problem of overview.problems) warn(problem);
  if (!hasFile) warn('there is no jobs file here: schedules, next due times and tags are not known (add --file FILE)');
  print(lines({ ...overview, problems: [] }, hasFile, options).join('\n'));
  return overview;
}

function lines(
  state: Overview,
  hasFile: boolean,
  options: StatusOptions,
  more: Partial<StatusView> = {},
): readonly string[] {
  const { stdout } = process;
  return statusLines(state, {
    now: Date.parse(state.now),
    width: stdout.isTTY ? stdout.columns : Infinity,
    rows: undefined,
    hasFile,
    show: timesOf(options),
    none: options.failed ? 'No job needs attention' : 'No jobs',
    ...more,
  });
}

/** Shows the state until q or Ctrl+C, or until there is nothing to wait for. */
async function follow(read: Reading, hasFile: boolean, options: StatusOptions): Promise<Overview | undefined> {
  const end = new AbortController();
  const stop = (): void => end.abort();
  for (const signal of ENDS) process.on(signal, stop);
  const isLive = process.stdout.isTTY && options.json !== true;
  const everyMs = pollInterval(options);
  const watched = {
    read,
    everyMs,
    isOver: ({ jobs, deployments }: Overview) => jobs.length + deployments.length === 0 && options.failed !== true,
  };
  try {
    if (!isLive) return await watch({ ...watched, show: printChanges(hasFile, options) }, systemClock, end.signal);
    const live = liveView(stop, (sight) => liveLines(sight, hasFile, everyMs, options));
    try {
      return await watch({ ...watched, show: live.show }, systemClock, end.signal);
    } finally {
      live.close();
      if (live.last !== undefined) print(lines(live.last.state, hasFile, options).join('\n'));
    }
  } finally {
    for (const signal of ENDS) process.off(signal, stop);
  }
}

const ENDS = ['SIGINT', 'SIGTERM'] as const;
/** Often enough for a person who looks at a cluster on the same machine. */
const LEAST_INTERVAL_MS = 2_000;

/** Deployments see what others did at each sweep, so that little is gained by looking more often. */
function pollInterval(options: StorageOptions): number {
  const dev = devStorage(options)?.sweepInterval;
  const sweepMs =
    dev === undefined
      ? durationSetting(process.env, 'CRONLEASE_SWEEP_INTERVAL', 60_000, 1_000, 3_600_000)
      : (parseDuration(dev) ?? LEAST_INTERVAL_MS);
  return Math.max(LEAST_INTERVAL_MS, sweepMs);
}

/** Prints a state if it differs from the last one, for a reader that is not a terminal. */
function printChanges(hasFile: boolean, options: StatusOptions): (sight: Sight<Overview>) => void {
  let last: string | undefined;
  let lastTrouble: string | undefined;
  return ({ state, trouble }) => {
    if (trouble !== undefined && trouble !== lastTrouble) warn(trouble);
    lastTrouble = trouble;
    const key = whatChanges(state);
    if (key === last) return;
    if (options.json) print(printableJson(state));
    else print(`${last === undefined ? '' : '\n'}${lines(state, hasFile, options).join('\n')}`);
    last = key;
  };
}

/** The state without what changes by itself from one reading to the next. */
function whatChanges({ jobs, deployments, maintenance, problems }: Overview): string {
  return JSON.stringify({
    maintenance,
    problems,
    jobs: jobs.map((job) => ({ ...job, currentRun: job.currentRun && { ...job.currentRun, retryAt: null } })),
    deployments: deployments.map((deployment) => ({ ...deployment, tickedAt: null, skewMs: null })),
  });
}

function liveLines(
  { state, ageMs, trouble }: Sight<Overview>,
  hasFile: boolean,
  everyMs: number,
  options: StatusOptions,
): readonly string[] {
  const problems = trouble === undefined ? state.problems : [`${trouble} Shown: the state ${showAge(ageMs)} ago.`];
  return lines({ ...state, problems }, hasFile, options, {
    now: Date.parse(state.now) + ageMs,
    rows: process.stdout.rows,
    note: `  every ${showAge(everyMs)}, q ends`,
  });
}

interface LiveView {
  show(sight: Sight<Overview>): void;
  close(): void;
  readonly last: Sight<Overview> | undefined;
}

/** The picture in the terminal, from the first state on: an error of the first reading is printed as any other. */
function liveView(quit: () => void, linesOf: (sight: Sight<Overview>) => readonly string[]): LiveView {
  let screen: Screen | undefined;
  let last: Sight<Overview> | undefined;
  const repaint = (): void => {
    if (last !== undefined) screen?.paint(linesOf(last));
  };
  const suspend = (resumed: () => void): void => {
    process.once('SIGCONT', resumed);
    process.kill(process.pid, 'SIGTSTP');
  };
  const close = (): void => {
    process.off('exit', close);
    screen?.close();
  };
  return {
    show(sight) {
      last = sight;
      if (screen === undefined) {
        screen = openScreen(process.stdin, process.stdout, { quit, repaint, suspend });
        process.on('exit', close);
      }
      repaint();
    },
    close,
    get last() {
      return last;
    },
  };
}
