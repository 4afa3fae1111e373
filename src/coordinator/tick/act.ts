import type { EpochMs, LeaseId, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { type Claim, type Decision, isBackfilled } from '../../core/decide/situation';
import { claimTime } from '../../core/decide/verdict';
import { formatDuration } from '../../core/duration';
import { claimLease, leaseOverWait } from '../../core/early-claim';
import { actualTime, type JobSpec } from '../../core/job';
import { type Rank, claimRank } from '../../core/ranked-queue';
import { completed } from '../../core/recent';
import { isOrchestration, silentAfterMs } from '../../handler/handlers';
import type { Row } from '../../core/row';
import { type Lease, acquire } from '../../lease/acquire';
import { StoreError } from '../../lease/store';
import { Trust } from '../../lease/trust';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import type { JobDecision } from '../decide-row';
import { turnOf } from '../hand-overs';
import { holdRow } from '../held';
import { storageAnswers, storageTroubled } from '../reachability';
import { type Background, CLAIMS_AT_ONCE, type Fire, type TickState } from './fire';
import { claimsOf } from './bounds';
import {
  HOLD_BACK_MS,
  type NextCheck,
  READY,
  SWEEP,
  WATCH_AT_MOST_MS,
  WATCH_FIRST_MS,
  isSilent,
  upcomingAt,
} from './notes';
import { handOver, withLastRun } from './race';

const ROOM_AGAIN_MS = 1_000;
/** A look at all jobs is worth one lost acquisition for each so many of them, and then the rest is looked at again. */
const JOBS_PER_LOSS = 100;

/** A decision that something is due. */
interface Due extends JobDecision {
  readonly decision: Extract<Decision, { kind: 'claim' | 'record' }>;
  readonly lease: 'available' | 'expired';
}

/** Starts the claim or the record that is due, unless something forbids it. Checks continue meanwhile. */
export function act(state: TickState, fire: Fire, job: RunnableJob, decided: JobDecision): void {
  const { board, coordinator } = state;
  const { name } = job.spec;
  if (board.notes(name).next.kind !== 'ready' || !isDue(decided) || coordinator.stopping) return;
  if (!isAllowed(coordinator, decided)) {
    // The sweep that finds the list settled decides again.
    board.note(name, 'putOff', { next: SWEEP });
    return;
  }
  fire.due.add(name);
  const { decision } = decided;
  if (isSilent(decision)) tellSilence(state, fire, job, decided);
  const next =
    decision.kind === 'claim' ? waitsFor(state, fire, job, { ...decided, claim: decision.claim }) : undefined;
  if (next !== undefined) {
    board.note(name, 'putOff', { next });
    return;
  }
  board.note(name, 'actionStarted', null);
  const lossesBefore = state.losses;
  state.background.start(
    state.gate(
      async () => {
        // While this waited, others were faster with other jobs, so they may have taken this one too.
        const isOutdated = state.losses - lossesBefore > coordinator.jobs.size / JOBS_PER_LOSS;
        if (isOutdated) board.note(name, 'actionOutdated', { now: coordinator.serviceTime.now() });
        else await writeOnce(state, fire, job, decided);
      },
      rankOf(job, decision),
    ),
  );
}

function rankOf({ spec }: RunnableJob, decision: Due['decision']): Rank {
  if (decision.kind !== 'claim') return claimRank(spec, 0, false);
  const { claim } = decision;
  return claimRank(spec, claim.run.kind === 'known' ? claim.run.scheduledFor : 0, isBackfilled(claim));
}

async function writeOnce(state: TickState, fire: Fire, job: RunnableJob, decided: Due): Promise<void> {
  const won = await write(state, fire, job, decided).catch((error: unknown) => failed(state, fire, job, error));
  if (decided.decision.kind === 'claim') {
    if (won === true) fire.handedOver += 1;
    if (won === undefined) state.coordinator.telemetry?.claimed(job.spec.name, 'race', 'unknown');
    if (won === false) state.losses += 1;
  }
  over(state, fire, job, decided.decision, won);
}

function isDue(decided: JobDecision): decided is Due {
  return (decided.decision.kind === 'claim' || decided.decision.kind === 'record') && decided.lease !== 'held';
}

/** While rows may be on their way to other accounts, only runs that have begun continue. */
function isAllowed(coordinator: Coordinator, { decision, lease }: Due): boolean {
  const claims = claimsOf(coordinator);
  if (claims !== 'begun') return claims === 'all';
  // A record on an expired row may be the end of a run whose holder has died.
  return decision.kind === 'claim' ? decision.claim.what !== 'first' : lease === 'expired';
}

/** Logs silent items once. This deployment's own task hub may be the one that runs none, so it must be proven. */
function tellSilence({ coordinator, board, hubWatch }: TickState, { report }: Fire, job: RunnableJob, due: Due): void {
  const { version } = board.notes(job.spec.name);
  if (version === undefined || version.silenceTold === true) return;
  board.note(job.spec.name, 'silenceTold', null);
  const what = isOrchestration(job.handler) ? 'has beaten for the orchestration' : 'has worked on the items';
  const lasted = formatDuration(silentAfterMs(job.handler));
  report.log('warn', `job "${job.spec.name}": no instance ${what} of its run for ${lasted}`);
  if (due.row.incumbent === coordinator.deployment) hubWatch.demandProof();
}

/** The state that a due claim waits for; undefined: this process may race for it now. */
function waitsFor(
  { coordinator, board, hubWatch, background, orchestrations }: TickState,
  fire: Fire,
  job: RunnableJob,
  { claim, etag }: Due & { readonly claim: Claim },
): NextCheck | undefined {
  // The others go on. The sweep that finds the cordon lifted decides again.
  if (coordinator.cordon !== undefined || !orchestrations.mayStart(job)) return SWEEP;
  if (!hubWatch.mayRace) return { kind: 'waitsForHub' };
  const { spec } = job;
  const now = coordinator.serviceTime.now();
  if (isEarly(coordinator, spec, claim) && !hasRoom(coordinator, background)) {
    return { kind: 'rest', at: now + ROOM_AGAIN_MS };
  }
  if (hubWatch.isLeft(spec.name, turnOf(claim, etag))) return { kind: 'holdBack', until: now + WATCH_AT_MOST_MS };
  if (claim.run.kind !== 'term') return undefined;
  const { termOfFire } = board.notes(spec.name);
  board.note(spec.name, 'termDue', { fire: fire.number });
  return termOfFire === fire.number ? READY : undefined;
}

/** Returns false if another instance was faster. */
async function write(
  { coordinator, batches, board, overdue, hubWatch, orchestrations }: TickState,
  { hub, report, untilNext }: Fire,
  job: RunnableJob,
  { decision, etag, lease, row: before }: Due,
): Promise<boolean> {
  const { name } = job.spec;
  const lengthOf = (): Millis => {
    if (decision.kind === 'record') return job.spec.leaseMs;
    const { claim } = decision;
    // An expired lease can be a hand-over that took too long, or a holder that could not renew. It is not given back.
    const mustWait = lease === 'expired' || hubWatch.keeps(name, turnOf(claim, etag));
    return leaseFor(coordinator, job.spec, claim, mustWait);
  };
  // An acquisition of this row that got no answer is repeated under the same id, as a renewal.
  let { unanswered } = board.notes(name);
  if (unanswered?.etag !== etag) {
    const leaseId = coordinator.newId() as LeaseId;
    unanswered = { etag, lease, leaseId, leaseMs: lengthOf() };
    board.note(name, 'acquires', { unanswered });
  }
  const { leaseId, leaseMs } = unanswered;
  if (decision.kind === 'record') {
    // Once the record of the run is deleted, only the row shows how it ended.
    const isLast = decision.row.phase === 'settled';
    const row = isLast
      ? await withLastRun(coordinator, name, { row: decision.row, before }, coordinator.serviceTime.now())
      : decision.row;
    return writeDecided(coordinator, job, row, { etag, leaseId, leaseMs }, report);
  }
  if (isEarly(coordinator, job.spec, decision.claim) && !(await hubKeepsUp(coordinator))) return false;
  if (decision.claim.isSilent === true && (await orchestrations.goesOn(job, before, hub, report))) return false;
  const claim = { ...decision.claim, row: overdue.told(name, decision.claim.row) };
  const releases = (): void => board.note(name, 'leaseUsed', null);
  const { invocation } = report;
  const terms = { etag, lease, before, leaseId, leaseMs, releases, invocation };
  const member = batches.join();
  try {
    const begin: Parameters<typeof handOver>[1] = (...own) =>
      // A term lasts as long as its host allows, and so would its activity.
      claim.run.kind === 'term' ? hub.start(...own) : member.start(hub, ...own);
    const won = await handOver(coordinator, begin, job, { claim, ...terms });
    if (won) hubWatch.handedOver(name, untilNext());
    if (won) orchestrations.handedOver(job);
    return won;
  } finally {
    member.leave();
  }
}

function failed(state: TickState, { report }: Fire, job: RunnableJob, error: unknown): undefined {
  if (error instanceof StoreError) {
    storageTroubled(state.coordinator, 'writing', error, report);
    return;
  }
  // An orchestration may have started with this lease.
  state.board.note(job.spec.name, 'leaseUsed', null);
  state.hubWatch.failed(job, error, report);
}

/** @param won undefined if unknown */
function over(
  { coordinator, board, background, claimRate, required }: TickState,
  { report }: Fire,
  job: RunnableJob,
  decision: Due['decision'],
  won: boolean | undefined,
): void {
  for (const name of won === true ? required.claimed(job.spec.name) : []) {
    board.note(name, 'requiredChanged', { now: coordinator.serviceTime.now() + WATCH_FIRST_MS });
  }
  if (won !== undefined) storageAnswers(coordinator, 'writing', report);
  if (won === true && decision.kind === 'claim' && background.count > CLAIMS_AT_ONCE) {
    claimRate.handedOver(coordinator.clock.monotonic());
  }
  const { lookAheadMs } = coordinator.settings;
  board.note(job.spec.name, 'actionOver', {
    won,
    nextCheckAt: checkAfter(job, decision, { won, now: coordinator.serviceTime.now(), lookAheadMs }),
    upcoming:
      won === true && decision.kind === 'claim' && job.spec.kind === 'timed' && decision.claim.run.kind === 'known'
        ? upcomingAt(job.spec, job.spec.timetable.next(decision.claim.row.cursor))
        : undefined,
  });
}

/** When to check again after a claim, won or lost. Ticks also check every job in flight, regardless of this. */
function checkAfter(
  { spec }: RunnableJob,
  decision: Due['decision'],
  { won, now, lookAheadMs }: { readonly won: boolean | undefined; readonly now: EpochMs; readonly lookAheadMs: number },
): EpochMs {
  if (decision.kind === 'record' && won === true) return now;
  // A backlog continues as soon as the run that was just claimed may be over.
  const soon = now + (won === true ? WATCH_FIRST_MS : HOLD_BACK_MS);
  if (won === undefined || decision.kind !== 'claim' || decision.claim.run.kind === 'term') return soon;
  if (decision.claim.hasBacklog === true) return soon;
  const next = spec.timetable.next(decision.claim.row.cursor);
  return next === undefined ? soon : Math.max(soon, claimTime(spec, next, lookAheadMs));
}

/**
 * Carries out a decision that gives due times their outcomes and runs nothing, in the order of a claim: acquire, row,
 * records, release.
 *
 * @param row undefined: the lease is acquired and left to expire, so that a run that seemed over continues
 * @returns false if another instance was faster
 */
async function writeDecided(
  coordinator: Coordinator,
  job: RunnableJob,
  row: Row | undefined,
  lease: Lease,
  report: Report,
): Promise<boolean> {
  // Nothing renews this lease, so the tick stops after half of it.
  const trust = Trust.unrenewed(coordinator.clock, lease.leaseMs);
  const remaining = (): number => trust.remaining();
  const guard = { job, ...lease };
  if ((await acquire(coordinator, job.spec.name, guard, remaining)) === undefined) return false;
  if (row === undefined) return false;
  const written = await holdRow(coordinator, report, guard, { row, remaining, trustFrom: () => trust });
  if (written === undefined) return false;
  await written.held.finishDecided();
  return true;
}

/** Attempts that wait for a due time leave this share of the host's room to others. */
const EARLY_SHARE = 0.9;
/** How many early claims the task hub may have been given without delivering them. */
const UNDELIVERED_AT_MOST = 40;
const HUB_AGAIN_MS = 50;
const HUB_CATCHES_UP_MS = 5_000;

/** Whether the handler will wait for longer than the usual look-ahead. */
function isEarly({ settings, serviceTime }: Coordinator, spec: JobSpec, { run, trigger }: Claim): boolean {
  if (run.kind === 'term' || trigger !== 'schedule') return false;
  return actualTime(spec, run.scheduledFor) - serviceTime.now() > settings.lookAheadMs;
}

/** Whether the host has room for one more attempt that waits. An attempt without room would not be claimed in time. */
function hasRoom(
  { settings: { attemptsAtOnce = Infinity }, running, handOvers }: Coordinator,
  background: Background,
): boolean {
  // Each claim that is being made will need room too.
  return running.size + handOvers.count + background.count < attemptsAtOnce * EARLY_SHARE;
}

/**
 * Waits until the task hub has delivered most of what it was given. A burst would delay its own hand-overs, and late ones
 * are given back.
 */
async function hubKeepsUp({ clock, handOvers }: Coordinator): Promise<boolean> {
  const started = clock.monotonic();
  while (handOvers.count >= UNDELIVERED_AT_MOST) {
    if (clock.monotonic() - started > HUB_CATCHES_UP_MS) return false;
    await sleep(clock, HUB_AGAIN_MS);
  }
  return true;
}

/**
 * The length with which a claim acquires its lease. What is claimed early gets a lease that lasts past its start, so that
 * the wait needs no renewal.
 *
 * @param mustWait the lease has to last until its attempt comes, however long that takes
 */
function leaseFor(coordinator: Coordinator, spec: JobSpec, claim: Claim, mustWait: boolean): Millis {
  const { serviceTime, store, handOvers } = coordinator;
  const { run, trigger } = claim;
  const row = { ...claim.row, recent: completed(claim.row.recent, coordinator.ended.get(spec.name)) };
  const isAwaited = run.kind === 'known' && trigger === 'schedule';
  const aheadMs = isAwaited ? actualTime(spec, run.scheduledFor) - serviceTime.now() : 0;
  const isLong = mustWait || !handOvers.areQuick;
  if (!isEarly(coordinator, spec, claim)) return isLong ? spec.leaseMs : claimLease(spec, row, aheadMs);
  return leaseOverWait(isLong ? spec.leaseMs : claimLease(spec, row), aheadMs, store.limits.leaseMs.most);
}
