import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../core/brand';

/**
 * The storage port, in facets: leased rows, controls, a ledger, the logs of runs, the pieces of runs that fan out, and
 * the presence of deployments. A store implements all of them; a consumer takes the facets that it uses.
 *
 * Contract, checked by `test/conformance`:
 * - Every method rejects with {@link StoreUnavailableError} if the service did not answer, throttled or failed (the
 *   call may or may not have taken effect), with {@link StoreDeniedError} if it refused the caller, and with the
 *   signal's reason if the caller gave up. A lost race is an answer, never an error.
 * - A method makes one attempt. Repeating it is up to the caller, since only the caller knows what a second call would
 *   do.
 * - `date` is the time of the answer by the service's clock, cut to whole seconds.
 * - Metadata keys are lowercase letters. Values are printable ASCII, not empty, with no space at either end. A store
 *   rejects other metadata, and anything beyond its {@link StoreLimits}, before the call, with {@link StoreLimitError}.
 * - The service checks conditions and leases and applies the change in one step.
 */
export interface LeaseStore
  extends JobRowStore, ControlStore, LedgerStore, LogStore, PieceStore, RequestStore, PresenceStore, AuditStore {}

/** Rows with their leases: the part of a store that an election needs. Row names follow the rules of job names. */
export interface RowStore {
  /** The store's location for messages, without secrets. */
  readonly location: string;

  readonly limits: StoreLimits;

  /** Creates the container if it is missing. If it exists, a missing permission to create it is no error. */
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
   */
  writeRow(
    job: JobName,
    metadata: Metadata,
    guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag },
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag; readonly date: EpochMs } | { readonly kind: 'refused' }>;

  /** `lost`: the lease was no longer ours, or the row changed since `ifMatch`, if given. */
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

/** The rows of jobs. */
export interface JobRowStore extends RowStore, Partial<LeaseBreaking> {
  /**
   * All rows and controls, or those of one job. The listing's `date` is that of the first page, the oldest. Once
   * `enough` is aborted, the listing ends with the pages read so far, at least one, and returns a continuation; pass
   * that as `from` to continue. A job's row and control are never split between two listings.
   */
  list(options?: ListOptions): Promise<Listing>;
}

/** Controls of jobs, one record for each, and that of the fleet under its reserved name. */
export interface ControlStore {
  readControl(
    job: JobName,
    options?: CallOptions,
  ): Promise<{ readonly control: ListedControl | undefined; readonly date: EpochMs }>;

  /** Replaces the control record; with `ifMatch` undefined, only if there is none. `refused`: somebody was faster. */
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

