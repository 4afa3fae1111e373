import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../core/brand';

/**
 * What cronlease asks of a storage service, by facets: rows that are leased, controls, a ledger, the pieces of runs that
 * fan out, and the presence of deployments. A store implements all of them; a consumer takes the facets that it uses.
 *
 * Contract, checked by `test/conformance`:
 * - Every method rejects with {@link StoreUnavailableError} when the service did not answer, throttled or failed
 *   (the call may or may not have taken effect), with {@link StoreDeniedError} when it refused the caller, and with
 *   the signal's reason when the caller gave up. Losing a race is an answer, never an error.
 * - A method makes one attempt: asking again is the caller's business, since only the caller knows what asking
 *   again means.
 * - `date` is the service's own clock when it answered (resolution 1 s, truncated).
 * - Metadata keys are lowercase letters, values printable ASCII, neither empty nor with a space at either end: a store
 *   may count on that. It rejects other metadata, and what its {@link StoreLimits} do not allow, before the call, with
 *   {@link StoreLimitError}.
 * - Conditions and leases are checked and applied by the service in one step.
 */
export interface LeaseStore extends JobRowStore, ControlStore, LedgerStore, PieceStore, PresenceStore {}

/** Rows with their leases: what an election needs of a store. Its names are those of elections, with their grammar. */
export interface RowStore {
  /** For messages: where this store is, without secrets. */
  readonly location: string;

  readonly limits: StoreLimits;

  /** Makes the container if it is missing. Not being allowed to make one that exists is no error. */
  prepare(options?: CallOptions): Promise<void>;

  /** Creates a row if it is absent. */
  createRow(job: JobName, metadata: Metadata, options?: CallOptions): Promise<'created' | 'exists'>;

  readRow(job: JobName, options?: CallOptions): Promise<ListedRow | undefined>;

  /**
   * Takes the row's lease. The same id while it is held is a renewal. `lost`: held by another, changed since
   * `ifMatch`, broken and still ending, or no such row. A broken lease can be taken; whether it should be is the caller's business.
   */
  acquire(
    job: JobName,
    request: { readonly leaseId: LeaseId; readonly leaseMs: Millis; readonly ifMatch: ETag },
    options?: CallOptions,
  ): Promise<{ readonly kind: 'acquired'; readonly date: EpochMs } | { readonly kind: 'lost' }>;

  /** `lost`: not ours any more, also when the service answers with another id than the one asked for. */
  renew(job: JobName, leaseId: LeaseId, options?: CallOptions): Promise<'renewed' | 'lost'>;

  /** Replaces the row's metadata under the lease. `refused`: the lease is not ours, or the row has changed. */
  writeRow(
    job: JobName,
    metadata: Metadata,
    guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag },
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag; readonly date: EpochMs } | { readonly kind: 'refused' }>;

  /** `lost`: it was not ours any more, or the row has changed since `ifMatch`, where that is given. */
  release(
    job: JobName,
    leaseId: LeaseId,
    options?: CallOptions & { readonly ifMatch?: ETag },
  ): Promise<'released' | 'lost'>;
}

/** Leases that somebody else than their holder can end. A store whose leases nobody can break leaves it out. */
export interface LeaseBreaking {
  /**
   * Breaks the row's lease, never at once: it ends when it would have ended unrenewed, after the longest lease at most, and cannot be
   * renewed any more. `lost`: nothing to break, or changed since `ifMatch`.
   */
  breakLease(
    job: JobName,
    ifMatch: ETag,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'broken'; readonly leftMs: Millis } | { readonly kind: 'lost' }>;
}

/** The rows of jobs. */
export interface JobRowStore extends RowStore, Partial<LeaseBreaking> {
  /**
   * All rows and controls, or those of one job. The listing's `date` is that of the first page, the oldest. Once
   * `enough` is aborted it ends with what its pages have shown, at least one, and with where to continue: there a
   * listing goes on that is given it as `from`. A job is in one of these parts whole.
   */
  list(options?: ListOptions): Promise<Listing>;
}

/** What people want of a job: one control record for each. */
export interface ControlStore {
  readControl(
    job: JobName,
    options?: CallOptions,
  ): Promise<{ readonly control: ListedControl | undefined; readonly date: EpochMs }>;

  /** Replaces the control record; `ifMatch` undefined: only if there is none. `refused`: somebody was faster. */
  writeControl(
    job: JobName,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<'written' | 'refused'>;

  /** Removes the control record. `refused`: changed since `ifMatch`, or gone. */
  removeControl(job: JobName, ifMatch: ETag, options?: CallOptions): Promise<'removed' | 'refused'>;
}

/** The ledger: records that are created once and listed newest first. */
export interface LedgerStore {
  /** Creates a ledger record if its key is free. */
  createRecord(
    job: JobName,
    key: string,
    record: StoredRecord,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'created'; readonly etag: ETag } | { readonly kind: 'exists' }>;

