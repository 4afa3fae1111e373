import type { JobName } from '../../core/brand';
import { type FacetKeys, facetKeys } from '../port';

/** The names of the keys, or what they begin with. */
export interface Keys extends FacetKeys<EntryKeys> {
  /** It exists if the container does. */
  readonly layout: string;
  readonly jobs: RowKeys;
  readonly elections: RowKeys;
  readonly logs: (job: JobName) => LogKeys;
  /** When which revision was the newest: a key for each mark, with the time in its name. */
  readonly marks: string;
}

/** Each is followed by the row's name. */
export interface RowKeys {
  /** The metadata. Its revision is the row's version. */
  readonly rows: string;
  /** The id of the last acquisition, until it is released. */
  readonly holders: string;
  /** The length of that lease in seconds, and whether it is broken. */
  readonly terms: string;
  /** The same id. This key ends with a lease of etcd: while it is there, no other client can acquire. */
  readonly locks: string;
}

/** Each is followed by the entry's id. */
export interface EntryKeys {
  readonly heads: string;
  readonly bodies: string;
}

export interface LogKeys {
  /** The length. */
  readonly heads: string;
  /** The text, in keys that end with the place where each begins. */
  readonly texts: string;
}

/** @param container has no character that needs an escape */
export function keysIn(prefix: string, container: string): Keys {
  const key = (name: string): string => `${prefix}/${container}/${name}`;
  const rows = (name: string): RowKeys => ({
    rows: key(`${name}/`),
    holders: key(`${name}-holders/`),
    terms: key(`${name}-terms/`),
    locks: key(`${name}-locks/`),
  });
  const entries = (name: string): EntryKeys => ({ heads: key(`${name}/`), bodies: key(`bodies/${name}/`) });
  return {
    layout: key('layout'),
    jobs: rows('jobs'),
    elections: rows('elections'),
    ...facetKeys((kind, job) => entries(job === undefined ? kind : `${kind}/${job}`)),
    logs: (job) => ({ heads: key(`logs/${job}/`), texts: key(`log-texts/${job}/`) }),
    marks: key('marks/'),
  };
}
