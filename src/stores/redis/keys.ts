import type { FacetKeys } from '../port';

/**
 * The names of the keys. The braces make each key of a container hash to one slot, so that a script may use several of
 * them in a cluster.
 */
export interface Keys {
  /** It exists if the container does. */
  readonly layout: string;
  readonly jobs: RowKeys;
  readonly elections: RowKeys;
  readonly entries: FacetKeys<EntryKeys>;
}

/** Hashes by the row's name: the version with the lease, and the metadata. */
export type RowKeys = readonly [heads: string, metadata: string];

/**
 * Hashes by the entry's id: the version with the time of writing and the metadata, and the bodies. Sorted sets of the
 * ids: by name, for pages; and by time of writing, for retention.
 */
export type EntryKeys = readonly [heads: string, bodies: string, names: string, written: string];

/** @param container has no character that needs an escape */
export function keysIn(container: string): Keys {
  const key = (name: string): string => `{${container}}:${name}`;
  const rows = (name: string): RowKeys => [key(name), key(`${name}:metadata`)];
  return {
    layout: key('layout'),
    jobs: rows('jobs'),
    elections: rows('elections'),
    entries(facet, job) {
      const name = job === undefined ? facet : `${facet}:${job}`;
      return [key(name), key(`${name}:bodies`), key(`${name}:names`), key(`${name}:written`)];
    },
  };
}
