import type { EpochMs, ETag } from '../../core/brand';
import type { CallOptions, Metadata } from './call';
import type { MissingAccount, Strays } from './job-rows';

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
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;

  /** The presences of all deployments. `date` is that of the first page. */
  listPresences(options?: CallOptions): Promise<Presences>;
}

export interface ListedPresence {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

export interface Presences {
  readonly date: EpochMs;
  readonly presences: ReadonlyMap<string, ListedPresence>;
  /** Left out where there are none. */
  readonly strays?: Strays;
  /** As in `Listing`. */
  readonly missing?: readonly MissingAccount[];
}