  /** `refused`: the record changed since `ifMatch`, or is gone. */
  replaceRecord(
    job: JobName,
    key: string,
    record: StoredRecord,
    ifMatch: ETag,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'replaced'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** Rejects with `ForeignRecordError` if the record is larger than any that cronlease writes; so does `readPiece`. */
  readRecord(
    job: JobName,
    key: string,
    options?: CallOptions,
  ): Promise<{ readonly body: string; readonly etag: ETag } | undefined>;

  /**
   * One page of a job's record keys with their summaries, in order of key (newest first). A page holds at most `limit`
   * records. It may hold fewer, or none, before the end: only an undefined continuation is the end.
   */
  listRecords(
    job: JobName,
    request: { readonly prefix?: string; readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly records: readonly ListedRecord[]; readonly continuation: string | undefined }>;
}

/**
 * The logs of runs. A log is text in ASCII that only grows, so that a character is a byte; a store rejects other text
 * with {@link StoreLimitError}.
 */
export interface LogStore {
  /** Creates an empty log if its name is free. */
  createLog(job: JobName, key: string, name: string, options?: CallOptions): Promise<'created' | 'exists'>;

  /**
   * Appends text to a log that is `at` bytes long, so that a repeated call appends nothing twice. `refused`: the log has
   * another length, or there is no such log.
   */
  appendLog(
    job: JobName,
    key: string,
    name: string,
    { text, at }: { readonly text: string; readonly at: number },
    options?: CallOptions,
  ): Promise<'appended' | 'refused'>;

  /** At most `limit` bytes of a log from the byte `from` on: none from its end on. Undefined: there is no such log. */
  readLog(
    job: JobName,
    key: string,
    name: string,
    { from, limit }: { readonly from: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<string | undefined>;

  /** One page of the logs of a run, in order of name. Pages work as in `listRecords`. */
  listLogs(
    job: JobName,
    key: string,
    request: { readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly logs: readonly ListedLog[]; readonly continuation: string | undefined }>;
}

/** The pieces of runs that fan out: plan, results of items, heartbeats. */
export interface PieceStore {
  /** Creates a piece of a fan-out run (its plan, an item's result) if its name is free. */
  createPiece(
    job: JobName,
    key: string,
    name: string,
    piece: StoredRecord,
    options?: CallOptions,
  ): Promise<'created' | 'exists'>;

  readPiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<string | undefined>;

  /** Writes an empty summary to a piece, which renews its time of writing. `gone`: there is no such piece. */
  touchPiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<'touched' | 'gone'>;

  /**
   * When a piece was last created or touched, by the service's clock, and the `date` of the answer. Undefined: gone.
   */
  pieceWritten(
    job: JobName,
    key: string,
    name: string,
    options?: CallOptions,
  ): Promise<{ readonly writtenAt: EpochMs; readonly date: EpochMs } | undefined>;

  /**
   * One page of the pieces of a run, or of all runs of a job, in order of run key and name. Pages work as in
   * `listRecords`.
   */
  listPieces(
    job: JobName,
    request: { readonly key?: string; readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly pieces: readonly ListedPiece[]; readonly continuation: string | undefined }>;

  /** A missing piece counts as deleted. */
  deletePiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<void>;
}

/** The inputs of manual requests, which are too large for a control. */
export interface RequestStore {
  /** Keeps the input of a request, as JSON, if the request has none yet. */
  createRequest(id: string, body: string, options?: CallOptions): Promise<'created' | 'exists'>;

  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readRequest(id: string, options?: CallOptions): Promise<string | undefined>;
}

/** Reports that deployments write about themselves. Only `doctor` reads them. */
export interface PresenceStore {
  /**
   * Replaces a deployment's presence; with `ifMatch` undefined, unconditionally. `refused`: somebody else has written
   * it since `ifMatch`.
   */
  writePresence(
    deployment: string,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** The presences of all deployments. `date` is that of the first page. */
  listPresences(options?: CallOptions): Promise<Presences>;
}

/** What people changed: entries that are listed newest first. */
export interface AuditStore {
  /**
   * Writes an entry; with `ifMatch` undefined, only if its key is free. `refused`: the key is taken, or the entry changed
   * since `ifMatch`, or is gone.
   */
  writeAudit(
    key: string,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** One page of entries, in order of key. Pages work as in `listRecords`. */
  listAudits(
    request: { readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly audits: readonly ListedAudit[]; readonly continuation: string | undefined }>;
}

/** The rows of all elections, for operators. */
export interface ElectionStore extends RowStore {
  listRows(options?: CallOptions): Promise<ReadonlyMap<JobName, ListedRow>>;
}

/** The limits of a store, which checks, operators and tests use. */
export interface StoreLimits {
  /** The lengths that a lease may have. */
  readonly leaseMs: { readonly least: Millis; readonly most: Millis };
  /** The most bytes of one blob's metadata, keys and values together: at least 8,192, which a full row needs. */
  readonly metadataBytes: number;
}

export type Metadata = Readonly<Record<string, string>>;

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/**
 * `broken`: somebody other than its holder ended the lease, and the holder may still trust it. It counts as leased
 * until a tick has itself seen it broken for a lease length + margin. Only a store with {@link LeaseBreaking} returns
 * it.
 */
export type LeaseState = 'available' | 'leased' | 'expired' | 'broken';

export interface ListedRow {
  readonly etag: ETag;
  readonly lease: LeaseState;
  /** A broken lease that has not ended. Its holder may still write; nobody can acquire or renew it. */
  readonly isEnding?: boolean;
  /** In a listing: the lease never expires. cronlease never takes such a lease. */
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
  /** The Date of the page that showed the row, or the control if there is no row. */
  readonly date: EpochMs;
}

export interface Listing {
  readonly date: EpochMs;
  readonly jobs: ReadonlyMap<JobName, ListedJob>;
  /** The control of the fleet, in a listing of all jobs. Left out where there is none. */
  readonly fleet?: ListedControl;
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

/** Listed blobs with names that cronlease does not write. Listings omit them. */
export interface Strays {
  readonly count: number;
  /** The first ten. */
  readonly names: readonly string[];
  /** The first ten whose metadata breaks listings by the SDK, which older versions of cronlease use. */
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

export interface ListedLog {
  readonly name: string;
  /** Its length in bytes. */
  readonly bytes: number;
}

export interface ListedAudit {
  readonly key: string;
  readonly metadata: Metadata;
}

export interface ListedPiece {
  /** The run's key. */
  readonly key: string;
  readonly name: string;
  readonly summary: Metadata;
}

/** Storage did not do what was asked. A lost race is not an error. */
export abstract class StoreError extends Error {
  abstract readonly code: string;
}

/** The service could not be reached, throttled, or failed. The call may or may not have taken effect. */
export class StoreUnavailableError extends StoreError {
  readonly code = 'StoreUnavailable';
  override readonly name = 'StoreUnavailableError';
  /** The service's `Retry-After`, if it sent one. */
  readonly retryAfterMs: Millis | undefined;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: Millis | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Why the service refused the caller, if known. `noToken`: the caller has no usable identity. `credentials`: the
 * service does not accept its credentials. `role`: the caller lacks permission. `network`: the service refuses this
 * network.
 */
export type Denial = 'noToken' | 'credentials' | 'role' | 'network';

/** The service refused the caller: wrong credentials, or a missing role. */
export class StoreDeniedError extends StoreError {
  readonly code = 'StoreDenied';
  override readonly name = 'StoreDeniedError';
  readonly why: Denial | undefined;

  constructor(message: string, options: ErrorOptions & { readonly why?: Denial | undefined } = {}) {
    super(message, options);
    this.why = options.why;
  }
}

/** The value exceeds the store's limits, or the lease length does. Nothing was sent. */
export class StoreLimitError extends Error {
  readonly code = 'StoreLimit';
  override readonly name = 'StoreLimitError';
}
