import type { EpochMs, ETag, JobName, LeaseId, Millis, Token } from '../core/brand';
import { sleep } from '../core/clock';
import type { Claim } from '../core/decide';
import { marginOf, actualTime } from '../core/job';
import { orchestrationId, recordKey } from '../core/key';
import type { Row } from '../core/row';
import { moment, Trust } from '../lease/trust';
import { untilAnswered } from '../lease/deadline';
import { itemsAreSilent } from './beat';
import type { Coordinator, Hub, RunnableJob } from './coordinator';
import type { Held } from './held';
import { writeRow } from './held';
import type { HandOver } from './give-back';
import { turnOf } from './give-back';
import { LATE_MS, withinHub } from './hub-watch';
import type { AttemptInput, ClaimInput } from './message';
import { packRow, unpackRow } from './message';

/** How long the tick goes on asking for a lease, and for its orchestration to be started. */
const HAND_OVER_LIMIT_MS = 5_000;
/** Durable timers are cut to whole seconds by the storage back end. */
const DURABLE_TIMER_EARLY_MS = 1_000;
/** A hand-over that took more than this share of the lease leaves too little of it to begin with. */
const FRESH_SHARE = 1 / 3;
/** One that took longer may have been given back: less than a hand-over is late after, by what clocks may be off. */
const FRESH_MS: Millis = LATE_MS - 1_000;

/** The task hub did not take an orchestration. */
class HandOverError extends Error {
  readonly code = 'HandOver';
  override readonly name = 'HandOverError';
}

/**
 * The race: acquires the job's lease, if the row is still what was decided on, and hands it to an orchestration.
 * From there on the lease id travels with the orchestration's input.
 *
 * @returns false when somebody else was faster: nothing more is called
 */
export async function handOver(
  coordinator: Coordinator,
  hub: Hub,
  job: RunnableJob,
  {
    claim,
    etag,
    lease,
    leaseId,
  }: {
    readonly claim: Claim;
    readonly etag: ETag;
    readonly lease: 'available' | 'expired';
    /** New, or of an acquisition of this very row that got no answer. */
    readonly leaseId: LeaseId;
  },
): Promise<boolean> {
  const { clock, serviceTime, store } = coordinator;
  const { name, leaseMs } = job.spec;
  const started = clock.monotonic();
  const remaining = (): Millis => HAND_OVER_LIMIT_MS - (clock.monotonic() - started);
  let sent = moment(clock);
  // The id is ours, so asking again after a lost answer is a renewal.
  const acquired = await untilAnswered(coordinator, remaining, (signal) => {
    sent = moment(clock);
    return store.acquire(name, { leaseId, leaseMs, ifMatch: etag }, { signal });
  });
  if (acquired.kind === 'lost') return false;
  serviceTime.observe(acquired.date, sent);
  // Nothing was started under this lease yet, so that an available row may be put back as it was.
  const putBack = () => untilAnswered(coordinator, remaining, (signal) => store.release(name, leaseId, { signal }));
  if (coordinator.stopping) {
    if (lease === 'available') await putBack();
    return false;
  }

  if (claim.isSilent === true && !(await areSilent(coordinator, name, claim.row, remaining))) {
    if (lease === 'available') await putBack();
    return false;
  }
  const row = completeRow(claim, acquired.date, coordinator.deployment);
  const scheduledFor = row.run?.scheduledFor ?? acquired.date;
  const input: AttemptInput = {
    kind: 'handedOver',
    job: name,
    leaseId,
    leaseMs,
    etag,
    acquiredAt: acquired.date,
    row: packRow(row),
    what: claim.what,
    ...(claim.isSilent && { isSilent: true }),
    end: claim.end ?? null,
  };
  // Should this fail, the lease is left to expire: the occurrence is not claimed, and still due.
  const orchestration = orchestrationId(name, scheduledFor, leaseId);
  const handedOver = { leaseId, etag, lease, turn: turnOf(claim, etag), isLate: false } as const;
  // Before the start too: the attempt may begin, and a shutdown may come, before the hub has answered.
  const pending: HandOver = { ...handedOver, at: clock.monotonic() };
  coordinator.handOvers.set(name, pending);
  try {
    await withinHub(clock, () => hub.start(orchestration, input));
    if (coordinator.handOvers.get(name) === pending) {
      coordinator.handOvers.set(name, { ...handedOver, at: clock.monotonic() });
    }
  } catch (cause) {
    coordinator.handOvers.delete(name);
    throw new HandOverError(`orchestration ${orchestration} could not be started: ${String(cause)}`, { cause });
  }
  return true;
}

