import type { LeaseId, Millis } from '../../core/brand';
import { mayAcquire, mayRenew, type SeenLease } from '../lease-automaton';

/** The lease of one blob. It ends at `until`, a time of the service's monotonic clock. */
export interface Lease extends Omit<SeenLease, 'isOver'> {
  readonly leaseMs: Millis;
  readonly until: Millis;
}

export const NO_LEASE: Lease = { holder: undefined, isBroken: false, leaseMs: 0, until: 0 };

export function seenAt(now: Millis, { holder, isBroken, until }: Lease): SeenLease {
  return { holder, isBroken, isOver: now >= until };
}

/** The lease after an acquisition; undefined if that is refused. */
export function acquire(lease: Lease, holder: LeaseId, leaseMs: Millis, now: Millis): Lease | undefined {
  if (!mayAcquire(seenAt(now, lease), holder)) return undefined;
  return { holder, isBroken: false, leaseMs, until: now + leaseMs };
}

/** The lease after a renewal; undefined if that is refused. */
export function renew(lease: Lease, id: LeaseId, now: Millis): Lease | undefined {
  return mayRenew(seenAt(now, lease), id) ? { ...lease, until: now + lease.leaseMs } : undefined;
}

/** The lease after a break: it ends after `period`, or earlier when it would have ended anyway. */
export function breakLease(lease: Lease, period: Millis, now: Millis): Lease {
  if (lease.holder === undefined) return lease;
  return { ...lease, isBroken: true, until: Math.min(lease.until, now + period) };
}
