import type { EpochMs, ETag, JobName, Millis } from '../../core/brand';
import type { CallOptions, CreateAnswer, Metadata, Paged, PageRequest, WriteAnswer } from './call';
import type { ListedControl } from './rows';

/** Controls of jobs, one record for each, and those of the fleet and of the layout under their reserved names. */
export interface ControlStore {
  readControl(
    job: JobName,
    options?: CallOptions,
  ): Promise<{ readonly control: ListedControl | undefined; readonly date: EpochMs }>;

  /**
   * Replaces the control record; with `ifMatch` undefined, only if there is none. `refused`: another instance was
   * faster.
   */
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
  createRecord(job: JobName, key: string, record: StoredRecord, options?: CallOptions): Promise<CreateAnswer>;

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
  ): Promise<Paged<'records', ListedRecord>>;
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

/** How long entries are kept. */
export interface Keep {
  /** The records and logs of the jobs of this deployment. */
  readonly jobs: ReadonlyMap<JobName, Millis>;
  /** Inputs of manual runs, audit entries and notices. */
  readonly longestMs: Millis;
}

/** Retention by calls. */
export interface Retention {
  /** Deletes some of what was last written longer ago than it is kept. `more`: a further call deletes further ones. */
  purge(keep: Keep, options?: CallOptions): Promise<'done' | 'more'>;
  /** One call a day is enough. Otherwise, one an hour is. */
  readonly purgesDaily?: true;
}

/**
 * The logs of runs. A log is text in ASCII that only grows, so that a character is a byte; a store rejects other text
 * with `StoreLimitError`.
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
  listLogs(job: JobName, key: string, request: PageRequest, options?: CallOptions): Promise<Paged<'logs', ListedLog>>;
}

export interface ListedLog {
  readonly name: string;
  /** Its length in bytes. */
  readonly bytes: number;
}

/** The pieces of runs that fan out: plan, results of items, heartbeats. A call keeps its operation in them. */
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

  /** Replaces the summary of a piece, which renews its time of writing. `gone`: there is no such piece. */
  touchPiece(
    job: JobName,
    key: string,
    name: string,
    summary: Metadata,
    options?: CallOptions,
  ): Promise<'touched' | 'gone'>;

  /**
   * One page of the pieces of a run, or of all runs of a job, in order of run key and name. Pages work as in
   * `listRecords`. With `prefix`, only the pieces of the run whose names begin with it.
   */
  listPieces(
    job: JobName,
    request: {
      readonly key?: string;
      readonly prefix?: string;
      readonly limit: number;
      readonly continuation?: string;
    },
    options?: CallOptions,
  ): Promise<Paged<'pieces', ListedPiece>>;

  /** A missing piece counts as deleted. */
  deletePiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<void>;
}

export interface ListedPiece {
  /** The run's key. */
  readonly key: string;
  readonly name: string;
  readonly summary: Metadata;
  /** When it was last created or touched, by the service's clock. */
  readonly writtenAt: EpochMs;
  /** The service's Date of the answer. */
  readonly date: EpochMs;
}

/** The inputs of manual runs, which are too large for a control. */
export interface RequestStore {
  /** Keeps the input of a manual run, as JSON, if the manual run has none yet. */
  createRequest(id: string, body: string, options?: CallOptions): Promise<'created' | 'exists'>;

  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readRequest(id: string, options?: CallOptions): Promise<string | undefined>;
}

/** Notices: created once each, then sent, with the state of their delivery as metadata. */
export interface NoticeStore {
  /** Creates a notice if its id is free. */
  createNotice(id: string, notice: StoredNotice, options?: CallOptions): Promise<CreateAnswer>;

  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readNotice(id: string, options?: CallOptions): Promise<string | undefined>;

  /** Replaces the metadata of a notice. `refused`: it changed since `ifMatch`, or is gone. */
  writeNotice(id: string, metadata: Metadata, ifMatch: ETag, options?: CallOptions): Promise<WriteAnswer>;

  /** A missing notice counts as deleted. */
  deleteNotice(id: string, options?: CallOptions): Promise<void>;

  /** One page of notices, in order of id. Pages work as in `listRecords`. */
  listNotices(request: PageRequest, options?: CallOptions): Promise<Paged<'notices', ListedNotice>>;
}

/** A notice as stored: its JSON, and the state of its delivery. */
export interface StoredNotice {
  readonly body: string;
  readonly metadata: Metadata;
}

export interface ListedNotice {
  readonly id: string;
  readonly etag: ETag;
  readonly metadata: Metadata;
}

/** What people changed: entries that are listed newest first. */
export interface AuditStore {
  /**
   * Writes an entry; with `ifMatch` undefined, only if its key is free. `refused`: the key is taken, or the entry changed
   * since `ifMatch`, or is gone.
   */
  writeAudit(key: string, metadata: Metadata, ifMatch: ETag | undefined, options?: CallOptions): Promise<WriteAnswer>;

  /** One page of entries, in order of key. Pages work as in `listRecords`. */
  listAudits(request: PageRequest, options?: CallOptions): Promise<Paged<'audits', ListedAudit>>;
}

export interface ListedAudit {
  readonly key: string;
  readonly metadata: Metadata;
}

/** Groups of jobs, each one text: the runs that have a place in it, and those that wait for one. */
export interface GroupStore {
  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readGroup(group: string, options?: CallOptions): Promise<{ readonly body: string; readonly etag: ETag } | undefined>;

  /**
   * Replaces a group's text; with `ifMatch` undefined, only if there is none. `refused`: another instance was faster.
   */
  writeGroup(group: string, body: string, ifMatch: ETag | undefined, options?: CallOptions): Promise<WriteAnswer>;
}
