import type { JobName } from '../core/brand';

/** The name under which metrics count all jobs above the limit. No job can have it. */
export const OTHER_JOBS = '_other';

/** Each distinct job would be its own series, so only the first ones of the jobs file have one. */
export function jobNames(jobs: Iterable<JobName>, limit: number): (job: JobName) => string {
  const named = new Set([...jobs].slice(0, limit));
  return (job) => (named.has(job) ? job : OTHER_JOBS);
}
