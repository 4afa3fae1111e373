import type { EpochMs, ETag, LeaseId, Millis } from '../core/brand';
import type { ListedRow, Metadata } from '../lease/store';
import type { RowQuestion, Rows } from './port';

/**
 * A row's lease as a store has seen it at one instant. PostgreSQL, Redis and etcd state the same decisions as conditions
 * of their languages.
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

/** A row with its lease as of one instant. */
export interface SeenRow {
  readonly etag: ETag;
  readonly lease: SeenLease;
}

/** What a call changes of a row that it has seen, if there was no other write of the lease in between. */
export type Change = (
  | { readonly kind: 'write'; readonly metadata: Metadata }
  | { readonly kind: 'acquire'; readonly id: LeaseId; readonly leaseMs: Millis }
  | { readonly kind: 'renew' | 'release' | 'break' }
) & {
  /** Whether the row, too, must be as it was seen. */
  readonly checksRow: boolean;
};

interface Changed {
  /** The row's, after it. */
  readonly etag: ETag;
  readonly date: EpochMs;
  /** After a break, how long the lease lasts. After a write, as in {@link ListedRow}. */
  readonly leftMs?: Millis;
}

/**
 * The calls of a store that looks at a row, decides, and then writes under the condition that neither the row nor the
 * lease was written in between.
 *
 * @param change makes that change; undefined: there is no such row, or nothing was decided
 */
export function guardedRows(
  change: (question: RowQuestion, decide: (seen: SeenRow) => Change | undefined) => Promise<Changed | undefined>,
): Omit<Rows, 'create' | 'read'> {
  return {
    async acquire(question, { leaseId: id, leaseMs, ifMatch }) {
      const done = await change(question, ({ etag, lease }) => {
        if (etag !== ifMatch || !mayAcquire(lease, id)) return undefined;
        return { kind: 'acquire', id, leaseMs, checksRow: true };
      });
      return done?.date;
    },
    async renew(question, id) {
      const done = await change(question, ({ lease }) => {
        if (!mayRenew(lease, id)) return undefined;
        return { kind: 'renew', checksRow: false };
      });
      return done !== undefined;
    },
    write: (question, metadata, { leaseId, ifMatch }) =>
      change(question, ({ etag, lease }) => {
        if (etag !== ifMatch || !mayWrite(lease, leaseId)) return undefined;
        return { kind: 'write', metadata, checksRow: true };
      }),
    async release(question, id, ifMatch) {
      const done = await change(question, ({ etag, lease }) => {
        if (lease.holder !== id || (ifMatch !== undefined && etag !== ifMatch)) return undefined;
        return { kind: 'release', checksRow: ifMatch !== undefined };
      });
      return done !== undefined;
    },
    async break(question, ifMatch) {
      const done = await change(question, ({ etag, lease }) => {
        if (etag !== ifMatch || lease.holder === undefined) return undefined;
        return { kind: 'break', checksRow: true };
      });
      return done && (done.leftMs ?? 0);
    },
  };
}

/** With the id that holds it, an acquisition is a renewal. A broken lease can be acquired once it has ended. */
function mayAcquire({ holder, isBroken, isOver }: SeenLease, id: LeaseId): boolean {
  return holder === undefined || isOver || (holder === id && !isBroken);
}

/** An expired lease can be renewed until another id has it. */
function mayRenew({ holder, isBroken }: SeenLease, id: LeaseId): boolean {
  return holder === id && !isBroken;
}

/** The lease must still be locked by this id. */
function mayWrite({ holder, isOver }: SeenLease, id: LeaseId): boolean {
  return holder === id && !isOver;
}

/** The lease in the port's terms. */
export function listedLease({ holder, isBroken, isOver }: SeenLease): Pick<ListedRow, 'lease' | 'isEnding'> {
  if (holder === undefined) return { lease: 'available' };
  if (!isBroken) return { lease: isOver ? 'expired' : 'leased' };
  return isOver ? { lease: 'broken' } : { lease: 'broken', isEnding: true };
}

/** Another writer has written meanwhile what a step has read. */
export const DISTURBED = Symbol('disturbed');

/** Repeats a step that reads and then writes what it has read, until there was no other write in between. */
export type UntilUndisturbed = <T>(step: () => Promise<T | typeof DISTURBED>) => Promise<T>;

/** @param tries after so many lost races with others that write the same, something else is wrong: the problem */
export function undisturbedWithin(tries: number, problem: () => Error): UntilUndisturbed {
  return async (step) => {
    for (let count = 0; count < tries; count += 1) {
      const answer = await step();
      if (answer !== DISTURBED) return answer;
    }
    throw problem();
  };
}
