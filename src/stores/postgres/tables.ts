import type { ETag, JobName } from '../../core/brand';
import type { Metadata } from '../../lease/store';
import { type FacetKeys, etagOf, facetKeys } from '../port';
import type { Fields } from './ask';

/** The names of tables, with the schema that the container names. */
export type Tables = Readonly<Record<(typeof TABLES)[number], string>>;

const TABLES = [
  'tables',
  'jobs',
  'elections',
  'controls',
  'records',
  'logs',
  'log_texts',
  'pieces',
  'requests',
  'presences',
  'notices',
  'audits',
  'groups',
] as const;

/** @param schema a container's name: it has no character that needs an escape */
export function tablesIn(schema: string): Tables {
  return Object.fromEntries(TABLES.map((table) => [table, `"${schema}".${table}`])) as Tables;
}

export interface EntryKeys {
  readonly table: string;
  /** Empty for a kind that belongs to no job. */
  readonly job: JobName | '';
}

export function entryKeysIn(tables: Tables): FacetKeys<EntryKeys> {
  return facetKeys((kind, job) => ({ table: tables[kind], job: job ?? '' }));
}

/** The port's `date`, in a select or a returning list: when the statement came, so never later than what it shows. */
export const DATE = '(floor(extract(epoch from transaction_timestamp())) * 1000)::float8 as date';

export function etagIn(fields: Fields, name = 'version'): ETag {
  return etagOf(String(fields[name]));
}

export function metadataIn(fields: Fields, name = 'metadata'): Metadata {
  return fields[name] as Metadata;
}

/** @throws Error if the statement does not select it: a bug in this adapter */
export function numberIn(fields: Fields | undefined, name: string): number {
  const value = fields?.[name];
  if (typeof value !== 'number') throw new Error(`the statement returns no number "${name}"`);
  return value;
}