/** What only the acquisition knows. */
function completeRow(claim: Claim, acquiredAt: EpochMs, incumbent: string): Row {
  const { row } = claim;
  if (claim.what !== 'first') return { ...row, incumbent };
  const run =
    claim.run.kind === 'known'
      ? { key: claim.run.key, scheduledFor: claim.run.scheduledFor }
      : termRun(acquiredAt, Math.max(row.cursor, row.run?.scheduledFor ?? 0));
  return { ...row, incumbent, run: { ...run, trigger: claim.trigger, since: acquiredAt } };
}

/** The service's time has a resolution of 1 s: two terms in one second, or a stretch and a term, share no record. */
function termRun(acquiredAt: EpochMs, last: EpochMs): { key: string; scheduledFor: EpochMs } {
  const scheduledFor = Math.max(acquiredAt, last + 1);
  return { key: recordKey(scheduledFor), scheduledFor };
}

/** A claim that was made, and what is known about it. */
export interface Claimed {
  readonly held: Held;
  /** Another execution, or another holder, may have made an earlier claim of this run. */
  readonly mayNotBeFirst: boolean;
}

/**
 * The claim: the one write that gives the attempt to this execution. Everybody else's ETag is stale from here on.
 *
 * @returns why not, when somebody else has it
 */
export async function claimAttempt(
  coordinator: Coordinator,
  input: ClaimInput,
  execution: string,
): Promise<Claimed | string> {
  const job = coordinator.jobs.get(input.job as JobName);
  if (job === undefined) return `job "${input.job}" is not in this instance's jobs file`;
  const etag = input.etag as ETag;
  if (input.kind === 'again') await untilNotBefore(coordinator, input);
  const { leaseMs } = input.kind === 'handedOver' ? input : job.spec;
  const started = coordinator.clock.monotonic();
  const remaining = (): Millis => leaseMs - marginOf(leaseMs) - (coordinator.clock.monotonic() - started);

  const handedOver =
    input.kind === 'handedOver' && isFresh(coordinator, input)
      ? { id: input.leaseId as LeaseId, acquiredAt: input.acquiredAt }
      : undefined;
  const lease = handedOver ?? (await acquireAgain(coordinator, job, input, { leaseMs, etag, remaining }));
  if (lease === undefined) return 'the row was taken by somebody else meanwhile';
  const silent = input.kind === 'handedOver' && input.isSilent === true ? unpackRow(input.row) : undefined;
  // Between the two leases the items may have begun again.
  if (
    handedOver === undefined &&
    silent !== undefined &&
    !(await areSilent(coordinator, job.spec.name, silent, remaining))
  ) {
    await untilAnswered(coordinator, remaining, (signal) =>
      coordinator.store.release(job.spec.name, lease.id, { signal }),
    );
    return 'the items of its run are at work again';
  }

  const row = { ...claimedRow(coordinator, job, input, execution), leaseMs, keepMs: job.spec.keepMs };
  const written = await writeRow(coordinator, { job, leaseId: lease.id, etag }, row, remaining);
  if (written.kind === 'refused') return 'another execution made the claim, or the lease has passed on';

  // The two Dates say how old the lease is, whatever the clocks of the two instances say.
  const length = leaseMs - (written.date - lease.acquiredAt) - 1000 - marginOf(leaseMs);
  return {
    held: {
      job,
      leaseId: lease.id,
      leaseMs,
      row,
      etag: written.etag,
      trust: new Trust(coordinator.clock, written.sent, length),
      claimed: { date: written.date, monotonic: coordinator.clock.monotonic() },
    },
    mayNotBeFirst: written.answerLost || input.kind === 'again' || input.what !== 'first',
  };
}

