import type { ETag, JobName, Millis } from '../../core/brand';
import type { CallOptions, Metadata } from './call';

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
  /**
   * Deletes some of what was last written longer ago than it is kept. `more`: a further call deletes further ones.
   */
  purge(keep: Keep, options?: CallOptions): Promise<'done' | 'more'>;
  /** One call a day is enough. Otherwise, one an hour is. */
  readonly purgesDaily?: true;
}
