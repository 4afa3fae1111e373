import type { EpochMs } from './brand';
import { windowMs } from './decide/verdict';
import type { JobSpec } from './job';
import type { Rank } from './ranked-queue';

/** Claims of what is due together: the higher priority first, then what would expire sooner. */
export function claimRank(job: JobSpec): Rank {
  return [-job.priority, windowMs(job)];
}

/** Handlers that wait for a free slot: the higher priority first, then what has been due for longer. */
export function startRank({ priority }: Pick<JobSpec, 'priority'>, due: EpochMs): Rank {
  return [-priority, due];
}
