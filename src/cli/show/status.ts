import { parseDuration } from '../../core/duration';
import { selects } from '../../core/job-pattern';
import { showAge } from '../../core/show-time';
import { needsAttention } from '../../core/shown-state';
import { printableJson } from '../../core/text';
import { durationSetting } from '../../functions/settings';
import type { Overview } from '../../manage/schema/jobs';
import { unknownAnywhere } from '../../operator/subject';
import { readOverview } from '../../operator/views/overview';
import { systemClock } from '../../system-clock';
import type { Options } from '../commands/command';
import { atHand, jobsTagged, loadFileIfAny } from '../jobs-file';
import { NO, OK, print, printJson, warn } from '../output';
import { withSignal } from '../../lease/store';
import { devStorage, openStore, type StorageOptions } from '../storage';
import { timesOf } from '../time';
import { openScreen, type Screen, type Sight, watch } from './screen';
import { statusLines, type StatusView } from './status-text';

interface StatusOptions extends Options {
  readonly failed?: boolean;
  readonly watch?: boolean;
}

type Reading = (signal?: AbortSignal) => Promise<Overview>;
type LinesOf = (state: Overview, more?: Partial<StatusView>) => readonly string[];

export async function status(jobs: readonly string[], options: StatusOptions): Promise<number> {
  const file = loadFileIfAny(options);
  const hasFile = file !== undefined;
  const tagged = jobsTagged(options)?.map(({ name }) => name);
  const store = openStore(options);
  const isSelected = (name: string): boolean =>
    (jobs.length === 0 || jobs.some((job) => selects(job, name))) &&
    (tagged === undefined || tagged.some((one) => one === name));
  const read: Reading = async (signal) => {
    const all = await readOverview(signal ? withSignal(store, signal) : store, file?.jobsFile.jobs ?? []);
    const names = all.jobs.map(({ name }) => name);
    const unknown = jobs.find((job) => !names.some((name) => selects(job, name)));
    if (unknown !== undefined) {
      throw unknownAnywhere(unknown, atHand(file, options), { location: store.location, jobs: names });
    }
    const selected = all.jobs.filter(({ name }) => isSelected(name));
    return { ...all, jobs: options.failed ? selected.filter((job) => needsAttention(job, hasFile)) : selected };
  };
  const show = timesOf(options);
  const linesOf: LinesOf = (state, more = {}) =>
    statusLines(state, {
      now: Date.parse(state.now),
      width: process.stdout.isTTY ? process.stdout.columns : Infinity,
      hasFile,
      show,
      none: options.failed ? 'No job needs attention' : 'No jobs',
      ...more,
    });
  const seen = options.watch ? await follow(read, linesOf, options) : await read();
  if (!options.watch && seen !== undefined) {
    if (options.json) printJson(seen);
    else {
      for (const problem of seen.problems) warn(problem);
      if (!hasFile)
        warn('there is no jobs file here: schedules, next due times and tags are not known (add --file FILE)');
      print(linesOf({ ...seen, problems: [] }).join('\n'));
    }
  }
  return options.failed && seen !== undefined && seen.jobs.length > 0 ? NO : OK;
}

const ENDS = ['SIGINT', 'SIGTERM'] as const;

/** Shows the state until q or Ctrl+C, or until there is nothing to wait for. */
async function follow(read: Reading, linesOf: LinesOf, options: StatusOptions): Promise<Overview | undefined> {
  const end = new AbortController();
  const stop = (): void => end.abort();
  for (const signal of ENDS) process.on(signal, stop);
  const everyMs = pollInterval(options);
  const isLive = process.stdout.isTTY && options.json !== true;
  const { show, close } = isLive ? liveView(stop, linesOf, everyMs) : changesView(linesOf, options);
  const isOver = ({ jobs, deployments }: Overview): boolean =>
    jobs.length + deployments.length === 0 && options.failed !== true;
  try {
    return await watch({ read, everyMs, isOver, show }, systemClock, end.signal);
  } finally {
    close();
    for (const signal of ENDS) process.off(signal, stop);
  }
}

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

interface View {
  show(sight: Sight<Overview>): void;
  close(): void;
}

/** Prints a state if it differs from the last one, for a reader that is not a terminal. */
function changesView(linesOf: LinesOf, options: StatusOptions): View {
  let last: string | undefined;
  let lastTrouble: string | undefined;
  return {
    show({ state, trouble }) {
      if (trouble !== undefined && trouble !== lastTrouble) warn(trouble);
      lastTrouble = trouble;
      const key = whatChanges(state);
      if (key === last) return;
      if (options.json) print(printableJson(state));
      else print(`${last === undefined ? '' : '\n'}${linesOf(state).join('\n')}`);
      last = key;
    },
    close: () => undefined,
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

/** The picture in the terminal, from the first state on: an error of the first reading is printed as any other. */
function liveView(quit: () => void, linesOf: LinesOf, everyMs: number): View {
  let screen: Screen | undefined;
  let last: Sight<Overview> | undefined;
  const repaint = (): void => {
    if (last === undefined) return;
    const { state, ageMs, trouble } = last;
    const problems = trouble === undefined ? state.problems : [`${trouble} Shown: the state ${showAge(ageMs)} ago.`];
    const lines = linesOf(
      { ...state, problems },
      {
        now: Date.parse(state.now) + ageMs,
        rows: process.stdout.rows,
        note: `  every ${showAge(everyMs)}, q ends`,
      },
    );
    screen?.paint(lines);
  };
  const suspend = (resumed: () => void): void => {
    process.once('SIGCONT', resumed);
    process.kill(process.pid, 'SIGTSTP');
  };
  const leave = (): void => screen?.close();
  return {
    show(sight) {
      last = sight;
      if (screen === undefined) {
        screen = openScreen(process.stdin, process.stdout, { quit, repaint, suspend });
        process.on('exit', leave);
      }
      repaint();
    },
    close() {
      process.off('exit', leave);
      leave();
      if (last !== undefined) print(linesOf(last.state).join('\n'));
    },
  };
}