  /** `refused`: changed since `ifMatch`, or gone. */
  replaceRecord(
    job: JobName,
    key: string,
    record: StoredRecord,
    ifMatch: ETag,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'replaced'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** Rejects with `ForeignRecordError` when it is larger than any that cronlease writes; so does `readPiece`. */
  readRecord(
    job: JobName,
    key: string,
    options?: CallOptions,
  ): Promise<{ readonly body: string; readonly etag: ETag } | undefined>;

  /**
   * One page of a job's record keys with their summaries, in order of key (newest first). It holds `limit` records at
   * most, perhaps fewer, or none, although there are more: only a continuation that is undefined is the end.
   */
  listRecords(
    job: JobName,
    request: { readonly prefix?: string; readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly records: readonly ListedRecord[]; readonly continuation: string | undefined }>;
}

/** The pieces of runs that fan out: plan, results of items, heartbeats. */
export interface PieceStore {
  /** Creates a piece of a fan-out run (its plan, an item's result) if there is none of this name. */
  createPiece(
    job: JobName,
    key: string,
    name: string,
    piece: StoredRecord,
    options?: CallOptions,
  ): Promise<'created' | 'exists'>;

  readPiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<string | undefined>;

  /** Writes an empty summary to a piece, which makes it newly written. `gone`: there is none. */
  touchPiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<'touched' | 'gone'>;

  /** When a piece was created or touched last, by the service's clock, and the `date` of the answer. Undefined: gone. */
  pieceWritten(
    job: JobName,
    key: string,
    name: string,
    options?: CallOptions,
  ): Promise<{ readonly writtenAt: EpochMs; readonly date: EpochMs } | undefined>;

  /** One page of the pieces of a run, or of all runs of a job, in order of run key and name; as `listRecords`. */
  listPieces(
    job: JobName,
    request: { readonly key?: string; readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly pieces: readonly ListedPiece[]; readonly continuation: string | undefined }>;

  /** One that is not there is deleted already. */
  deletePiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<void>;
}

/** What deployments write of themselves, for `doctor` alone. */
export interface PresenceStore {
  /**
   * What a deployment says of itself. `ifMatch` undefined: whatever is there is replaced. `refused`: somebody else has
   * written it since `ifMatch`.
   */
  writePresence(
    deployment: string,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** What all deployments have said of themselves. `date` is that of the first page. */
  listPresences(options?: CallOptions): Promise<Presences>;
}

/** The rows of all elections, for operators. */
export interface ElectionStore extends RowStore {
  listRows(options?: CallOptions): Promise<ReadonlyMap<JobName, ListedRow>>;
}

/** What a store can hold, and for how long: checks, operators and tests go by it. */
export interface StoreLimits {
  /** The lengths that a lease may have. */
  readonly leaseMs: { readonly least: Millis; readonly most: Millis };
  /** Bytes that all keys and values of one metadata may have: 8,192 at least, which a full row needs. */
  readonly metadataBytes: number;
}

export type Metadata = Readonly<Record<string, string>>;

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/**
 * `broken`: somebody else than its holder ended the lease, and the holder may still trust it. It counts as leased until
 * a tick has itself seen it broken for a lease length + margin. Only a store with {@link LeaseBreaking} has it.
 */
export type LeaseState = 'available' | 'leased' | 'expired' | 'broken';

export interface ListedRow {
  readonly etag: ETag;
  readonly lease: LeaseState;
  /** Of a broken lease: it still lasts for a while. Its holder may write, nobody can acquire or renew it. */
  readonly isEnding?: boolean;
  /** In a listing: the lease never ends by itself. None of ours is such a one. */
  readonly endless?: true;
  readonly metadata: Metadata;
}

export interface ListedControl {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

export interface ListedPresence {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

export interface ListOptions extends CallOptions {
  readonly job?: JobName;
  readonly from?: string;
  readonly enough?: AbortSignal;
}

export interface ListedJob {
  readonly row?: ListedRow;
  readonly control?: ListedControl;
  /** That of the page on which the row lay, or the control where there is no row. */
  readonly date: EpochMs;
}

export interface Listing {
  readonly date: EpochMs;
  readonly jobs: ReadonlyMap<JobName, ListedJob>;
  /** Left out where there are none. */
  readonly strays?: Strays;
  /** Left out where the listing reached its end. */
  readonly continuation?: string;
}

export interface Presences {
  readonly date: EpochMs;
  readonly presences: ReadonlyMap<string, ListedPresence>;
  /** Left out where there are none. */
  readonly strays?: Strays;
}

/** Blobs among those that were listed whose names cronlease does not write: they are left out. */
export interface Strays {
  readonly count: number;
  /** The first ten. */
  readonly names: readonly string[];
  /** The first ten whose metadata stops programs that list with the SDK, as older versions of cronlease do. */
  readonly harmful: readonly string[];
}

/** A ledger record as stored: its JSON, and a summary that a listing shows. */
export interface StoredRecord {
  readonly body: string;
  readonly summary: Metadata;
}

export interface ListedRecord {
  readonly key: string;
  readonly etag: ETag;
  readonly summary: Metadata;
}

export interface ListedPiece {
  /** Of the run. */
  readonly key: string;
  readonly name: string;
  readonly summary: Metadata;
}

/** Storage did not do what was asked. Losing a race is no such error. */
export abstract class StoreError extends Error {
  abstract readonly code: string;
}

/** The service could not be reached, throttled, or failed. Whether the call took effect is not known. */
export class StoreUnavailableError extends StoreError {
  readonly code = 'StoreUnavailable';
  override readonly name = 'StoreUnavailableError';
  /** How long the service wants to be left alone, where it said so. */
  readonly retryAfterMs: Millis | undefined;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: Millis | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Why the service refused the caller, where that is known. `noToken`: it has no identity that could be used.
 * `credentials`: the service does not know it. `role`: it may not do this. `network`: from here nobody may.
 */
export type Denial = 'noToken' | 'credentials' | 'role' | 'network';

/** The service refused the caller: wrong credentials, or a role that is missing. */
export class StoreDeniedError extends StoreError {
  readonly code = 'StoreDenied';
  override readonly name = 'StoreDeniedError';
  readonly why: Denial | undefined;

  constructor(message: string, options: ErrorOptions & { readonly why?: Denial | undefined } = {}) {
    super(message, options);
    this.why = options.why;
  }
}

/** The store cannot hold what was to be stored, or cannot give a lease of this length. Nothing was sent. */
export class StoreLimitError extends Error {
  readonly code = 'StoreLimit';
  override readonly name = 'StoreLimitError';
}
