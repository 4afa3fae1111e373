import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../core/brand';
import type { CallOptions, Metadata } from './call';
import type { StoreLimits } from './limits';

/** Rows with their leases: the part of a store that an election needs. Row names follow the rules of job names. */
export interface RowStore {
  /** The store's location for messages, without secrets. */
  readonly location: string;

  readonly limits: StoreLimits;

  /** Creates the container if it is missing. If it exists, a missing permission to create it is not an error. */
  prepare(options?: CallOptions): Promise<void>;

  /** Creates a row if it is absent. */
  createRow(job: JobName, metadata: Metadata, options?: CallOptions): Promise<'created' | 'exists'>;

  readRow(job: JobName, options?: CallOptions): Promise<ListedRow | undefined>;

  /**
   * Takes the row's lease. With the id that holds it, this is a renewal. `lost`: another id holds it, the row changed
   * since `ifMatch`, the lease is broken and has not ended, or there is no such row. A broken lease that has ended can
   * be taken; the caller must decide whether that is safe.
   */
  acquire(
    job: JobName,
    request: { readonly leaseId: LeaseId; readonly leaseMs: Millis; readonly ifMatch: ETag },
    options?: CallOptions,
  ): Promise<{ readonly kind: 'acquired'; readonly date: EpochMs } | { readonly kind: 'lost' }>;

  /** `lost`: the lease is no longer ours. That includes an answer with another id than `leaseId`. */
  renew(job: JobName, leaseId: LeaseId, options?: CallOptions): Promise<'renewed' | 'lost'>;

  /**
   * Replaces the row's metadata under the lease. `refused`: the lease is not ours, or the row changed since `ifMatch`.
   * `leftMs` as in {@link ListedRow}.
   */
  writeRow(
    job: JobName,
    metadata: Metadata,
    guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag },
    options?: CallOptions,
  ): Promise<
    | { readonly kind: 'written'; readonly etag: ETag; readonly date: EpochMs; readonly leftMs?: Millis }
    | { readonly kind: 'refused' }
  >;

  /**
   * `lost`: the lease was no longer ours, or the row changed since `ifMatch`, if given. A release without it may arrive
   * late, and end a claim that was made under the same lease since.
   */
  release(
    job: JobName,
    leaseId: LeaseId,
    options?: CallOptions & { readonly ifMatch?: ETag },
  ): Promise<'released' | 'lost'>;
}

/** Leases that others than their holder can end. A store whose leases cannot be broken omits this facet. */
export interface LeaseBreaking {
  /**
   * Breaks the row's lease, which can then no longer be renewed. It does not end at once, but when it would have ended
   * without renewal, after the longest lease length at most. `lost`: there is no lease, or the row changed since
   * `ifMatch`.
   */
  breakLease(
    job: JobName,
    ifMatch: ETag,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'broken'; readonly leftMs: Millis } | { readonly kind: 'lost' }>;
}

/** The rows of all elections, for operators. */
export interface ElectionStore extends RowStore {
  listRows(options?: CallOptions): Promise<ReadonlyMap<JobName, ListedRow>>;
}

/**
 * `broken`: the lease was ended, not by its holder, and the holder may still trust it. It counts as leased until a tick
 * has itself seen it broken for a lease length + margin. Only a store with {@link LeaseBreaking} returns it.
 */
export type LeaseState = 'available' | 'leased' | 'expired' | 'broken';

export interface ListedRow {
  readonly etag: ETag;
  readonly lease: LeaseState;
  /** A broken lease that has not ended. Its holder may still write; it cannot be acquired or renewed. */
  readonly isEnding?: boolean;
  /** In a listing: the lease never expires. cronlease never takes such a lease. */
  readonly endless?: true;
  /**
   * How long the lease lasts at least, counted from the sending of the call: in a listing of one job, if it is leased.
   * Left out by a store whose dates come from one clock, because two of them show the same.
   */
  readonly leftMs?: Millis;
  readonly metadata: Metadata;
}
