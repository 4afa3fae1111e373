import type { ETag } from '../../core/brand';
import type { CallOptions } from './call';

/** Groups of jobs, each one text: the runs that have a place in it, and those that wait for one. */
export interface GroupStore {
  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readGroup(group: string, options?: CallOptions): Promise<{ readonly body: string; readonly etag: ETag } | undefined>;

  /**
   * Replaces a group's text; with `ifMatch` undefined, only if there is none. `refused`: another instance was faster.
   */
  writeGroup(
    group: string,
    body: string,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<{ readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' }>;
}
