import type { FacetKeys } from '../port';

/**
 * The names of the keys. Each ends with a slash, because Consul finds keys by how they begin: what begins so is the key
 * itself and what lies below it, and never a key with a longer name.
 */
export interface Keys {
  /** It exists if the container does. */
  readonly layout: string;
  /** Rows follow, by their names. */
  readonly jobs: string;
  readonly elections: string;
  readonly entries: FacetKeys<EntryKeys>;
  /** The bodies that are being written in parts. */
  readonly uploads: string;
  /** The node in the catalog on which sessions are. */
  readonly node: string;
}

export interface EntryKeys {
  readonly heads: string;
  readonly bodies: string;
}

/** @param container has no character that needs an escape */
export function keysIn(prefix: string, container: string): Keys {
  const root = `${prefix}/${container}/`.replace(/^\/+/, '');
  return {
    layout: `${root}layout/`,
    jobs: `${root}jobs/`,
    elections: `${root}elections/`,
    entries(facet, job) {
      const name = job === undefined ? facet : `${facet}/${job}`;
      return { heads: `${root}${name}/`, bodies: `${root}bodies/${name}/` };
    },
    uploads: `${root}uploads/`,
    node: root.slice(0, -1).replaceAll(/[^A-Za-z0-9-]+/g, '-'),
  };
}

/** A row's key, and that of its lease, which lies below it. */
export function rowKeys(folder: string, name: string): { readonly row: string; readonly lease: string } {
  const row = `${folder}${name}/`;
  return { row, lease: `${row}lease/` };
}

export function headKey({ heads }: EntryKeys, id: string): string {
  return `${heads}${encodeURIComponent(id.slice(0, DIVISION_LENGTH))}/${id}/`;
}

/** The key of an entry's body, with those of its parts below it. */
export function bodyKey({ bodies }: EntryKeys, id: string): string {
  return `${bodies}${id}/`;
}

/** The id of the entry with this head. */
export function idIn({ heads }: EntryKeys, key: string): string {
  return key.slice(key.indexOf('/', heads.length) + 1, -1);
}

/**
 * Consul lists all keys that begin alike, and has no pages. So heads lie in divisions, by how their ids begin: keys of
 * records begin with their time, and a division is some three hours.
 */
const DIVISION_LENGTH = 6;

/** How the ids in a division begin. */
export function startIn(heads: string, division: string): string {
  return decodeURIComponent(division.slice(heads.length, -1));
}

/** Whether ids that begin so may have this prefix, and come after `after`. */
export function mayHold(start: string, prefix: string, after: string): boolean {
  return (start.startsWith(prefix) || prefix.startsWith(start)) && start >= after.slice(0, start.length);
}