/**
 * Asked once the lease is held: an item's look that finds it held lets it not trust, so whichever item trusts now has
 * beaten before.
 */
async function areSilent(
  coordinator: Coordinator,
  job: JobName,
  { run, token }: Row,
  remaining: () => Millis,
): Promise<boolean> {
  return run !== undefined && itemsAreSilent(coordinator, { job, key: run.key, token }, remaining);
}

type AgainInput = Extract<AttemptInput, { kind: 'again' }>;

/**
 * By how much an attempt comes too early to wait for its time here: durable timers go by their host's clock, and
 * not-before times by the service's. 0 where it does not.
 */
export function earlyBy(coordinator: Coordinator, input: ClaimInput): Millis {
  const early = input.kind === 'again' ? untilTurn(coordinator, input) : 0;
  return early > DURABLE_TIMER_EARLY_MS ? early : 0;
}

/** A durable timer may fire up to a second early. Nothing is held yet, so waiting here keeps nobody out. */
async function untilNotBefore(coordinator: Coordinator, input: AgainInput): Promise<void> {
  const early = untilTurn(coordinator, input);
  if (early > 0) await sleep(coordinator.clock, Math.min(early, DURABLE_TIMER_EARLY_MS));
}

function untilTurn({ serviceTime }: Coordinator, { row }: AgainInput): Millis {
  const { phase, notBefore = 0 } = unpackRow(row);
  // A run whose items are done goes on before its not-before time, which is for the others.
  return phase === 'retrying' ? notBefore - serviceTime.now() : 0;
}

function isFresh({ serviceTime }: Coordinator, input: Extract<AttemptInput, { kind: 'handedOver' }>): boolean {
  return serviceTime.now() - input.acquiredAt <= Math.min(FRESH_MS, input.leaseMs * FRESH_SHARE);
}

/**
 * With an id of our own, or again with the one that was handed over late: it may have run out or been given back
 * meanwhile, but with the ETag that was decided on nobody has made a claim since.
 */
async function acquireAgain(
  coordinator: Coordinator,
  { spec: { name } }: RunnableJob,
  input: ClaimInput,
  { leaseMs, etag, remaining }: { leaseMs: Millis; etag: ETag; remaining: () => Millis },
): Promise<{ id: LeaseId; acquiredAt: EpochMs } | undefined> {
  const id = (input.kind === 'handedOver' ? input.leaseId : coordinator.newId()) as LeaseId;
  const acquired = await untilAnswered(coordinator, remaining, (signal) =>
    coordinator.store.acquire(name, { leaseId: id, leaseMs, ifMatch: etag }, { signal }),
  );
  return acquired.kind === 'lost' ? undefined : { id, acquiredAt: acquired.date };
}

/** The row that the claim writes: what was decided, and what only this execution knows. */
function claimedRow(coordinator: Coordinator, { spec }: RunnableJob, input: ClaimInput, execution: string): Row {
  const decided = unpackRow(input.row);
  const { run } = decided;
  if (run === undefined) throw new Error(`the claim of job "${spec.name}" names no run`);
  const due = run.trigger === 'schedule' ? actualTime(spec, run.scheduledFor) : 0;
  const now = coordinator.serviceTime.now();
  const row: Row = {
    ...decided,
    token: (decided.token + 1) as Token,
    execution,
    started: Math.max(now, due),
    claimedAt: now,
  };
  if (input.kind === 'handedOver') return row;
  // The retrying write's records were written before its release, so nothing is owed any more.
  return {
    ...row,
    owed: [],
    phase: 'running',
    attempt: decided.attempt + 1,
    notBefore: undefined,
    revision: spec.scheduleHash === row.scheduleHash ? Math.max(row.revision, coordinator.revision) : row.revision,
  };
}
