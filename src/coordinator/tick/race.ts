import type { EpochMs, ETag, LeaseId, Millis, JobName } from '../../core/brand';
import type { Claim } from '../../core/decide/situation';
import { orchestrationId } from '../../core/key';
import { type RecentRun, completed, incompleteRun, keyOf } from '../../core/recent';
import { recordedRun } from '../../core/recent-run';
import { ForeignRecordError, type LedgerRecord } from '../../core/record';
import type { Row } from '../../core/row';
import { acquire, release } from '../../lease/acquire';
import { within } from '../../lease/deadline';
import { StoreError } from '../../lease/store';
import { elapsedSince } from '../../lease/trust';
import type { Coordinator, RunnableJob } from '../coordinator';
import { type HandOver, turnOf } from '../hand-overs';
import { withinHub } from '../hub';
import { readRecord } from '../ledger';
import { type HandedOver, packRow } from '../message';
import { completeRow } from '../row-writer';
import { itemsAreSilent } from '../run-pieces';
import { type Invocation, NO_TELEMETRY, type Span, type StageStart, UNTRACED } from '../telemetry';

/** How long the tick repeats the acquisition, and the start of its orchestration. */
const HAND_OVER_LIMIT_MS = 5_000;
/** The task hub did not accept an orchestration. */
class HandOverError extends Error {
  readonly code = 'HandOver';
  override readonly name = 'HandOverError';
}

/** A claim that is due, with the row that the decision is about. */
interface Race {
  readonly claim: Claim;
  readonly etag: ETag;
  readonly lease: 'available' | 'expired';
  /** That row. */
  readonly before: Pick<Row, 'run' | 'phase'>;
  /** A new id, or that of an unanswered acquisition of the same row version. */
  readonly leaseId: LeaseId;
  /** The same as before if the acquisition is repeated: calls may overtake each other. */
  readonly leaseMs: Millis;
  /** The lease is about to be released. That may take effect late, so its id is not used again. */
  readonly releases: () => void;
  /** The tick's call, for traces. */
  readonly invocation?: Invocation | undefined;
}

/** Starts an orchestration, its own or one with other claims. */
type Begin = (orchestration: string, input: HandedOver) => Promise<void>;

/**
 * The race: acquires the job's lease, if the row has not changed since the decision, and hands it over to an
 * orchestration. From then on the lease id travels in the orchestration's input.
 *
 * @returns false if another instance was faster, or nothing is claimed after all
 * @throws HandOverError if the task hub does not accept the orchestration
 */
export async function handOver(coordinator: Coordinator, begin: Begin, job: RunnableJob, race: Race): Promise<boolean> {
  const { clock, serviceTime } = coordinator;
  const { claim, lease } = race;
  const { name } = job.spec;
  const started = clock.monotonic();
  const remaining = (): Millis => HAND_OVER_LIMIT_MS - (clock.monotonic() - started);
  const began = { at: serviceTime.now(), invocation: race.invocation };
  const acquired = await acquire(coordinator, name, race, remaining);
  if (acquired === undefined) {
    traceLost(coordinator, job, claim, began);
    return false;
  }
  serviceTime.observe(acquired.date, acquired.sent);
  coordinator.handOvers.acquired(elapsedSince(clock, acquired.sent));
  const isOff =
    coordinator.stopping ||
    (claim.isSilent === true && !(await itemsAreSilent(coordinator, name, claim.row, remaining)));
  if (isOff) {
    // Nothing has started under this lease, so an available row may be released unchanged.
    if (lease === 'available') {
      race.releases();
      await release(coordinator, name, race, remaining);
    }
    return false;
  }
  return start(coordinator, begin, job, { ...race, began }, acquired.date);
}

/**
 * Starts the orchestration. If that fails, the lease is left to expire: the due time is not claimed, and still due.
 *
 * @returns false if the row's last run comes first: it is taken over once the lease has expired
 */
