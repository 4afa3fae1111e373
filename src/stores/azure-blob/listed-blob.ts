import type { Metadata } from '../../lease/store';

/** One blob of a listing. */
export interface ListedBlob {
  readonly name: string;
  readonly etag: string;
  /** When it was last written, as `Fri, 27 Nov 2026 13:00:00 GMT`. */
  readonly lastModified: string;
  /** The lease state in the service's terms. */
  readonly lease: string;
  readonly endless: boolean;
  /** The length of its body. */
  readonly bytes: number;
  /** A folder of an account with a hierarchical namespace, which lists these among the blobs. */
  readonly isFolder: boolean;
  readonly metadata: Metadata;
}

/** A property of a blob in a listing, by the service's name for it. */
export type Property = (name: string) => string | undefined;

/**
 * The blob with these fields, as a listing shows it.
 *
 * @param readMetadata called at most once, when the metadata is asked for
 */
export function blobOf(
  name: string | undefined,
  property: Property,
  readMetadata: () => readonly (readonly [string, string])[],
): ListedBlob {
  let metadata: Metadata | undefined;
  return {
    name: name ?? '',
    etag: property('Etag') ?? '',
    lastModified: property('Last-Modified') ?? '',
    lease: property('LeaseState') ?? 'available',
    endless: property('LeaseDuration') === 'infinite',
    bytes: Number(property('Content-Length') ?? '0'),
    isFolder: property('ResourceType') === 'directory',
    get metadata() {
      // Makes own properties, so that `__proto__` is a key like any other.
      metadata ??= Object.fromEntries(readMetadata());
      return metadata;
    },
  };
}
