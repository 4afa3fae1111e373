import type { JobName } from '../../core/brand';
import { isoOf } from '../../core/iso';
import type { Cancelled } from '../../manage/schema/actions';
import { type Acting, operate } from '../audit';
import { changeControl } from '../change-control';
import { asideRunId, currentRun, stateIn } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { endAside, endRunOf } from './forget';
import { missingNotices } from './left-notices';
import { type LeaseTaker, letGo, takeLease, writeStretches } from './take-lease';

export interface CancelTerms {
  /** The run that must be the one in progress. Default: any. */
  readonly runId?: string | undefined;
  /** Whether the caller has a jobs file: without one, it is not known whether the file lacks the job. */
  readonly hasFile: boolean;
}

/**
 * Cancels the run in progress, or ends the waiting run of a job that the caller's jobs file lacks. Throws
 * `OperatorError` `NothingRuns`; `OtherRun` if the run in progress is not the wanted one; `RunGoesOn`; `Contended`.
 */
export function cancel(acting: Acting, subject: Subject, { runId: wanted, hasFile }: CancelTerms): Promise<Cancelled> {
  return operate(acting, 'cancel', subject.name, async () => {
    const asked = await request(acting, subject, wanted);
    const { runId } = asked;
    const isLeft = hasFile && subject.spec === undefined && asked.endedBy !== 'holder';
    const isEnded = isLeft && (await endLeftRun(acting, subject.name, runId));
    const answer = { ...asked, endedBy: isEnded ? 'caller' : asked.endedBy, job: subject.name } as const;
    return { answer, before: { runId }, after: { cancelling: runId } };
  });
}

function request(
  acting: Acting,
  subject: Subject,
  wanted: string | undefined,
): Promise<Pick<Cancelled, 'runId' | 'requestedAt' | 'endedBy'>> {
  const { name } = subject;
  return changeControl(acting, subject, async (state) => {
    const { row, control, now, lease } = state;
    const current = await currentRun(acting.store, name, state);
    const aside = asideRunId(name, row);
    const runId = aside !== undefined && wanted === aside ? aside : (current ?? aside);
    if (runId === undefined) {
      const unseen = row === undefined ? ': no coordinator has seen it yet' : '';
      throw new OperatorError('NothingRuns', `job "${name}" has no run in progress${unseen}`);
    }
    if (wanted !== undefined && wanted !== runId) {
      const problem = `run ${wanted} of job "${name}" has not begun, or is over`;
      throw new OperatorError('OtherRun', `${problem}: ${runId} is in progress`);
    }
    // A control holds one request, and the other run has not read it.
    if (control.cancel !== undefined && control.cancel !== runId && [current, aside].includes(control.cancel)) {
      throw new OperatorError('RunGoesOn', `run ${control.cancel} of job "${name}" is to end first: try again then`);
    }
    const endedBy = lease === 'held' && runId === current ? 'holder' : 'tick';
    return {
      control: control.cancel === runId ? undefined : { ...control, cancel: runId },
      result: { runId, requestedAt: isoOf(now), endedBy },
    };
  });
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
