import type { EpochMs, Millis } from './brand';

/** How early the claims of a burst may begin, and how fast they come. */
export interface Pace {
  /** The look-ahead where little is due. */
  readonly lookAheadMs: Millis;
  /** No look-ahead is longer, because a lease must last past the start of the run. */
  readonly mostMs: Millis;
  /** How many claims this process makes every second. */
  readonly perSecond: number;
}

const BUCKET_MS = 1_000;
/** The share of the usual look-ahead that is left when the last claim of a burst is made. */
const SPARE_SHARE = 0.5;

/**
 * The look-ahead of each due time, so that the claims of all that is due by then can be made in time. It grows with the
 * number of due times, and stays as it is where few are due. Decision 018.
 *
 * @param due the actual due times that this process expects to claim
 * @returns the look-ahead of a due time
 */
export function lookAheads(due: Iterable<EpochMs>, { lookAheadMs, mostMs, perSecond }: Pace): (at: EpochMs) => Millis {
  const counts = new Map<number, number>();
  for (const at of due) {
    const bucket = Math.floor(at / BUCKET_MS);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const starts = new Map<number, Millis>();
  let startOfNext = Infinity;
  for (const [bucket, count] of [...counts].sort(([a], [b]) => b - a)) {
    const at = bucket * BUCKET_MS;
    // All claims of this second are made before those of the next one must begin.
    const start = Math.min(at, startOfNext) - (count / perSecond) * 1000;
    const ahead = lookAheadMs * SPARE_SHARE + at - start;
    starts.set(bucket, Math.max(lookAheadMs, Math.min(mostMs, ahead)));
    startOfNext = start;
  }
  return (at) => starts.get(Math.floor(at / BUCKET_MS)) ?? lookAheadMs;
}
