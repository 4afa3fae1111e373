import { type Rank, rankedQueue } from '../core/ranked-queue';

export type Gate = <T>(task: () => Promise<T>, rank?: Rank) => Promise<T>;

/** Lets at most `limit` tasks run side by side; the others wait by their ranks. */
export function createGate(limit: number): Gate {
  let running = 0;
  const waiting = rankedQueue<() => void>();
  return async (task, rank = []) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.add(rank, resolve));
    try {
      return await task();
    } finally {
      // The next task takes this one's place: a newcomer cannot slip in between.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
