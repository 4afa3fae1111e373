import type { ETag } from '../../core/brand';
import type { CallOptions, Metadata } from './call';

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

export interface ListedAudit {
  readonly key: string;
  readonly metadata: Metadata;
}
