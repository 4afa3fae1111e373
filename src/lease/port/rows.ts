import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../core/brand';
import type { CallOptions, Metadata, WriteAnswer } from './call';

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

/** The rows of jobs. */
export interface JobRowStore extends RowStore, Partial<LeaseBreaking> {
  /**
   * All rows and controls, or those of one job. The listing's `date` is that of the first page, the oldest. Once
   * `enough` is aborted, the listing ends with the pages read so far, at least one, and returns a continuation; pass
   * that as `from` to continue. A job's row and control are never split between two listings.
   */
  list(options?: ListOptions): Promise<Listing>;
}

export interface ListOptions extends CallOptions {
  readonly job?: JobName;
  readonly from?: string;
  readonly enough?: AbortSignal;
}

export interface ListedControl {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

export interface ListedJob {
  readonly row?: ListedRow;
  readonly control?: ListedControl;
  /** The Date of the page that showed the row, or the control if there is no row. */
  readonly date: EpochMs;
}

export interface Listing {
  readonly date: EpochMs;
  readonly jobs: ReadonlyMap<JobName, ListedJob>;
  /** The control of the fleet, in a listing of all jobs. Left out where there is none. */
  readonly fleet?: ListedControl;
  /** The layout of accounts, in a listing of all jobs. Left out where there is none. */
  readonly layout?: ListedControl;
  /** Left out where there are none. */
  readonly strays?: Strays;
  /** Left out where the listing reached its end. */
  readonly continuation?: string;
  /** In a listing of several accounts: all of them, with their layouts. */
  readonly accounts?: readonly { readonly location: string; readonly layout: ListedControl | undefined | 'missing' }[];
  /** The accounts that did not answer, in a listing of several. Left out where all have. */
  readonly missing?: readonly MissingAccount[];
}

/** An account whose jobs are missing from a listing. */
export interface MissingAccount {
  readonly location: string;
  readonly reason: string;
}

/** Listed blobs with names that cronlease does not write. Listings omit them. */
export interface Strays {
  readonly count: number;
  /** The first ten. */
  readonly names: readonly string[];
  /** The first ten whose metadata breaks listings by the SDK, which older versions of cronlease use. */
  readonly harmful: readonly string[];
}

/** The limits of a store, which checks, operators and tests use. */
export interface StoreLimits {
  /** The lengths that a lease may have. */
  readonly leaseMs: { readonly least: Millis; readonly most: Millis };
  /** The most bytes of one blob's metadata, keys and values together: at least 8,192, which a full row needs. */
  readonly metadataBytes: number;
}

/** What {@link StoreLimits} count, in bytes: metadata is ASCII. */
export function metadataSize(metadata: Metadata): number {
  return Object.entries(metadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/** Reports that deployments write about themselves. */
export interface PresenceStore {
  /**
   * Replaces a deployment's presence; with `ifMatch` undefined, unconditionally. `refused`: another writer has written
   * it since `ifMatch`.
   */
  writePresence(
    deployment: string,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<WriteAnswer>;

  /** The presences of all deployments. `date` is that of the first page. */
  listPresences(options?: CallOptions): Promise<Presences>;
}

export interface Presences {
  readonly date: EpochMs;
  readonly presences: ReadonlyMap<string, ListedControl>;
  /** Left out where there are none. */
  readonly strays?: Strays;
  /** As in `Listing`. */
  readonly missing?: readonly MissingAccount[];
}
