import type { EpochMs, ETag, JobName, LeaseId, Millis, Token } from '../../core/brand';
import { sleep } from '../../core/clock';
import { DATE_BEHIND_MS } from '../../core/job';
import { claimLease } from '../../core/early-claim';
import { ForeignMetadataError } from '../../core/metadata';
import { completed } from '../../core/recent';
import { type Row, keptForMs, standsFrom, withStandstill } from '../../core/row';
import { acquire, release } from '../../lease/acquire';
import { untilAnswered } from '../../lease/deadline';
import { between, moment, type Moment, Trust } from '../../lease/trust';
import { itemsAreSilent } from '../run-pieces';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import { attemptLimitMs, decideRow } from '../decide-row';
import { LATE_MS } from '../hand-overs';
import { type HeldRow, handlerDue, holdRow } from '../held';
import { type AgainInput, type ClaimInput, type HandedOver, packRow, unpackRow } from '../message';
import { requiredWatch, backfillWatch } from '../ledger-watch';
import { completeRow } from '../row-writer';

/** The storage back end truncates durable timers to whole seconds. */
const DURABLE_TIMER_EARLY_MS = 1_000;
/** After a hand-over that took more than this share of the lease, the attempt acquires it again. Decision 055. */
const FRESH_SHARE = 1 / 3;
/** A hand-over that took longer may have been given back. Two clocks measure its age, so 1 s is subtracted. */
const FRESH_MS: Millis = LATE_MS - 1_000;

/** A record is read at most this long before the lease is acquired. */
const KEPT_MARGIN_MS: Millis = 120_000;

/** A lease, the service's Date of its acquisition, and when that was sent, as far as this process can tell. */
interface Acquired {
  readonly id: LeaseId;
  readonly acquiredAt: EpochMs;
  readonly since: Moment;
}

/** What a claim is made of: its job, its message, and how its lease is acquired, of which row version. */
interface Claiming {
  readonly coordinator: Coordinator;
  readonly job: RunnableJob;
  readonly input: ClaimInput;
  readonly leaseMs: Millis;
  readonly etag: ETag;
  /** The time in which the claim must be made. Decision 057. */
  readonly remaining: () => Millis;
}

export interface Claimed {
  readonly held: HeldRow;
  /** Another execution, or another holder, may have made an earlier claim of this run. */
  readonly mayNotBeFirst: boolean;
}

/**
 * The claim: the one write that gives the attempt to this execution. Every other ETag is stale from here on.
 *
 * @returns the reason, when the claim was not made
 */
export async function claimAttempt(
  coordinator: Coordinator,
  input: ClaimInput,
  execution: string,
  report: Report,
): Promise<Claimed | string> {
  const job = coordinator.jobs.get(input.job as JobName);
  if (job === undefined) return `job "${input.job}" is not in this instance's jobs file`;
  const etag = input.etag as ETag;
  if (input.kind === 'again') await untilNotBefore(coordinator, input);
  // Calls may overtake each other: a hand-over that is acquired again keeps its length until the claim.
  const leaseMs = input.kind === 'handedOver' ? input.leaseMs : claimLease(job.spec, unpackRow(input.row));
  const untilClaimed = Trust.inLease(coordinator.clock, moment(coordinator.clock), leaseMs);
  const remaining = (): Millis => untilClaimed.remaining();

  const hold = ({ input: decided, lease: { id, acquiredAt, since } }: Taken) =>
    holdRow(
      coordinator,
      report,
      { job, leaseId: id, leaseMs, etag },
      {
        row: {
          ...claimedRow(coordinator, job, decided, { execution, acquiredAt }),
          leaseMs: Math.max(leaseMs, job.spec.leaseMs),
          keepMs: job.spec.keepMs,
        },
        remaining,
        // The lease's age comes from two Dates of the service: the clocks of the two instances may differ. Where those of
        // the service may differ too, the store itself measures what is left. Neither is believed beyond the lease's end
        // by this process's own clocks: a service's clock may be set back, and a measurement may be absurd.
        trustFrom: ({ sent, date, leftMs = leaseMs - (date - acquiredAt) - DATE_BEHIND_MS }) =>
          Trust.inLease(coordinator.clock, sent, leaseMs, Math.min(leftMs, leaseMs - between(since, sent))),
      },
    );
  const claiming: Claiming = { coordinator, job, input, leaseMs, etag, remaining };
  const taken = await takeLease(claiming, false);
  if (typeof taken === 'string') return taken;
  let claimed = await hold(taken);
  // A hand-over may be given back at any time until its claim, or this machine has slept.
  if (claimed === undefined && input.kind === 'handedOver') {
    const again = await takeLease(claiming, true);
    if (typeof again === 'string') return again;
    claimed = await hold(again);
  }
  if (claimed === undefined) return 'another execution made the claim, or the lease has passed on';
  const { held, answerLost } = claimed;
  return { held, mayNotBeFirst: answerLost || input.kind === 'again' || input.what !== 'first' };
}

