import type { JobName } from '../../core/brand';
import { type CancelledRun, cancelRun } from '../cancel';
import { endRunOf } from './forget';
import { currentRun, stateIn } from '../job-state';
import { missingNotices } from './left-notices';
import type { Subject } from '../subject';
import { type Desk, letGo, takeLease, writeStretches } from './take-lease';

/**
 * Cancels a job's run. The waiting run of a job that the caller's jobs file lacks is ended at once.
 *
 * @throws as {@link cancelRun}; OperatorError `Contended`
 */
export async function cancelOrEnd(
  desk: Desk,
  subject: Subject,
  options?: Parameters<typeof cancelRun>[2],
): Promise<CancelledRun> {
  const asked = await cancelRun(desk.store, subject, options);
  if (subject.spec !== undefined || asked.endedBy === 'holder') return asked;
  return (await endLeftRun(desk, subject.name)) === asked.runId ? { ...asked, endedBy: 'caller' } : asked;
}

/**
 * Ends the waiting run of a job that was removed from the jobs file, as cancelled: no tick looks at the job, so that
 * nobody would obey a request.
 *
 * @returns the run; undefined if no run waits: none is in progress, or an instance holds the job
 * @throws OperatorError `Contended`
 */
async function endLeftRun(desk: Desk, job: JobName): Promise<string | undefined> {
  const listing = await desk.store.list({ job });
  const seen = listing.jobs.get(job)?.row;
  const { row, lease, control, now } = stateIn(listing, job);
  if (seen === undefined || row === undefined || lease === 'held') return undefined;
  const runId = await currentRun(desk.store, job, { row, lease });
  if (runId === undefined) return undefined;
  const holding = await takeLease(desk, job, seen);
  const ended = await endRunOf(desk, holding, row, now);
  await writeStretches(desk, holding, row.owed);
  // Released, the row would say that these notices exist. Otherwise whoever claims it next creates them.
  const missing = await missingNotices(desk.store, job, ended.telling, control);
  if (missing.length === 0) await letGo(desk, holding);
  return runId;
}
