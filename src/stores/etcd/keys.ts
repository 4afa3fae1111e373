import type { FacetKeys } from '../port';

/** The names of the keys, or what they begin with. */
export interface Keys {
  /** It exists if the container does. */
  readonly layout: string;
  readonly jobs: RowKeys;
  readonly elections: RowKeys;
  readonly entries: FacetKeys<EntryKeys>;
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
  /** Of a log, the length. */
  readonly heads: string;
  /** Of a log, the text, in keys that end with the place where each begins. */
  readonly bodies: string;
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
  return {
    layout: key('layout'),
    jobs: rows('jobs'),
    elections: rows('elections'),
    entries(facet, job) {
      const name = job === undefined ? facet : `${facet}/${job}`;
      return {
        heads: key(`${name}/`),
        bodies: key(facet === 'logs' ? `log-texts/${String(job)}/` : `bodies/${name}/`),
      };
    },
    marks: key('marks/'),
  };
}