async function start(
  coordinator: Coordinator,
  begin: Begin,
  job: RunnableJob,
  { claim, etag, lease, before, leaseId, leaseMs, began }: Race & { readonly began: StageStart & { at: EpochMs } },
  acquiredAt: EpochMs,
): Promise<boolean> {
  const { clock, handOvers, serviceTime } = coordinator;
  const { name } = job.spec;
  const complete = completeRow(claim, acquiredAt, coordinator.deployment);
  const noted = { row: complete, before: lease === 'available' ? before : undefined };
  const row = claim.what === 'first' ? await withLastRun(coordinator, name, noted, acquiredAt) : complete;
  if (row === undefined) {
    traceLost(coordinator, job, claim, began);
    return false;
  }
  const tick = traceRace(coordinator, job, row.run?.key ?? '', began, 'won');
  const { traceparent: parent } = tick;
  const input: HandedOver = {
    kind: 'handedOver',
    job: name,
    leaseId,
    leaseMs,
    etag,
    lease,
    acquiredAt,
    row: packRow(row),
    what: claim.what,
    ...(claim.isSilent && { isSilent: true }),
    end: claim.end ?? null,
    ...(parent !== undefined && { sent: { parent, at: serviceTime.now() } }),
  };
  const orchestration = orchestrationId(name, row.run?.scheduledFor ?? acquiredAt, leaseId);
  const { token } = row;
  const handedOver = { leaseId, leaseMs, etag, token, lease, turn: turnOf(claim, etag), isLate: false } as const;
  // Noted before the start: the attempt may begin, and a shutdown may come, before the hub has answered.
  const pending: HandOver = { ...handedOver, at: clock.monotonic() };
  handOvers.note(name, pending);
  try {
    await withinHub(clock, () => begin(orchestration, input));
    tick.end({ result: 'handedOver', isError: false });
  } catch (cause) {
    tick.end({ result: 'failed', isError: true });
    handOvers.forget(name);
    throw new HandOverError(`orchestration ${orchestration} could not be started: ${String(cause)}`, { cause });
  }
  if (handOvers.of(name) === pending) handOvers.note(name, { ...handedOver, at: clock.monotonic() });
  return true;
}

/** Traces a race that is over. Returns the span of the tick, to which the hand-over belongs. */
function traceRace(
  { telemetry = NO_TELEMETRY }: Coordinator,
  { spec: job }: RunnableJob,
  key: string | undefined,
  began: StageStart & { at: EpochMs },
  result: 'won' | 'lost',
): Span {
  telemetry.claimed(job.name, 'race', result);
  if (key === undefined) return UNTRACED;
  const tick = telemetry.begin('tick', { job, key }, began);
  tick.begin('race', { at: began.at }).end({ result });
  return tick;
}

/** The key of a term is not known before its acquisition. */
function traceLost(
  coordinator: Coordinator,
  job: RunnableJob,
  { what, row, run }: Claim,
  began: StageStart & { at: EpochMs },
): void {
  const first = run.kind === 'known' ? run.key : undefined;
  traceRace(coordinator, job, what === 'first' ? first : row.run?.key, began, 'lost').end({ result: 'lost' });
}

/** A job whose last run is younger gets no call for its duration. */
const SELDOM_MS: Millis = 5 * 60_000;
/** The claim waits for the duration of the last run no longer than this. */
const READ_LIMIT_MS: Millis = 500;

/**
 * The row of a claim with the end of the job's last run, as lists show it. This process knows that end if the run ended
 * here. Otherwise one call reads it from the ledger, for a job that runs at most every five minutes, and after a run that
 * took several attempts: only such a run has an open record.
 *
 * @param before the free row that the claim was decided on
 * @returns undefined if that record is open, although the row was free: its lease must expire, so that the run continues
 */
export async function withLastRun(
  coordinator: Coordinator,
  job: JobName,
  { row, before }: { readonly row: Row; readonly before: Pick<Row, 'run' | 'phase'> | undefined },
  acquiredAt: EpochMs,
): Promise<Row | undefined> {
  const ended = coordinator.ended.get(job);
  const recent = completed(row.recent, ended);
  const unknown = incompleteRun(recent);
  if (unknown === undefined || isUsual(unknown, acquiredAt)) return { ...row, recent };
  const record = await recorded(coordinator, job, unknown);
  if (record?.state === 'open' && before?.phase === 'running' && before.run?.key === keyOf(unknown)) return undefined;
  const found = record?.state === 'final' ? recordedRun(unknown, record) : undefined;
  return { ...row, recent: found === undefined ? recent : completed(recent, found) };
}

function isUsual({ attempts, scheduledFor }: RecentRun, acquiredAt: EpochMs): boolean {
  return attempts === 1 && acquiredAt - scheduledFor < SELDOM_MS;
}

async function recorded(
  { clock, store }: Coordinator,
  job: JobName,
  entry: RecentRun,
): Promise<LedgerRecord | undefined> {
  try {
    const found = await within(clock, READ_LIMIT_MS, (signal) => readRecord(store, job, keyOf(entry), { signal }));
    return found?.record;
  } catch (error) {
    // Lists then show the run without its duration. The claim is what matters here.
    if (error instanceof StoreError || error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
