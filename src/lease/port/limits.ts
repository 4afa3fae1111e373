import type { Millis } from '../../core/brand';
import type { Metadata } from './call';

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
