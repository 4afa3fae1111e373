import type { JobName, Millis } from '../../core/brand';
import type { Listing } from '../../lease/store';
import type { Coordinator, RunnableJob } from '../coordinator';
import { act } from './act';
import type { Fire, TickState } from './fire';
import type { Looked, Seen } from './look';
import { isForeign, look } from './look';
import type { JobNotes } from './notes';
import { afterLook, lookStarted, lookTime, SWEEP, upcomingAt } from './notes';

/** A listing, or the part of one that has been read. */
export interface Shown {
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
  const looks: Promise<void>[] = [];
  for (const name of names) {
    const seen = changed(state, fire, shown, name);
    if (seen !== undefined) looks.push(decideOn(state, fire, runnable(state.coordinator, name), seen));
  }
  await Promise.all(looks);
}

export function runnable({ jobs }: Coordinator, name: JobName): RunnableJob {
  const job = jobs.get(name);
  if (job === undefined) throw new Error(`job "${name}" is not in this instance's jobs file`);
  return job;
}

/** A listed row that needs a decision. */
interface Changed extends Seen {
  /** ETags and lease. */
  readonly version: string;
}

/** Undefined if the last decision about the job stands. Of many idle jobs nothing but the ETag is read. */
function changed(state: TickState, fire: Fire, { listing, askedAt }: Shown, name: JobName): Changed | undefined {
  const { coordinator, board, hubWatch, actions } = state;
  const notes = board.notes(name);
  const seen = listing.jobs.get(name);
  if (isActing(notes)) return undefined;
  if (seen?.row === undefined) {
    // Somebody removed the row. The next sweep creates it again.
    notes.next = SWEEP;
    return undefined;
  }
  const { row, control, date: listedAt } = seen;
  const givesBack = hubWatch.sawRow(name, row, askedAt, fire.report);
  if (givesBack !== undefined) actions.start(givesBack);
  const version = `${row.etag} ${row.lease} ${control?.etag ?? ''}`;
  // While the version is the same, the decision on an available row stands until the noted time.
  const isCalm = row.lease === 'available' && (lookTime(notes.next) ?? Infinity) > coordinator.serviceTime.now();
  return isCalm && notes.decidedOn === version ? undefined : { row, control, listedAt, version };
}

async function decideOn(
  state: TickState,
  fire: Fire,
  job: RunnableJob,
  { version, ...listed }: Changed,
): Promise<void> {
  const { coordinator, board } = state;
  const { serviceTime } = coordinator;
  const notes = board.notes(job.spec.name);
  const before = notes.next;
  notes.next = lookStarted(before, serviceTime.now());
  const looked = await look(coordinator, job, notes, listed, fire.report);
  // Another tick of this process may have begun to act meanwhile.
  if (isActing(notes)) return;
  notes.decidedOn = version;
  if (looked === undefined) {
    notes.next = SWEEP;
    notes.inFlight = false;
    return;
  }
  const { decision, row } = looked;
  notes.next = afterLook(before, decision, { isForeign: isForeign(coordinator, row), now: serviceTime.now() });
  notes.upcoming = decision.kind === 'nothing' ? upcomingAt(job.spec, decision.upcoming) : undefined;
  notes.inFlight = isInFlight(looked);
  act(state, fire, job, looked);
}

function isActing({ next }: JobNotes): boolean {
  return next.kind === 'acting';
}

function isInFlight({ decision, row, lease }: Looked): boolean {
  // An expired row without anything to do is settled.
  const isExpired = lease === 'expired' && decision.kind !== 'nothing';
  return lease === 'held' || isExpired || row.phase === 'retrying' || row.phase === 'fanning';
}
