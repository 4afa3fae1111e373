import type { EpochMs, JobName } from '../../core/brand';
import { runIdOf } from '../../core/key';
import { isAtRest } from '../../core/row';
import type { CallOptions, LeaseStore } from '../../lease/store';
import { manualRecordAt, recordAt, recordOver } from './find-record';
import { readState } from '../job-state';
import { OperatorError } from '../operator-error';

export interface FoundRun {
  readonly key: string;
  readonly runId: string;
  /** Its row shows that it is over, even if retention has deleted its record. */
  readonly isOver: boolean;
}

/**
 * The run of a due time or manual run, or else the job's current or last run.
 *
 * @throws OperatorError `NoRun`
 */
export async function findRun(
  store: LeaseStore,
  job: JobName,
  time: EpochMs | undefined,
  options?: CallOptions,
): Promise<FoundRun> {
  const { row, lease } = await readState(store, job, options);
  const current = row?.run;
  if (current !== undefined && (time === undefined || current.scheduledFor === time)) {
    return found(job, current.key, row !== undefined && isAtRest(row, lease));
  }
  if (time === undefined) throw new OperatorError('NoRun', `job "${job}" has not run yet`);
  const recorded =
    (await recordAt(store, job, time, options)) ??
    (await manualRecordAt(store, job, time, options)) ??
    (await recordOver(store, job, time, options)).found;
  const at = new Date(time).toISOString();
  if (recorded === undefined) {
    throw new OperatorError(
      'NoRun',
      `there is no run of job "${job}" at ${at}: "cronlease why ${job} ${at}" explains it`,
    );
  }
  if (recorded.record.trigger === null && recorded.record.reason !== 'outcomeUnknown') {
    throw new OperatorError(
      'NoRun',
      `job "${job}" did not run at ${at}: ${String(recorded.record.outcome)}. "cronlease why ${job} ${at}" explains it`,
    );
  }
  return found(job, recorded.key, false);
}

function found(job: JobName, key: string, isOver: boolean): FoundRun {
  return { key, runId: runIdOf(job, key), isOver };
}
