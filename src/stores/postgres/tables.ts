import type { ETag } from '../../core/brand';
import type { ListedControl, Metadata } from '../../lease/store';
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

/** The port's `date`, in a select or a returning list: when the statement came, so never later than what it shows. */
export const DATE = '(floor(extract(epoch from transaction_timestamp())) * 1000)::float8 as date';

/** An ETag is the row's version in quotes. Another text fits no row. */
export function versionOf(etag: ETag): string {
  return etag.replaceAll('"', '');
}

export function etagIn(fields: Fields, name = 'version'): ETag {
  return `"${String(fields[name])}"` as ETag;
}

export function controlIn(fields: Fields): ListedControl {
  return { etag: etagIn(fields), metadata: metadataIn(fields) };
}

export function metadataIn(fields: Fields, name = 'metadata'): Metadata {
  return fields[name] as Metadata;
}

/** @throws Error if the statement does not select it: a fault of this adapter */
export function numberIn(fields: Fields | undefined, name: string): number {
  const value = fields?.[name];
  if (typeof value !== 'number') throw new Error(`the statement returns no number "${name}"`);
  return value;
}

/** Keys are printable ASCII, and sorted by bytes: this follows every key with the prefix. */
export function afterPrefix(prefix: string): string {
  return `${prefix}\u007f`;
}

/** A page of rows, of which one more than `limit` was asked for. */
export function pageOf<T>(
  rows: readonly Fields[],
  limit: number,
  keyOf: string,
  itemOf: (fields: Fields) => T,
): { readonly items: readonly T[]; readonly continuation: string | undefined } {
  const page = rows.slice(0, limit);
  const last = page.at(-1)?.[keyOf];
  return { items: page.map(itemOf), continuation: rows.length > limit ? String(last) : undefined };
}
