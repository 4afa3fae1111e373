import type { EpochMs, LeaseId } from '../../core/brand';
import type { Claim, Decision } from '../../core/decide/situation';
import { claimTime } from '../../core/decide/verdict';
import { claimRank } from '../../core/priority';
import { StoreError } from '../../lease/store';
import type { RunnableJob } from '../coordinator';
import { turnOf } from '../give-back';
import { storageAnswers, storageTroubled } from '../reachability';
import { hasRoom, hubKeepsUp, isEarly, leaseFor } from './early';
import type { Fire, TickState } from './fire';
import { CLAIMS_AT_ONCE } from './fire';
import type { Looked } from './look';
import { HOLD_BACK_MS, isSilent, SWEEP, WATCH_AT_MOST_MS, upcomingAt, WATCH_FIRST_MS } from './notes';
import { handOver } from './race';
import { writeDecided } from './write-decided';

const ROOM_AGAIN_MS = 1_000;

/** A look that found something due. */
interface Due extends Looked {
  readonly decision: Extract<Decision, { kind: 'claim' | 'record' }>;
  readonly lease: 'available' | 'expired';
}

/** Starts the claim or the record that a look found due, unless something forbids it. Looks continue meanwhile. */
export function act(state: TickState, fire: Fire, job: RunnableJob, looked: Looked): void {
  const notes = state.board.notes(job.spec.name);
  if (notes.next.kind !== 'ready' || !isDue(looked) || state.coordinator.stopping) return;
  fire.due.add(job.spec.name);
  if (isSilent(looked.decision)) tellSilence(state, fire, job, looked);
  if (looked.decision.kind === 'claim' && !mayClaim(state, fire, job, { ...looked, claim: looked.decision.claim })) {
    notes.decidedOn = undefined;
    return;
  }
  notes.next = { kind: 'acting' };
  const lookedAt = state.coordinator.clock.monotonic();
  state.actions.start(
    state.gate(
      async () => {
        // While this waited, others were faster with another job, so they may have taken this one too.
        if (state.lostAt > lookedAt) lookAgain(state, job);
        else await writeOnce(state, fire, job, looked);
      },
      claimRank(job.spec, dueTime(looked.decision)),
    ),
  );
}

function lookAgain({ board, coordinator }: TickState, { spec }: RunnableJob): void {
  const notes = board.notes(spec.name);
  notes.decidedOn = undefined;
  // It has held back for others already.
  notes.next = { kind: 'holdBack', until: coordinator.serviceTime.now() };
}

async function writeOnce(state: TickState, fire: Fire, job: RunnableJob, looked: Due): Promise<void> {
  const isClaim = looked.decision.kind === 'claim';
  const won = await write(state, fire, job, looked).catch((error: unknown) => failed(state, fire, job, error));
  if (won === true && isClaim) fire.handedOver += 1;
  if (won === false && isClaim) state.lostAt = state.coordinator.clock.monotonic();
  over(state, fire, job, looked.decision, won);
}

function isDue(looked: Looked): looked is Due {
  return (looked.decision.kind === 'claim' || looked.decision.kind === 'record') && looked.lease !== 'held';
}

/** Logs silent items once. This deployment's own task hub may be the one that runs none, so it must be proven. */
function tellSilence({ coordinator, board, hubWatch }: TickState, { report }: Fire, job: RunnableJob, due: Due): void {
  const notes = board.notes(job.spec.name);
  if (notes.version === undefined || notes.version.silenceTold === true) return;
  notes.version = { ...notes.version, silenceTold: true };
  report.log('warn', `job "${job.spec.name}": nobody has worked on the items of its run for 45 s`);
  if (due.row.incumbent === coordinator.deployment) hubWatch.lookAtHub();
}

/** Whether to race for the claim now. Otherwise the notes hold the state that it waits for. */
function mayClaim(
  { coordinator, board, hubWatch, actions }: TickState,
  fire: Fire,
  { spec }: RunnableJob,
  { claim, etag }: Due & { readonly claim: Claim },
): boolean {
  const notes = board.notes(spec.name);
  if (coordinator.cordon !== undefined) {
    // The others go on. The sweep that finds the cordon lifted decides anew.
    notes.next = SWEEP;
    return false;
  }
  if (!hubWatch.mayRace) {
    notes.next = { kind: 'waitsForHub' };
    return false;
  }
  if (isEarly(coordinator, spec, claim) && !hasRoom(coordinator, actions)) {
    notes.next = { kind: 'rest', at: coordinator.serviceTime.now() + ROOM_AGAIN_MS };
    return false;
  }
  if (hubWatch.isLeft(spec, turnOf(claim, etag))) {
    notes.next = { kind: 'holdBack', until: coordinator.serviceTime.now() + WATCH_AT_MOST_MS };
    return false;
  }
  if (claim.run.kind === 'term') {
    // A term is due once a tick, so that a handler that returns at once is not called without end.
    notes.inFlight = true;
    if (notes.termOfFire === fire.number) return false;
    notes.termOfFire = fire.number;
  }
  return true;
}

