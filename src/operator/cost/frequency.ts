import type { EpochMs, Millis } from '../../core/brand';
import { type HubWork, handOverWork } from '../../core/batch';
import { type JobSpec, actualTime } from '../../core/job';

const DAY_MS: Millis = 86_400_000;
export const MONTH_DAYS = 30;
const MONTH_MS = MONTH_DAYS * DAY_MS;
const MONTH_SECONDS = MONTH_MS / 1_000;
const YEAR_MS = 365 * DAY_MS;
export const TICK_MS: Millis = 15_000;
export const MONTH_TICKS = MONTH_MS / TICK_MS;
/**
 * The templates' ticks fire at :10, :25, :40 and :55, and hand over what is due within so many seconds. A tick stays until
 * the last of them before the next tick, and an attempt waits in its activity from then to its due time.
 */
const TICKS = { everySeconds: 15, atSecond: 10, lookAheadSeconds: 5 };
/** A job with fewer due times in the next month is counted over a year. */
const SELDOM = 4;
/** Searches in all, and for each job: some seconds of work. */
const SEARCHES = { all: 5_000_000, atLeast: 1_000 };

export interface Frequency {
  /** Due times a month, by job; for a job that is due rarely a fraction. */
  readonly dueTimes: ReadonlyMap<string, number>;
  readonly dueTicks: number;
  /** For how many seconds a month the ticks of a deployment keep their instance busy, each for a second at least. */
  readonly tickSeconds: number;
  /** Jobs that are due so often that only the first part of the month was counted. */
  readonly extrapolated: number;
  /** For how many seconds a month the runs of a job keep an instance busy, by job. */
  readonly busySeconds: ReadonlyMap<string, number>;
  /** For how many seconds a month instances are busy with runs. What runs at the same time on one instance counts once. */
  readonly activeSeconds: number;
  /** What the task hubs do for one run, on average: what is due in the same second is handed over together. */
  readonly handOver: HubWork;
}

/** How long runs take, and over how many deployments they spread. */
export interface Load {
  readonly deployments: number;
  /** Whole seconds for which a run's handler keeps its instance busy. */
  readonly secondsOf: (spec: JobSpec) => number;
}

/** Counts the due times of the 30 days after an instant. The work is bounded, whatever the jobs are. */
export function countDueTimes(specs: readonly JobSpec[], after: EpochMs, load: Load): Frequency {
  const enabled = specs.filter((spec) => spec.enabled);
  const timed = enabled.filter(({ kind }) => kind === 'timed');
  const budget = Math.max(SEARCHES.atLeast, Math.floor(SEARCHES.all / Math.max(1, timed.length)));
  const month = new Month(after);
  const dueTimes = new Map<string, number>();
  const busySeconds = new Map<string, number>();
  let extrapolated = 0;
  let busiest = 0;
  const { secondsOf } = load;
  // Those that are due at the same times and take equally long are counted once.
  const alike = Map.groupBy(timed, (spec) => `${spec.scheduleHash} ${spec.offsetMs} ${secondsOf(spec)}`);
  for (const jobs of alike.values()) {
    const [spec] = jobs;
    if (spec === undefined) continue;
    const count = countOf(spec, { month, budget, seconds: secondsOf(spec), jobs: jobs.length });
    for (const { name } of jobs) {
      dueTimes.set(name, count.perMonth);
      busySeconds.set(name, count.busySeconds);
    }
    if (!count.isWhole) {
      extrapolated += jobs.length;
      busiest = Math.max(busiest, Math.min(count.perMonth, MONTH_MS / TICK_MS));
    }
  }
  for (const { name } of enabled.filter(({ kind }) => kind === 'always')) {
    month.busy(0, MONTH_SECONDS, 1);
    busySeconds.set(name, MONTH_SECONDS);
  }
  const counted = month.ticks();
  const dueTicks = Math.max(counted.due, Math.round(busiest));
  return {
    dueTimes,
    dueTicks,
    tickSeconds: MONTH_TICKS - dueTicks + (counted.due === 0 ? 0 : (counted.seconds / counted.due) * dueTicks),
    extrapolated,
    busySeconds,
    activeSeconds: month.activeSeconds(load.deployments),
    handOver: month.handOver(load.deployments),
  };
}

/** The ticks that find something due, with the seconds for which they stay, and how many runs keep an instance busy. */
class Month {
  readonly #ticks = new Uint8Array(MONTH_TICKS);
  /** The change of the number of busy runs at every second. */
  readonly #changes = new Int32Array(MONTH_SECONDS + 1);

  /** The runs that are due in every second. */
  readonly #runs = new Int32Array(MONTH_SECONDS + 1);
  readonly #first: number;

