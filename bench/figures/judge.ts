import type { Start } from './records';

/** The jobs and due times that a measurement expects. */
export interface Expected {
  readonly jobs: readonly string[];
  readonly dues: readonly number[];
}

/** The figures of one measurement. Times are in milliseconds. */
export interface Figures {
  /** Jobs times due times. */
  readonly dueTimes: number;
  /** Starts of handlers for them. */
  readonly starts: number;
  /** Starts beyond the first of the same attempt of the same due time. */
  readonly duplicates: number;
  /** Due times without a start. */
  readonly misses: number;
  /** Those of them for which the system has no record of the reason. */
  readonly unrecorded: number;
  readonly lateness: Lateness;
}

/** Of the starts of handlers; NaN without one. */
export interface Lateness {
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The smallest of the values that this share of them does not exceed (nearest rank); NaN of no values. */
export function percentile(sorted: readonly number[], share: number): number {
  const rank = Math.max(1, Math.ceil(sorted.length * share));
  return sorted[rank - 1] ?? Number.NaN;
}

export function latenessOf(values: readonly number[]): Lateness {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    min: sorted[0] ?? Number.NaN,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** @param isRecorded - whether the system's own records show why a due time had no run */
export function judge(
  starts: readonly Start[],
  { jobs, dues }: Expected,
  isRecorded: (job: string, due: number) => boolean = () => false,
): Figures {
  const wanted = new Set(dues);
  const known = new Set(jobs);
  const counted = starts.filter(({ job, due }) => known.has(job) && wanted.has(due));
  const attempts = new Set(counted.map(({ job, due, attempt }) => `${job} ${String(due)} ${String(attempt)}`));
  const started = new Set(counted.map(({ job, due }) => `${job} ${String(due)}`));
  const missed = jobs.flatMap((job) =>
    dues.filter((due) => !started.has(`${job} ${String(due)}`)).map((due) => ({ job, due })),
  );
  return {
    dueTimes: jobs.length * dues.length,
    starts: counted.length,
    duplicates: counted.length - attempts.size,
    misses: missed.length,
    unrecorded: missed.filter(({ job, due }) => !isRecorded(job, due)).length,
    // A later attempt starts when the first one has failed: that is not a lateness of the schedule.
    lateness: latenessOf(counted.filter(({ attempt }) => attempt === 1).map(({ due, at }) => at - due)),
  };
}
