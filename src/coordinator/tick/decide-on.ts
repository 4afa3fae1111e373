import type { JobName, Millis } from '../../core/brand';
import { ForeignMetadataError } from '../../core/metadata';
import type { Listing } from '../../lease/store';
import type { Coordinator, RunnableJob, Report } from '../coordinator';
import {
  type JobDecision,
  type JobListing,
  isForeign,
  type DecideState,
  type RowVersion,
  decideRow,
} from '../decide-row';
import { lookAfterLeft } from '../lost-run';
import { troubled } from '../reachability';
import { act } from './act';
import type { Board } from './board';
import type { Fire, TickState } from './fire';
import { checkTime, upcomingAt } from './notes';

/** A listing, or the part of one that has been read. */
interface Shown {
  readonly listing: Listing;
  /** When it was requested, on the monotonic clock. Later changes may be missing. */
  readonly askedAt: Millis;
}

/** Decides about each job from a listing, and starts due work. */
export async function decideOnAll(
  state: TickState,
  fire: Fire,
  shown: Shown,
  names: readonly JobName[],
): Promise<void> {
  const { board, coordinator, required } = state;
  for (const name of required.saw(shown.listing)) {
    board.note(name, 'requiredChanged', { now: coordinator.serviceTime.now() });
  }
  await Promise.all(
    names.flatMap((name) => {
      const seen = changed(state, fire, shown, name);
      return seen === undefined ? [] : [decideOn(state, fire, runnable(coordinator, name), seen)];
    }),
  );
}

export function runnable({ jobs }: Coordinator, name: JobName): RunnableJob {
  const job = jobs.get(name);
  if (job === undefined) throw new Error(`job "${name}" is not in this instance's jobs file`);
  return job;
}

interface Changed extends JobListing {
  /** ETags and lease. */
  readonly version: string;
}

/** Undefined if the last decision about the job stands. Of many idle jobs nothing but the ETag is read. */
function changed(state: TickState, fire: Fire, { listing, askedAt }: Shown, name: JobName): Changed | undefined {
  const { coordinator, board, hubWatch, background } = state;
  const notes = board.notes(name);
  const seen = listing.jobs.get(name);
  if (notes.next.kind === 'acting') return undefined;
  if (seen?.row === undefined) {
    board.note(name, 'rowGone', null);
    return undefined;
  }
  const { row, control, date: listedAt } = seen;
  background.start(hubWatch.sawRow(name, row, askedAt, fire.report));
  const version = `${row.etag} ${row.lease} ${control?.etag ?? ''}`;
  // While the version is the same, the decision on an available row stands until the noted time.
  const isCalm = row.lease === 'available' && (checkTime(notes.next) ?? Infinity) > coordinator.serviceTime.now();
  return isCalm && notes.decidedOn === version ? undefined : { row, control, listedAt, version };
}

async function decideOn(
  state: TickState,
  fire: Fire,
  job: RunnableJob,
  { version, ...listed }: Changed,
): Promise<void> {
  const { coordinator, board, required } = state;
  const { serviceTime } = coordinator;
  const { name } = job.spec;
  const { next: before, decidedOn } = board.notes(name);
  board.note(name, 'checkStarted', { now: serviceTime.now() });
  const versions = required.versions(job.spec);
  const decided = await readAndDecide(state, job, listed, fire.report);
  // Another tick of this process may have begun to act meanwhile.
  if (board.notes(name).next.kind === 'acting') return;
  if (decided === undefined) {
    board.note(name, 'leftAlone', { decidedOn: version });
    return;
  }
  const { decision, row } = decided;
  board.note(name, 'decided', {
    before,
    decision,
    isForeign: isForeign(coordinator, row),
    now: serviceTime.now(),
    decidedOn: version,
    // Required rows that changed during the check, by a claim of this process too, found no state to leave.
    wasMoved: required.versions(job.spec) !== versions,
    upcoming: decision.kind === 'nothing' ? upcomingAt(job.spec, decision.upcoming) : undefined,
    inFlight: isInFlight(decided),
  });
  if (version !== decidedOn && isLeft(decided)) {
    state.background.start(state.gate(() => lookAfterLeft(coordinator, job, decided, fire.report)));
  }
  act(state, fire, job, decided);
}

/** Whether no claim will find out how the run of several attempts ended that has this free row. */
function isLeft({ decision, row, lease }: JobDecision): boolean {
  return (
    decision.kind === 'nothing' &&
    decision.upcoming === undefined &&
    lease === 'available' &&
    row.phase === 'running' &&
    row.attempt > 1
  );
}

function isInFlight({ decision, row, lease }: JobDecision): boolean {
  // An expired row without anything to do is settled.
  const isExpired = lease === 'expired' && decision.kind !== 'nothing';
  return lease === 'held' || isExpired || row.phase === 'retrying' || row.phase === 'fanning';
}

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
