import type { EpochMs, Millis } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { actualTime } from '../../core/job';

const DAY_MS: Millis = 86_400_000;
export const MONTH_DAYS = 30;
const MONTH_MS = MONTH_DAYS * DAY_MS;
const YEAR_MS = 365 * DAY_MS;
/** Ticks fire this often. */
export const TICK_MS: Millis = 15_000;
/** A job with fewer due times in the next month is counted over a year. */
const SELDOM = 4;
/** Searches in all, and for each job: some seconds of work. */
const SEARCHES = { all: 5_000_000, atLeast: 1_000 };

export interface Frequency {
  /** Due times a month, by job; for a job that is due seldom a fraction. */
  readonly dueTimes: ReadonlyMap<string, number>;
  /** How many ticks a month find something due. */
  readonly dueTicks: number;
  /** Jobs that are due so often that only the first part of the month was counted. */
  readonly extrapolated: number;
}

interface Count {
  readonly perMonth: number;
  readonly isWhole: boolean;
}

/**
 * Counts the due times of the 30 days after an instant. Jobs of one schedule are counted once. The work is bounded,
 * however many the jobs are and however often they are due.
 */
export function countDueTimes(specs: readonly JobSpec[], after: EpochMs): Frequency {
  const timed = specs.filter(({ kind, enabled }) => kind === 'timed' && enabled);
  const budget = Math.max(SEARCHES.atLeast, Math.floor(SEARCHES.all / Math.max(1, timed.length)));
  const ticks = new Uint8Array(MONTH_MS / TICK_MS);
  const known = new Map<string, Count>();
  const dueTimes = new Map<string, number>();
  let extrapolated = 0;
  let busiest = 0;
  for (const spec of timed) {
    const key = `${spec.scheduleHash} ${spec.offsetMs}`;
    const count = known.get(key) ?? countOf(spec, after, budget, ticks);
    known.set(key, count);
    dueTimes.set(spec.name, count.perMonth);
    if (!count.isWhole) {
      extrapolated += 1;
      busiest = Math.max(busiest, Math.min(count.perMonth, MONTH_MS / TICK_MS));
    }
  }
  const seen = ticks.reduce((sum, tick) => sum + tick, 0);
  return { dueTimes, dueTicks: Math.max(seen, Math.round(busiest)), extrapolated };
}

function countOf(spec: JobSpec, after: EpochMs, budget: number, ticks: Uint8Array): Count {
  let count = 0;
  for (let due = spec.timetable.next(after); due !== undefined && due <= after + MONTH_MS;) {
    count += 1;
    ticks[Math.floor((actualTime(spec, due) - after) / TICK_MS) % ticks.length] = 1;
    if (count >= budget) return { perMonth: (count * MONTH_MS) / (due - after), isWhole: false };
    due = spec.timetable.next(due);
  }
  if (count >= SELDOM || spec.at !== undefined) return { perMonth: count, isWhole: true };
  return seldom(spec, after, budget);
}

function seldom({ timetable }: JobSpec, after: EpochMs, budget: number): Count {
  let count = 0;
  for (let due = timetable.next(after); due !== undefined && due <= after + YEAR_MS; due = timetable.next(due)) {
    if (count >= budget) return { perMonth: (count * MONTH_MS) / YEAR_MS, isWhole: false };
    count += 1;
  }
  return { perMonth: (count * MONTH_MS) / YEAR_MS, isWhole: true };
}
