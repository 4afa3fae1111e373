import type { LeaseId, Millis } from '../../core/brand';
import type { ListedRow } from '../../lease/store';

/** The lease states in the service's terms. */
type LeaseState = 'available' | 'leased' | 'expired' | 'breaking' | 'broken';

/**
 * The lease of one blob, by the service's own table of outcomes. `until` is a time of the service's monotonic clock:
 * from then on, a held lease is expired and a breaking one is broken.
 *
 * @see
 *   https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-lease-operations-on-blobs-by-lease-state
 */
export type Lease =
  | { readonly kind: 'none' }
  | { readonly kind: 'held'; readonly id: LeaseId; readonly leaseMs: Millis; readonly until: Millis }
  | { readonly kind: 'breaking'; readonly id: LeaseId; readonly until: Millis };

export const NO_LEASE: Lease = { kind: 'none' };

/** The lease in the port's terms. */
export function listedLease(lease: Lease, now: Millis): Pick<ListedRow, 'lease' | 'isEnding'> {
  const state = leaseStateOf(lease, now);
  return state === 'breaking' ? { lease: 'broken', isEnding: true } : { lease: state };
}

function leaseStateOf(lease: Lease, now: Millis): LeaseState {
  switch (lease.kind) {
    case 'none':
      return 'available';
    case 'held':
      return now < lease.until ? 'leased' : 'expired';
    case 'breaking':
      return now < lease.until ? 'breaking' : 'broken';
  }
}

/** The lease after an acquisition; undefined if that is refused. */
export function acquire(lease: Lease, id: LeaseId, leaseMs: Millis, now: Millis): Lease | undefined {
  const state = leaseStateOf(lease, now);
  if (state === 'breaking') return undefined;
  if (state === 'leased' && !isOf(lease, id)) return undefined;
  return { kind: 'held', id, leaseMs, until: now + leaseMs };
}

/** The lease after a renewal; undefined if that is refused. An expired lease can be renewed until another id has it. */
export function renew(lease: Lease, id: LeaseId, now: Millis): Lease | undefined {
  return lease.kind === 'held' && isOf(lease, id) ? { ...lease, until: now + lease.leaseMs } : undefined;
}

/** Whether a write with this id is allowed: the lease must still be locked by it. */
export function mayWrite(lease: Lease, id: LeaseId, now: Millis): boolean {
  const state = leaseStateOf(lease, now);
  return (state === 'leased' || state === 'breaking') && isOf(lease, id);
}

/** The lease after a break: it ends after `period`, or earlier when it would have ended anyway. */
export function breakLease(lease: Lease, period: Millis, now: Millis): Lease {
  if (lease.kind === 'none') return lease;
  return { kind: 'breaking', id: lease.id, until: Math.min(lease.until, now + period) };
}

/**
 * Whether the last lease was taken with this id. That stays true after its end, until the next acquisition or release.
 */
export function isOf(lease: Lease, id: LeaseId): boolean {
  return lease.kind !== 'none' && lease.id === id;
}
