import type { ETag, JobName } from '../../core/brand';
import { type Metadata, StoreDeniedError } from '../../lease/store';
import { type FacetKeys, type Question, etagOf } from '../port';
import { type Fields, type Server, call } from './ask';
import { FAULTS, isMissing, NO_RIGHT, stateOf } from './errors';

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
  return (facet, job) => ({ table: tables[facet], job: job ?? '' });
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

/**
 * The version of the tables. A later one must leave the tables usable for the release before it, because the instances
 * of both run side by side: it may add tables and columns with defaults, and nothing else.
 */
const VERSION = 1;

const LEASED = `
  name text collate "C" primary key,
  version uuid not null default gen_random_uuid(),
  metadata jsonb not null,
  lease_id text,
  lease_ms integer,
  lease_until timestamptz,
  breaking boolean not null default false`;
const WRITTEN = `written_at timestamptz not null default clock_timestamp()`;
const ENTRIES = `
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  ${WRITTEN}, primary key (job, id)`;

/**
 * The statements that create what is missing, in one transaction. Half of each page of the rows is left free, so that an
 * update stays on its page and touches no index.
 *
 * @param schema the container's name
 */
export function layoutOf(schema: string): string {
  const t = tablesIn(schema);
  const entries = [t.controls, t.records, t.pieces, t.requests, t.presences, t.notices, t.audits, t.groups];
  return `create table if not exists ${t.jobs} (${LEASED}
) with (fillfactor = 50);
create table if not exists ${t.elections} (${LEASED}
) with (fillfactor = 50);
${entries.map((table) => `create table if not exists ${table} (${ENTRIES});`).join('\n')}
create table if not exists ${t.logs} (
  job text collate "C", id text collate "C", bytes bigint not null default 0,
  ${WRITTEN}, primary key (job, id));
create table if not exists ${t.log_texts} (
  job text collate "C", id text collate "C", at bigint, text text not null, primary key (job, id, at));
create table if not exists ${t.tables} (number integer primary key);
${[t.records, t.logs].map((table) => `create index if not exists ${table.split('.')[1] ?? ''}_written on ${table} using brin (written_at);`).join('\n')}
insert into ${t.tables} values (${String(VERSION)}) on conflict do nothing;`;
}

/**
 * Creates the schema and the tables if they are missing. If they exist, one read shows that, and no right to create
 * anything is needed. Instances that start side by side wait for each other at a lock that ends with the transaction.
 */
export async function prepareLayout(server: Server, schema: string, question: Question): Promise<void> {
  const { tables } = tablesIn(schema);
  await call(server, { ...question, what: `create the tables of ${schema}` }, async (session) => {
    try {
      const [found] = await session.query(`select max(number) as number from ${tables}`);
      if (Number(found?.['number']) >= VERSION) return [{}];
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    try {
      // One message is one transaction, also behind a pooler. "create schema if not exists" needs the right to create
      // schemas even where the schema exists. to_regnamespace would answer from this session's cache, in which the
      // failed read above has noted that there is no schema, although another instance has created it meanwhile. A
      // serializable transaction would look at what there was before it had the lock.
      await session.query(`set transaction isolation level read committed; select pg_advisory_xact_lock(hashtext('cronlease ${schema}'));
do $$ begin
  if not exists (select from pg_namespace where nspname = '${schema}') then create schema "${schema}"; end if;
end $$;
${layoutOf(schema)}`);
    } catch (error) {
      if (stateOf(error) !== NO_RIGHT) throw error;
      const cause = FAULTS.failure(error, `create the tables at ${server.location}`);
      throw new StoreDeniedError(
        `${server.location}: the schema "${schema}" lacks its tables, and this role may not create them. Let the owner of ` +
          'the database create them (docs/reference/stores.md has the statements), or grant the right to do so.',
        { cause, why: 'role' },
      );
    }
    return [{}];
  });
}
