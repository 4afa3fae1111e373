import type { JobName, Millis } from '../../src/core/brand';
import type { Keep } from '../../src/lease/store';

/** The retention of a store in which there are no other jobs. */
export function keepOf(jobs: ReadonlyMap<JobName, Millis>): Keep {
  return { jobs, longestMs: Math.max(...jobs.values()) };
}
