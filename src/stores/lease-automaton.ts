import type { LeaseId } from '../core/brand';
import type { ListedRow } from '../lease/store';

/**
 * A row's lease as a store has seen it at one instant. Each decision is made on it, and then written under the
 * condition that neither the row nor the lease was written in between. PostgreSQL, Redis and etcd state the same
 * decisions as conditions of their languages.
 *
 * @see
 *   https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-lease-operations-on-blobs-by-lease-state
 */
export interface SeenLease {
  /** The id with which it was taken last, even after its end; undefined: it is not held. */
  readonly holder: string | undefined;
  readonly isBroken: boolean;
  /** Whether it has ended. */
  readonly isOver: boolean;
}

/** With the id that holds it, an acquisition is a renewal. A broken lease can be acquired once it has ended. */
export function mayAcquire({ holder, isBroken, isOver }: SeenLease, id: LeaseId): boolean {
  return holder === undefined || isOver || (holder === id && !isBroken);
}

/** An expired lease can be renewed until another id has it. */
export function mayRenew({ holder, isBroken }: SeenLease, id: LeaseId): boolean {
  return holder === id && !isBroken;
}

/** Whether a write with this id is allowed: the lease must still be locked by it. */
export function mayWrite({ holder, isOver }: SeenLease, id: LeaseId): boolean {
  return holder === id && !isOver;
}

/** The lease in the port's terms. */
export function listedLease({ holder, isBroken, isOver }: SeenLease): Pick<ListedRow, 'lease' | 'isEnding'> {
  if (holder === undefined) return { lease: 'available' };
  if (!isBroken) return { lease: isOver ? 'expired' : 'leased' };
  return isOver ? { lease: 'broken' } : { lease: 'broken', isEnding: true };
}
