import type { EpochMs } from './brand';
import { windowMs } from './decide/verdict';
import type { JobSpec } from './job';
import type { Rank } from './ranked-queue';

/**
 * Claims of what is due: the higher priority first, then what would expire sooner, then what has been due for longer.
 * Back-fills come last. Decision 017.
 *
 * @param due 0 for what has no due time, such as a leader job's term
 */
export function claimRank(job: JobSpec, due: EpochMs = 0, isBackfilled = false): Rank {
  return [isBackfilled ? 1 : 0, -job.priority, windowMs(job), due];
}

/**
 * Handlers that wait for the concurrency limit: the higher priority first, then what has been due for longer.
 * Back-fills come last. Decision 068.
 */
export function startRank({ priority }: Pick<JobSpec, 'priority'>, due: EpochMs, isBackfilled: boolean): Rank {
  return [isBackfilled ? 1 : 0, -priority, due];
}
