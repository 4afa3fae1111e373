import type { JobName } from '../../core/brand';
import { isoOf } from '../../core/iso';
import type { LeaseStore } from '../../lease/store';
import type { Cancelled } from '../../manage/schema/actions';
import { type Acting, operate } from '../audit';
import { type ChangeOptions, changeControl } from '../change-control';
import { asideRunId, currentRun, stateIn } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { endAside, endRunOf } from './forget';
import { missingNotices, type LeaseTaker, letGo, takeLease, writeStretches } from './take-lease';

export interface CancelTerms {
  /** The run that must be the one in progress. Default: any. */
  readonly runId?: string | undefined;
  /** Whether the caller has a jobs file: without one, it is not known whether the file lacks the job. */
  readonly hasFile: boolean;
}

/** Cancels the run in progress, or ends the waiting run of a job that the caller's jobs file lacks. */
export function cancel(acting: Acting, subject: Subject, { runId, hasFile }: CancelTerms): Promise<Cancelled> {
  return operate(acting, 'cancel', subject.name, async () => {
    const wanted = { ...acting, runId };
    const made = hasFile ? await cancelOrEnd(acting, subject, wanted) : await cancelRun(acting.store, subject, wanted);
    return {
      answer: { ...made, job: subject.name, requestedAt: isoOf(made.requestedAt) },
      before: { runId: made.runId },
      after: { cancelling: made.runId },
    };
  });
}

export interface CancelledRun {
  readonly runId: string;
  /** When the cancel was requested, by the storage service's clock. */
  readonly requestedAt: number;
  /**
   * `holder`: an attempt is running, and ends at its next renewal. `tick`: the run is waiting, and the next tick that
   * may continue it ends it. `caller`: no file has the job, so that no tick looks at it, and it was ended at once.
   */
  readonly endedBy: 'holder' | 'tick' | 'caller';
}

/** Throws `OperatorError` `NothingRuns`; `OtherRun` if the run in progress is not the wanted one; `RunGoesOn`. */
export function cancelRun(
  store: LeaseStore,
  subject: Subject,
  options?: ChangeOptions & { readonly runId?: string | undefined },
): Promise<CancelledRun> {
  const { name } = subject;
  return changeControl(store, subject, options, async (state) => {
    const { row, control, now, lease } = state;
    const current = await currentRun(store, name, state);
    const aside = asideRunId(name, row);
    const runId = aside !== undefined && options?.runId === aside ? aside : (current ?? aside);
    if (runId === undefined) {
      const unseen = row === undefined ? ': no coordinator has seen it yet' : '';
      throw new OperatorError('NothingRuns', `job "${name}" has no run in progress${unseen}`);
    }
    if (options?.runId !== undefined && options.runId !== runId) {
      const wanted = `run ${options.runId} of job "${name}" has not begun, or is over`;
      throw new OperatorError('OtherRun', `${wanted}: ${runId} is in progress`);
    }
    // A control holds one request, and the other run has not read it.
    if (control.cancel !== undefined && control.cancel !== runId && [current, aside].includes(control.cancel)) {
      throw new OperatorError('RunGoesOn', `run ${control.cancel} of job "${name}" is to end first: try again then`);
    }
    const endedBy = lease === 'held' && runId === current ? 'holder' : 'tick';
    const result: CancelledRun = { runId, requestedAt: now, endedBy };
    return { control: control.cancel === runId ? undefined : { ...control, cancel: runId }, result };
  });
}

/** As {@link cancelRun}, but the waiting run of a job that the caller's jobs file lacks is ended at once. */
export async function cancelOrEnd(
  desk: LeaseTaker,
  subject: Subject,
  options?: Parameters<typeof cancelRun>[2],
): Promise<CancelledRun> {
  const asked = await cancelRun(desk.store, subject, options);
  if (subject.spec !== undefined || asked.endedBy === 'holder') return asked;
  return (await endLeftRun(desk, subject.name, asked.runId)) ? { ...asked, endedBy: 'caller' } : asked;
}

/**
 * Ends the waiting run of a job that was removed from the jobs file, as cancelled: no tick looks at the job, so that a
 * request would have no effect. Returns false if this run is not the one in progress, or an instance holds the job.
 * Throws `OperatorError` `Contended`.
 */
async function endLeftRun(desk: LeaseTaker, job: JobName, wanted: string): Promise<boolean> {
  const listing = await desk.store.list({ job });
  const seen = listing.jobs.get(job)?.row;
  const { row, lease, control, now } = stateIn(listing, job);
  if (seen === undefined || row === undefined || lease === 'held') return false;
  const current = await currentRun(desk.store, job, { row, lease });
  const isAside = current === undefined && asideRunId(job, row) === wanted;
  if (current !== wanted && !isAside) return false;
  const holding = await takeLease(desk, job, seen);
  const ended = await (isAside ? endAside : endRunOf)(desk, holding, row, now);
  await writeStretches(desk, holding, row.owed);
  // Released, the row would say that these notices exist. Otherwise whoever claims it next creates them.
  const telling = lease === 'available' ? [] : ended.telling;
  const missing = await missingNotices(desk.store, job, telling, control);
  if (missing.length === 0) await letGo(desk, holding);
  return true;
}
