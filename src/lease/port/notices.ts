import type { ETag } from '../../core/brand';
import type { CallOptions, Metadata } from './call';

/** Notices: created once each, then sent, with the state of their delivery as metadata. */
export interface NoticeStore {
  /** Creates a notice if its id is free. */
  createNotice(
    id: string,
    notice: StoredNotice,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'created'; readonly etag: ETag } | { readonly kind: 'exists' }>;

  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readNotice(id: string, options?: CallOptions): Promise<string | undefined>;

  /** Replaces the metadata of a notice. `refused`: it changed since `ifMatch`, or is gone. */
  writeNotice(
    id: string,
    metadata: Metadata,
    ifMatch: ETag,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** A missing notice counts as deleted. */
  deleteNotice(id: string, options?: CallOptions): Promise<void>;

  /** One page of notices, in order of id. Pages work as in `listRecords`. */
  listNotices(
    request: { readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly notices: readonly ListedNotice[]; readonly continuation: string | undefined }>;
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
