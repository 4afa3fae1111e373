import type { EpochMs, ETag, LeaseId, Millis } from '../../core/brand';
import type { Claim } from '../../core/decide';
import { orchestrationId, recordKey } from '../../core/key';
import type { Row } from '../../core/row';
import { untilAnswered } from '../../lease/deadline';
import { moment } from '../../lease/trust';
import { itemsAreSilent } from '../beat';
import type { Coordinator, HandOver, Hub, RunnableJob } from '../coordinator';
import { turnOf } from '../give-back';
import type { AttemptInput } from '../message';
import { packRow } from '../message';
import { withinHub } from './hub-watch';

/** How long the tick goes on asking for a lease, and for its orchestration to be started. */
const HAND_OVER_LIMIT_MS = 5_000;
/** The task hub did not take an orchestration. */
class HandOverError extends Error {
  readonly code = 'HandOver';
  override readonly name = 'HandOverError';
}

/** A claim that a look found due, and the row as that look saw it. */
export interface Race {
  readonly claim: Claim;
  readonly etag: ETag;
  readonly lease: 'available' | 'expired';
  /** New, or of an acquisition of this very row that got no answer. */
  readonly leaseId: LeaseId;
}

/**
 * The race: acquires the job's lease, if the row is still what was decided on, and hands it to an orchestration.
 * From there on the lease id travels with the orchestration's input.
 *
 * @returns false when another instance was faster, or nothing is claimed after all
 * @throws HandOverError when the task hub does not take the orchestration
 */
export async function handOver(coordinator: Coordinator, hub: Hub, job: RunnableJob, race: Race): Promise<boolean> {
  const { clock, serviceTime, store } = coordinator;
  const { claim, etag, lease, leaseId } = race;
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
  const isOff =
    coordinator.stopping ||
    (claim.isSilent === true && !(await itemsAreSilent(coordinator, name, claim.row, remaining)));
  if (isOff) {
    // Nothing was started under this lease yet, so that an available row may be put back as it was.
    if (lease === 'available') {
      await untilAnswered(coordinator, remaining, (signal) => store.release(name, leaseId, { signal }));
    }
    return false;
  }
  await start(coordinator, hub, job, race, acquired.date);
  return true;
}

/** Should this fail, the lease is left to expire: the occurrence is not claimed, and still due. */
async function start(
  coordinator: Coordinator,
  hub: Hub,
  { spec: { name, leaseMs } }: RunnableJob,
  { claim, etag, lease, leaseId }: Race,
  acquiredAt: EpochMs,
): Promise<void> {
  const { clock, handOvers } = coordinator;
  const row = completeRow(claim, acquiredAt, coordinator.deployment);
  const input: AttemptInput = {
    kind: 'handedOver',
    job: name,
    leaseId,
    leaseMs,
    etag,
    acquiredAt,
    row: packRow(row),
    what: claim.what,
    ...(claim.isSilent && { isSilent: true }),
    end: claim.end ?? null,
  };
  const orchestration = orchestrationId(name, row.run?.scheduledFor ?? acquiredAt, leaseId);
  const handedOver = { leaseId, etag, lease, turn: turnOf(claim, etag), isLate: false } as const;
  // Before the start too: the attempt may begin, and a shutdown may come, before the hub has answered.
  const pending: HandOver = { ...handedOver, at: clock.monotonic() };
  handOvers.set(name, pending);
  try {
    await withinHub(clock, () => hub.start(orchestration, input));
  } catch (cause) {
    handOvers.delete(name);
    throw new HandOverError(`orchestration ${orchestration} could not be started: ${String(cause)}`, { cause });
  }
  if (handOvers.get(name) === pending) handOvers.set(name, { ...handedOver, at: clock.monotonic() });
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
