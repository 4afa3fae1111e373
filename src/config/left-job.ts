import type { JobName } from '../core/brand';
import type { JobSpec } from '../core/job';
import { loadJobs } from './load';

/** In place of the settings of a job that the jobs file no longer has: its schedule is not known, so nothing is due. */
export function leftJob(name: JobName): JobSpec {
  const [spec] = loadJobs({ jobs: { [name]: { schedule: '@manual' } } }).jobsFile.jobs;
  if (spec === undefined) throw new Error(`job "${name}" has no settings`);
  return spec;
}