/** The lease for a claim, and the message as it is decided by now. */
interface Taken {
  readonly lease: Acquired;
  readonly input: ClaimInput;
}

/**
 * The lease of a hand-over, or a new one. A hand-over that came late is decided again under its new lease: an hour may
 * have passed.
 *
 * @param isRefused a write under the lease that was handed over has been refused
 * @returns the reason, where nothing is to be claimed
 */
async function takeLease(claiming: Claiming, isRefused: boolean): Promise<Taken | string> {
  const { coordinator, job, input, etag, remaining } = claiming;
  if (input.kind === 'handedOver' && !isRefused && isFresh(coordinator, input)) {
    const { acquiredAt } = input;
    const lease = { id: input.leaseId as LeaseId, acquiredAt, since: momentOf(coordinator, acquiredAt) };
    return { lease, input };
  }
  const lease = await acquireAgain(claiming);
  if (lease === undefined) return 'another instance took the row meanwhile';
  if (input.kind === 'again') return { lease, input };
  // Let the lease expire: releasing the row would mean that its run is settled.
  if (isOutdated(input, job, lease)) return 'the record of its run may be gone';
  let why: string;
  if (input.what === 'first') {
    const decided = await decideAgain(claiming, input, lease.acquiredAt);
    if (decided !== undefined) return { lease, input: decided };
    why = 'the hand-over came late, and by now its due time is not to be claimed';
  } else {
    // Between the two leases the items may have begun to work again.
    const { name } = job.spec;
    const isWanted = !input.isSilent || (await itemsAreSilent(coordinator, name, unpackRow(input.row), remaining));
    if (isWanted) return { lease, input };
    why = 'the items of its run are at work again';
  }
  // An expired row may owe records, which its next holder writes. Once anything is written under the lease, its release
  // does nothing.
  const unused = { leaseId: lease.id, etag };
  if (input.lease === 'available') await release(coordinator, job.spec.name, unused, remaining);
  return why;
}

/**
 * Whether the record behind a take-over decision can no longer be relied on: a late write may have made it final since,
 * and retention may have deleted it. Decision 041.
 */
function isOutdated(input: HandedOver, { spec }: RunnableJob, { acquiredAt }: Acquired): boolean {
  if (input.what !== 'takeOver') return false;
  return acquiredAt - input.acquiredAt > keptForMs(unpackRow(input.row), spec.keepMs) - KEPT_MARGIN_MS;
}

/**
 * How early an attempt is, if that is more than it can wait for here; otherwise 0. Durable timers follow their host's
 * clock, and not-before times the service's.
 */
export function earlyBy(coordinator: Coordinator, input: ClaimInput): Millis {
  const early = input.kind === 'again' ? untilTurn(coordinator, input) : 0;
  return early > DURABLE_TIMER_EARLY_MS ? early : 0;
}

/**
 * A durable timer may fire up to a second early. Nothing is held yet, so waiting here keeps no other instance out.
 * Decision 061.
 */
async function untilNotBefore(coordinator: Coordinator, input: AgainInput): Promise<void> {
  const early = untilTurn(coordinator, input);
  if (early > 0) await sleep(coordinator.clock, Math.min(early, DURABLE_TIMER_EARLY_MS));
}

function untilTurn({ serviceTime }: Coordinator, { row }: AgainInput): Millis {
  const { phase, notBefore = 0 } = unpackRow(row);
  // The not-before time of a fan-out keeps others out: its own orchestration continues once its items are done.
  return phase === 'retrying' ? notBefore - serviceTime.now() : 0;
}

/**
 * A process that has just started cannot tell: its clock may be wrong, and no answer has corrected it yet. Its clock may
 * have been set back since the last answer, and the monotonic clock may have stood still, so the later time counts.
 */
function isFresh({ serviceTime }: Coordinator, input: HandedOver): boolean {
  const ageMs = Math.max(serviceTime.now(), serviceTime.bounded()) - input.acquiredAt;
  return serviceTime.isKnown && ageMs <= Math.min(FRESH_MS, input.leaseMs * FRESH_SHARE);
}

/**
 * Acquires with a new id, or once more with the id of a late hand-over, whose lease may have expired or been given back
 * meanwhile. The ETag that was decided on excludes a claim made since. A release of that id may still be on its way: its
 * ETag keeps it from ending the claim, and if it comes before, the claim is refused and made once more.
 */
