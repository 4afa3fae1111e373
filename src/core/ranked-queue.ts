import type { EpochMs } from './brand';
import { windowMs } from './decide/verdict';
import type { JobSpec } from './job';

/** A place in an order: compared number by number, the smaller one first. */
export type Rank = readonly number[];

/** Values that wait in the order of their ranks. Among equal ranks the first to come is the first to leave. */
export interface RankedQueue<T> {
  readonly size: number;
  /** The returned function takes the value out again, unless it has left the queue. */
  add(rank: Rank, value: T): () => void;
  shift(): T | undefined;
}

export function rankedQueue<T>(): RankedQueue<T> {
  const waiting: { readonly rank: Rank; readonly value: T }[] = [];
  return {
    get size() {
      return waiting.length;
    },
    add(rank, value) {
      const entry = { rank, value };
      waiting.splice(placeOf(rank), 0, entry);
      return () => {
        const index = waiting.indexOf(entry);
        if (index >= 0) waiting.splice(index, 1);
      };
    },
    shift: () => waiting.shift()?.value,
  };

  /** The place behind all that do not come after this rank. Thousands wait in a burst, so it is searched by halves. */
  function placeOf(rank: Rank): number {
    let [low, high] = [0, waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareRanks(waiting[middle]?.rank ?? [], rank) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function compareRanks(one: Rank, other: Rank): number {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [a, b] = [one[index] ?? 0, other[index] ?? 0];
    // Not their difference: that of two infinite ones is none.
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/**
 * Claims of what is due: the higher priority first, then what would expire sooner, then what has been due for longer.
 * Back-fills come last. Decision 017.
 *
 * @param due 0 for what has no due time, such as a leader job's term
 */
export function claimRank(job: JobSpec, due: EpochMs = 0, isBackfilled = false): Rank {
  return [isBackfilled ? 1 : 0, -job.priority, windowMs(job), due];
}

/** Handlers that wait: by priority, then by how long they have been due. Back-fills come last. Decision 068. */
export function startRank({ priority }: Pick<JobSpec, 'priority'>, due: EpochMs, isBackfilled: boolean): Rank {
  return [isBackfilled ? 1 : 0, -priority, due];
}
