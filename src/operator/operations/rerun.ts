import type { EpochMs } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { recordKey, runIdOf } from '../../core/key';
import type { LeaseStore } from '../../lease/store';
import type { ChangeOptions } from '../change-control';
import { asideRunId, currentRun } from '../job-state';
import { type Explanation, explainTime } from '../views/explain';
import { type FoundRecord, recordOf } from '../views/find-record';
import { shown } from '../views/list-runs';
import { OperatorError } from '../operator-error';
import { type RequestedRun, type WantedRun, requestRun } from './request';

/** An earlier due time or run of a job. */
export interface Rerun extends Pick<WantedRun, 'id' | 'origin' | 'input'> {
  /** The time of the manual run. Default: the storage service's. */
  readonly requestedAt?: EpochMs | undefined;
  /** Its due time, or the time of its manual run. */
  readonly time: EpochMs;
  /** The id of its manual run: a due time may have the same time. Default: whichever is found by `time`. */
  readonly request?: string | undefined;
}

/**
 * Runs an earlier due time again, whatever became of it: a manual run whose handler sees that time as its own. The new
 * run has its own record. Without an `input`, a run that had its own is repeated with it. Decision 102.
 *
 * @param revision of the jobs file that `spec` is from
 * @returns the manual run, and in `of` the earlier run
 * @throws OperatorError `NotDue`, `FutureTime`; `RunGoesOn` if that run is not over; `InputUnreadable`; and as
 *   `requestRun`
 */
export async function rerun(
  store: LeaseStore,
  spec: JobSpec,
  revision: number,
  { time, request, id, requestedAt, origin, input }: Rerun,
  options?: ChangeOptions,
): Promise<RequestedRun & { readonly of: string }> {
  const found = await runOf(store, await explainTime(store, spec, revision, time), request);
  refuse(found);
  const rerunOf = found.record?.rerunOf === undefined ? time : Date.parse(found.record.rerunOf);
  const former = input === undefined ? await formerInput(store, found) : input;
  const wanted = { id, time: requestedAt, origin, rerunOf, input: former };
  const of = found.record?.runId ?? runIdOf(spec.name, recordKey(time));
  return { ...(await requestRun(store, spec, wanted, options)), of };
}

/** The same for the run of a request, if there is one: the time may have another run, which is over. */
async function runOf(store: LeaseStore, atTime: Explanation, request: string | undefined): Promise<Explanation> {
  if (request === undefined) return atTime;
  const {
    job: { name },
    time,
    state,
  } = atTime;
  const key = recordKey(time, request);
  const recorded = await recordOf(store, name, key);
  if (recorded?.record.state === 'final') return ofRecord(atTime, recorded);
  const unended = [asideRunId(name, state.row), await currentRun(store, name, state)];
  return unended.includes(runIdOf(name, key)) ? { ...atTime, outcome: 'running' } : atTime;
}

/** The same for a run that has ended. */
function ofRecord(atTime: Explanation, { record, key }: FoundRecord): Explanation {
  return { ...atTime, outcome: record.outcome ?? 'failed', record: shown(record, key, undefined) };
}

function refuse({ job, time, outcome, due, record }: Explanation): void {
  const at = new Date(time).toISOString();
  switch (outcome) {
    case 'future':
      throw new OperatorError('FutureTime', `job "${job.name}" is due at ${at}, which is ahead: it runs then`);
    case 'running':
    case 'retrying':
    case 'pending':
      throw new OperatorError(
        'RunGoesOn',
        `the run of job "${job.name}" for ${at} is not over: wait until it is, or cancel it`,
      );
    case 'notDue':
      if (due || record !== null) return;
      throw new OperatorError('NotDue', `job "${job.name}" has no due time and no run at ${at}`);
    default:
  }
}

/** The input that the earlier run's own request had, if it is still there. */
async function formerInput(store: LeaseStore, { record, job }: Explanation): Promise<unknown> {
  const [, request] = /-m-([0-9a-z]+)$/.exec(record?.runId.slice(job.name.length) ?? '') ?? [];
  const body = request === undefined ? undefined : await (store.home?.(job.name) ?? store).readRequest(request);
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body) as unknown;
  } catch (cause) {
    const message = `the input of run ${record?.runId ?? ''} was changed by something other than cronlease: give an input`;
    throw new OperatorError('InputUnreadable', message, { cause });
  }
}