async function acquireAgain({
  coordinator,
  job,
  input,
  leaseMs,
  etag,
  remaining,
}: Claiming): Promise<Acquired | undefined> {
  const id = (input.kind === 'handedOver' ? input.leaseId : coordinator.newId()) as LeaseId;
  const acquired = await acquire(coordinator, job.spec.name, { leaseId: id, leaseMs, etag }, remaining);
  if (acquired === undefined) return undefined;
  coordinator.serviceTime.observe(acquired.date, acquired.sent);
  return { id, acquiredAt: acquired.date, since: acquired.sent };
}

/** The instant of a Date of the service that is not in the future. */
function momentOf({ clock, serviceTime }: Coordinator, date: EpochMs): Moment {
  const { wall, monotonic } = moment(clock);
  const age = Math.max(0, serviceTime.now() - date);
  return { wall: wall - age, monotonic: monotonic - age };
}

/** The row that the claim writes: what was decided, and what only this execution knows. */
function claimedRow(
  coordinator: Coordinator,
  { spec }: RunnableJob,
  input: ClaimInput,
  { execution, acquiredAt }: { readonly execution: string; readonly acquiredAt: EpochMs },
): Row {
  const decided = unpackRow(input.row);
  const { run } = decided;
  if (run === undefined) throw new Error(`the claim of job "${spec.name}" names no run`);
  const now = coordinator.serviceTime.now();
  const row: Row = {
    ...decided,
    recent: completed(decided.recent, coordinator.ended.get(spec.name)),
    past: withLoss(decided.past, coordinator.losses.get(spec.name)),
    token: (decided.token + 1) as Token,
    execution,
    started: Math.max(now, handlerDue(spec, decided)),
    claimedAt: now,
  };
  if (input.kind === 'handedOver') return row;
  // The owed records were written when the run was suspended, before the release, so nothing is owed any more.
  const limits = { attemptLimitMs: attemptLimitMs(coordinator, spec), leaseMs: spec.leaseMs };
  // Its items may have been at work for any time before it continues.
  const stoodFrom = decided.phase === 'retrying' ? standsFrom(decided, limits) : undefined;
  return {
    // A clock that is fast, and not corrected yet, makes no standstill.
    ...withStandstill(row, stoodFrom, Math.min(now, acquiredAt + 1_000)),
    owed: [],
    telling: [],
    phase: 'running',
    attempt: decided.attempt + 1,
    notBefore: undefined,
    revision: spec.scheduleHash === row.scheduleHash ? Math.max(row.revision, coordinator.revision) : row.revision,
  };
}

/** The attempt that this process has lost is among the past ones, with the reason. Decision 047. */
function withLoss(past: Row['past'], lost: ReturnType<Coordinator['losses']['get']>): Row['past'] {
  if (lost === undefined) return past;
  const isIt = ({ token, outcome }: Row['past'][number]): boolean => token === lost.token && outcome === 'holderLost';
  return past.map((attempt) => (isIt(attempt) ? { ...attempt, loss: lost.loss } : attempt));
}

/**
 * Decides again on a hand-over that came late, whose lease was acquired again: Durable keeps a message for as long as
 * no host runs, and meanwhile the due time may have expired, or the job was paused. The claim may then be one of a
 * newer due time, so that a task hub that is always late keeps no job from running. Decision 056.
 *
 * @param acquiredAt the service's Date of the new acquisition: no instance was at work before
 * @returns undefined where nothing is to be claimed now: the ticks decide what becomes of the due time
 */
async function decideAgain(
  { coordinator, job, etag, remaining }: Claiming,
  input: HandedOver,
  acquiredAt: EpochMs,
): Promise<HandedOver | undefined> {
  const { store } = coordinator;
  const { name } = job.spec;
  const listing = await untilAnswered(coordinator, remaining, (signal) => store.list({ job: name, signal }));
  const { row, control, date: listedAt = acquiredAt } = listing.jobs.get(name) ?? {};
  if (row === undefined) return undefined;
  const notes = {
    version: undefined,
    unanswered: { etag, lease: input.lease },
    lookAheadMs: undefined,
    handedOver: unpackRow(input.row).run?.scheduledFor,
  };
  const state = { coordinator, required: requiredWatch(coordinator), backfills: backfillWatch(coordinator) };
  const decided = await decideRow(state, job, notes, { row, control, listedAt }).catch((error: unknown) => {
    // A tick reports a row or a control that is not cronlease's.
    if (error instanceof ForeignMetadataError) return undefined;
    throw error;
  });
  if (decided?.decision.kind !== 'claim') return undefined;
  const { claim } = decided.decision;
  if (claim.what !== 'first') return undefined;
  return { ...input, acquiredAt, row: packRow(completeRow(claim, acquiredAt, coordinator.deployment)) };
}