/** Returns false if somebody else was faster. */
async function write(
  { coordinator, board, overdue }: TickState,
  { hub, report }: Fire,
  job: RunnableJob,
  { decision, etag, lease }: Due,
): Promise<boolean> {
  const { name } = job.spec;
  const notes = board.notes(name);
  // An acquisition of this row that got no answer is repeated under the same id, as a renewal.
  if (notes.unanswered?.etag !== etag) {
    const leaseId = coordinator.newId() as LeaseId;
    notes.unanswered = { etag, lease, leaseId, leaseMs: leaseFor(coordinator, job.spec, claimOf(decision)) };
  }
  const { leaseId, leaseMs } = notes.unanswered;
  if (decision.kind === 'record') return writeDecided(coordinator, job, { row: decision.row, etag, leaseId }, report);
  if (isEarly(coordinator, job.spec, decision.claim) && !(await hubKeepsUp(coordinator))) return false;
  const claim = { ...decision.claim, row: overdue.told(name, decision.claim.row) };
  return handOver(coordinator, hub, job, { claim, etag, lease, leaseId, leaseMs });
}

function dueTime(decision: Due['decision']): EpochMs {
  return decision.kind === 'claim' && decision.claim.run.kind === 'known' ? decision.claim.run.scheduledFor : 0;
}

function claimOf(decision: Due['decision']): Claim | undefined {
  return decision.kind === 'claim' ? decision.claim : undefined;
}

function failed(state: TickState, { report }: Fire, job: RunnableJob, error: unknown): undefined {
  if (error instanceof StoreError) {
    storageTroubled(state.coordinator, 'writing', error, report);
    return;
  }
  // An orchestration may have started with this lease.
  state.board.notes(job.spec.name).unanswered = undefined;
  state.hubWatch.failed(job, error, report);
}

/** @param won undefined if unknown */
function over(
  { coordinator, board, actions, claimRate }: TickState,
  { report }: Fire,
  job: RunnableJob,
  decision: Due['decision'],
  won: boolean | undefined,
): void {
  const notes = board.notes(job.spec.name);
  if (won !== undefined) {
    notes.unanswered = undefined;
    storageAnswers(coordinator, 'writing', report);
  }
  if (notes.version !== undefined) notes.version = { ...notes.version, beat: undefined };
  notes.decidedOn = undefined;
  notes.inFlight = true;
  if (won === true && decision.kind === 'claim' && actions.count > CLAIMS_AT_ONCE) {
    claimRate.handedOver(coordinator.clock.monotonic());
  }
  const { lookAheadMs } = coordinator.settings;
  notes.next = { kind: 'rest', at: lookAfter(job, decision, { won, now: coordinator.serviceTime.now(), lookAheadMs }) };
  notes.upcoming =
    won === true && decision.kind === 'claim' && job.spec.kind === 'timed' && decision.claim.run.kind === 'known'
      ? upcomingAt(job.spec, job.spec.timetable.next(decision.claim.row.cursor))
      : undefined;
}

/** When to look again after a claim, won or lost. Ticks also look at every job in flight, regardless of this. */
function lookAfter(
  { spec }: RunnableJob,
  decision: Due['decision'],
  { won, now, lookAheadMs }: { readonly won: boolean | undefined; readonly now: EpochMs; readonly lookAheadMs: number },
): EpochMs {
  if (decision.kind === 'record' && won === true) return now;
  // A backlog continues as soon as the run that was just claimed may be over.
  const soon = now + (won === true ? WATCH_FIRST_MS : HOLD_BACK_MS);
  if (won === undefined || decision.kind !== 'claim' || decision.claim.run.kind === 'term') return soon;
  const next = spec.timetable.next(decision.claim.row.cursor);
  return next === undefined ? soon : Math.max(soon, claimTime(spec, next, lookAheadMs));
}
