import type { EpochMs } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import type { CallOptions, LeaseStore } from '../../lease/store';
import { type Explanation, explainTime } from './explain';

/**
 * Explains an instant of a job that the jobs file no longer has, by row and ledger alone: nobody knows its schedule.
 *
 * @param job has no schedule
 * @param file the jobs file, for people
 */
export async function explainLeft(
  store: LeaseStore,
  job: JobSpec,
  time: EpochMs,
  file: string,
  options?: CallOptions,
): Promise<Explanation> {
  const { name } = job;
  // Of any revision: the schedule of the row is certainly another one.
  const found = await explainTime(store, job, Infinity, time, options);
  const goesOn = found.outcome === 'retrying' || found.reason === 'requested';
  const warning = `job "${name}" is not in ${file}: no deployment with this file runs it, or continues its run`;
  const remedy = goesOn
    ? `. End it with "cronlease cancel ${name}", or remove the job with "cronlease forget ${name}"`
    : '';
  const reason = found.outcome === 'notDue' ? 'notInFile' : found.reason;
  return { ...found, reason, warnings: [...found.warnings, warning + remedy] };
}