  constructor(readonly after: EpochMs) {
    this.#first = tickAt(Math.floor(after / 1_000) - TICKS.lookAheadSeconds);
  }

  due(at: EpochMs, jobs: number): void {
    const second = Math.floor((at - this.after) / 1_000);
    if (second >= 0 && second < this.#runs.length) this.#runs[second] = (this.#runs[second] ?? 0) + jobs;
    const claimed = Math.floor(at / 1_000) - TICKS.lookAheadSeconds;
    const tick = tickAt(claimed);
    const stays = Math.max(1, claimed - (tick * TICKS.everySeconds + TICKS.atSecond));
    const index = (tick - this.#first) % this.#ticks.length;
    this.#ticks[index] = Math.max(this.#ticks[index] ?? 0, stays);
  }

  /** @param from seconds after the start of the month */
  busy(from: number, to: number, jobs: number): void {
    const [first, last] = [Math.max(0, from), Math.min(MONTH_SECONDS, to)];
    if (first >= last) return;
    this.#changes[first] = (this.#changes[first] ?? 0) + jobs;
    this.#changes[last] = (this.#changes[last] ?? 0) - jobs;
  }

  ticks(): { readonly due: number; readonly seconds: number } {
    return {
      due: this.#ticks.filter((stays) => stays > 0).length,
      seconds: this.#ticks.reduce((sum, stays) => sum + stays, 0),
    };
  }

  /** Runs of one second go to as many deployments as there are, and those of one deployment to one instance. */
  activeSeconds(deployments: number): number {
    let runs = 0;
    let active = 0;
    for (const change of this.#changes) {
      runs += change;
      active += Math.min(deployments, runs);
    }
    return active;
  }

  /** The work for one run: each deployment hands over its share of what is due in a second. */
  handOver(deployments: number): HubWork {
    const all = { runs: 0, orchestrations: 0, activities: 0, turns: 0 };
    const seconds = new Map<number, number>();
    for (const due of this.#runs) if (due > 0) seconds.set(due, (seconds.get(due) ?? 0) + 1);
    for (const [due, count] of seconds) {
      all.runs += count * due;
      for (let index = 0; index < deployments; index += 1) {
        const work = handOverWork(Math.floor((due + index) / deployments));
        all.orchestrations += count * work.orchestrations;
        all.activities += count * work.activities;
        all.turns += count * work.turns;
      }
    }
    if (all.runs === 0) return handOverWork(1);
    const { runs, orchestrations, activities, turns } = all;
    return { orchestrations: orchestrations / runs, activities: activities / runs, turns: turns / runs };
  }
}

interface Count {
  readonly perMonth: number;
  readonly isWhole: boolean;
  readonly busySeconds: number;
}

interface Counting {
  readonly month: Month;
  readonly budget: number;
  readonly seconds: number;
  readonly jobs: number;
}

function countOf(spec: JobSpec, { month, budget, seconds, jobs }: Counting): Count {
  const { after } = month;
  let count = 0;
  let busySeconds = 0;
  for (let due = spec.timetable.next(after); due !== undefined && due <= after + MONTH_MS;) {
    count += 1;
    const at = actualTime(spec, due);
    month.due(at, jobs);
    const start = Math.floor((at - after) / 1_000);
    month.busy(start - TICKS.lookAheadSeconds, start + seconds, jobs);
    busySeconds += TICKS.lookAheadSeconds + seconds;
    if (count >= budget) {
      month.busy(start + seconds, MONTH_SECONDS, jobs);
      const factor = MONTH_MS / (due - after);
      return { perMonth: count * factor, isWhole: false, busySeconds: busySeconds * factor };
    }
    due = spec.timetable.next(due);
  }
  if (count >= SELDOM || spec.at !== undefined) return { perMonth: count, isWhole: true, busySeconds };
  const rare = seldom(spec, after, budget);
  return { ...rare, busySeconds: rare.perMonth * (TICKS.lookAheadSeconds + seconds) };
}

/** The number of the tick that serves a second, counted from 1970. */
function tickAt(second: number): number {
  return Math.floor((second - TICKS.atSecond) / TICKS.everySeconds);
}

function seldom({ timetable }: JobSpec, after: EpochMs, budget: number): Omit<Count, 'busySeconds'> {
  let count = 0;
  for (let due = timetable.next(after); due !== undefined && due <= after + YEAR_MS; due = timetable.next(due)) {
    if (count >= budget) return { perMonth: (count * MONTH_MS) / YEAR_MS, isWhole: false };
    count += 1;
  }
  return { perMonth: (count * MONTH_MS) / YEAR_MS, isWhole: true };
}
