import { ForeignMetadataError } from '../../core/metadata';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import { type DecideState, type JobDecision, type RowVersion, type JobListing, decideRow } from '../decide-row';
import { troubled } from '../reachability';
import type { Board } from './board';

/**
 * Decides about one job from a listing, and reports what hinders it.
 *
 * @returns undefined if row or control are not ours: that job is left alone, and the others continue
 */
export async function readAndDecide(
  state: DecideState & { readonly board: Board },
  job: RunnableJob,
  seen: JobListing,
  report: Report,
): Promise<JobDecision | undefined> {
  const { coordinator, board } = state;
  const { health } = coordinator;
  const { name } = job.spec;
  const unreadable = `unreadable ${name}`;
  try {
    const learned = (version: RowVersion): void => board.note(name, 'learned', { version });
    const decided = await decideRow(state, job, { ...board.notes(name), learned }, seen);
    health.over(unreadable);
    warnOfOtherSchedule(state, job, decided, report);
    return decided;
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    const reason = `job "${name}" is left alone: ${error.message}`;
    troubled(coordinator, unreadable, { job: name, reason }, report);
    return undefined;
  }
}

/** Warns once of a schedule that differs from the row's without a higher revision, which is a mistake. */
function warnOfOtherSchedule(
  { coordinator, board }: { readonly coordinator: Coordinator; readonly board: Board },
  { spec }: RunnableJob,
  { row, decision }: JobDecision,
  report: Report,
): void {
  const { health, revision, serviceTime } = coordinator;
  const what = `schedule ${spec.name}`;
  if (decision.kind === 'lowerRevision') {
    const revisionOf = `revision ${String(row.revision)} of the jobs file`;
    const reason =
      `job "${spec.name}" ` +
      (row.forgotten === undefined
        ? `follows ${revisionOf} with another schedule`
        : `was forgotten with ${revisionOf}`) +
      `, and this deployment has revision ${String(revision)}: it does not claim the job; deploy the newer file here too`;
    troubled(coordinator, what, { job: spec.name, reason }, report);
    return;
  }
  health.over(what);
  if (spec.scheduleHash === row.scheduleHash || revision > row.revision || row.forgotten !== undefined) return;
  const reason =
    `job "${spec.name}" has another schedule than before, with the same revision ${String(revision)}: ` +
    'raise "revision" in the jobs file with each change';
  const warned = reason + row.scheduleHash;
  if (board.notes(spec.name).warned === warned) return;
  board.note(spec.name, 'warned', { warned });
  report.event({ event: 'warning', at: serviceTime.now(), job: spec.name, reason });
}
