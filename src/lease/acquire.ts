import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../core/brand';
import { type Asking, untilAnswered } from './deadline';
import type { RowStore } from './store';
import { type Moment, moment } from './trust';

/** Storage as a caller asks it: repeatedly, until there is an answer or no time is left. */
export interface Asker extends Asking {
  readonly store: Pick<RowStore, 'acquire' | 'release'>;
}

/** A lease, and the ETag of the row that was decided on. */
export interface Lease {
  readonly leaseId: LeaseId;
  /**
   * The length with which the lease was acquired, perhaps by an instance with another jobs file. The service renews it
   * for this long.
   */
  readonly leaseMs: Millis;
  readonly etag: ETag;
}

/** An acquired lease, possibly acquired by a repeated call. */
export interface Acquired {
  /** The service's Date of the last call, and when that call was sent. */
  readonly date: EpochMs;
  readonly sent: Moment;
}

/**
 * Acquires a row's lease, unless the row has changed since the decision. The caller chooses the lease id,
 * so repeating the call after a lost answer renews the lease.
 *
 * @returns undefined if another instance was faster
 * @throws StoreError when storage does not answer: the acquisition may have taken effect
 */
export async function acquire(
  asker: Asker,
  name: JobName,
  lease: Lease,
  remaining: () => Millis,
): Promise<Acquired | undefined> {
  let sent = moment(asker.clock);
  const ask = (signal: AbortSignal): ReturnType<RowStore['acquire']> => {
    sent = moment(asker.clock);
    return acquireOnce(asker, name, lease, signal);
  };
  const answer = await untilAnswered(asker, remaining, ask, { isHeld: false });
  return answer.kind === 'lost' ? undefined : { date: answer.date, sent };
}

/** Makes one call. With the id that holds the lease, it is a renewal, perhaps with another length. */
export function acquireOnce(
  { store }: Pick<Asker, 'store'>,
  name: JobName,
  { leaseId, leaseMs, etag }: Lease,
  signal: AbortSignal,
): ReturnType<RowStore['acquire']> {
  return store.acquire(name, { leaseId, leaseMs, ifMatch: etag }, { signal });
}

/**
 * Releases a lease, unless the row has changed since the version with this ETag. A release that takes effect late thus
 * does not end a later claim.
 *
 * @throws StoreError when storage does not answer: the lease expires
 */
export async function release(
  asker: Asker,
  name: JobName,
  { leaseId, etag }: Pick<Lease, 'leaseId' | 'etag'>,
  remaining: () => Millis,
): Promise<void> {
  await untilAnswered(asker, remaining, (signal) => asker.store.release(name, leaseId, { ifMatch: etag, signal }));
}
