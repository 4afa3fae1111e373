import type { EpochMs } from '../../core/brand';
import type { Retention } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import { afterPrefix, type Entries, type Head, type Logs, pageOf, versionOf } from '../port';
import type { Ask, Fields } from './ask';
import { DATE, type EntryKeys, etagIn, metadataIn, numberIn, type Tables } from './schema';

const WRITTEN_AT = '(floor(extract(epoch from written_at)) * 1000)::float8 as written_at';
const HEAD = `id, version, metadata, ${WRITTEN_AT}`;
/** A body, unless it is larger than any that cronlease writes. It is stored as the bytes of its text, which may have NUL. */
const BODY = `case when octet_length(body) <= ${String(BODY_BYTES)} then body end as body`;
const NEW_VERSION = 'version = gen_random_uuid(), written_at = clock_timestamp()';

export function entriesIn(ask: Ask): Entries<EntryKeys> {
  return {
    async put({ keys: { table, job }, id, condition, metadata, body, ...question }) {
      const values = [job, id, JSON.stringify(metadata), body === undefined ? null : Buffer.from(body)];
      const insert = `insert into ${table} as e (job, id, metadata, body) values ($1, $2, $3, $4)`;
      const update = `update ${table} as e set metadata = $3, body = coalesce($4, e.body), ${NEW_VERSION}
        where job = $1 and id = $2`;
      const writes = {
        absent: `${insert} on conflict do nothing`,
        there: update,
        any: `${insert} on conflict (job, id) do update
          set metadata = excluded.metadata, body = coalesce(excluded.body, e.body), ${NEW_VERSION}`,
      };
      const isKind = typeof condition === 'string';
      const [row] = await ask({
        ...question,
        sql: `${isKind ? writes[condition] : `${update} and version::text = $5`} returning version`,
        values: isKind ? values : [...values, versionOf(condition.version)],
      });
      return row && etagIn(row);
    },
    async get({ keys: { table, job }, id, ...question }) {
      const [row] = await ask({
        ...question,
        sql: dated(`select ${HEAD}, ${BODY} from ${table} where job = $1 and id = $2`),
        values: [job, id],
        isNothing: ([found]) => found?.['id'] === null,
      });
      const body = row?.['body'];
      return { ...headIn(row), body: Buffer.isBuffer(body) ? body.toString('utf8') : undefined };
    },
    async page({ keys: { table, job }, prefix = '', limit, continuation = '', ...question }) {
      const rows = await ask({
        ...question,
        sql: dated(`select ${HEAD} from ${table}
          where job = $1 and id >= $2 and id < $3 and id > $4 order by id limit $5`),
        values: [job, prefix, afterPrefix(prefix), continuation, limit + 1],
      });
      const { now, found } = headsIn(rows);
      return { now, ...pageOf(found, limit) };
    },
    async all({ keys: { table, job }, ...question }) {
      const rows = await ask({ ...question, sql: dated(`select ${HEAD} from ${table} where job = $1`), values: [job] });
      const { now, found } = headsIn(rows);
      return { now, found: new Map(found.map(({ id, ...head }) => [id, head])) };
    },
    async remove({ keys: { table, job }, id, ifMatch, ...question }) {
      const rows = await ask({
        ...question,
        sql: `delete from ${table} where job = $1 and id = $2 and ($3::text is null or version::text = $3) returning 1`,
        values: [job, id, ifMatch === undefined ? null : versionOf(ifMatch)],
      });
      return rows.length > 0;
    },
  };
}

/** One row with the date comes even if nothing is found. */
function dated(select: string): string {
  return `select t.date, e.* from (select ${DATE}) t left join (${select}) e on true order by e.id`;
}

function headIn(row: Fields | undefined): { readonly now: EpochMs; readonly head: Head | undefined } {
  const now = numberIn(row, 'date');
  if (row === undefined || row['id'] === null) return { now, head: undefined };
  return { now, head: { etag: etagIn(row), writtenMs: numberIn(row, 'written_at'), metadata: metadataIn(row) } };
}

function headsIn(rows: readonly Fields[]): {
  readonly now: EpochMs;
  readonly found: readonly (Head & { readonly id: string })[];
} {
  const found = rows.flatMap((row) => {
    const { head } = headIn(row);
    return head === undefined ? [] : [{ id: String(row['id']), ...head }];
  });
  return { now: numberIn(rows[0], 'date'), found };
}

/** At most so many rows of each table in one call, which takes about a tenth of a second. */
const BATCH = 5_000;

/** What a lifecycle rule does for blobs. An index of page ranges by time finds what is old, and costs a write nothing. */
export function purgeIn(
  ask: Ask,
  { records, logs, log_texts: texts, requests, audits, notices }: Tables,
): Retention['purge'] {
  const old = (table: string, keep: string, join = ''): string =>
    `select o.ctid from ${table} o ${join}
     where o.written_at < clock_timestamp() - $1::float8 * interval '1 ms'
       and o.written_at < clock_timestamp() - ${keep} * interval '1 ms' limit ${String(BATCH)}`;
  const ofJobs = `join (select key as name, value::float8 as keep from jsonb_each_text($2::jsonb)) k on k.name = o.job`;
  return async ({ jobs: keep, longestMs }, options) => {
    const jobs = [Math.min(...keep.values()), JSON.stringify(Object.fromEntries(keep))];
    const question = { kind: 'delete', options } as const;
    const gone = [
      await ask({
        ...question,
        what: 'delete old records',
        values: jobs,
        sql: `delete from ${records} where ctid = any(array(${old(records, 'k.keep', ofJobs)})) returning 1`,
      }),
      await ask({
        ...question,
        what: 'delete old logs',
        values: jobs,
        sql: `with gone as (
              delete from ${logs} where ctid = any(array(${old(logs, 'k.keep', ofJobs)})) returning job, id
            ), lines as (
              delete from ${texts} t using gone where t.job = gone.job and t.id = gone.id
            ) select 1 from gone`,
      }),
    ];
    for (const table of [requests, audits, notices]) {
      const sql = `delete from ${table} where ctid = any(array(${old(table, '$1::float8')})) returning 1`;
      gone.push(await ask({ ...question, what: 'delete old entries', values: [longestMs], sql }));
    }
    return gone.some(({ length }) => length >= BATCH) ? 'more' : 'done';
  };
}

/** A log is a length, and its appended texts by the place at which each begins: an append rewrites no text. */
export function logsIn(ask: Ask, { logs, log_texts: texts }: Tables): Logs<EntryKeys> {
  return {
    async create({ keys: { job }, id, ...question }) {
      const sql = `insert into ${logs} (job, id) values ($1, $2) on conflict do nothing returning 1`;
      return (await ask({ ...question, sql, values: [job, id] })).length > 0;
    },
    async append({ keys: { job }, id, text, at, ...question }) {
      const rows = await ask({
        ...question,
        sql: `with grown as (
            update ${logs} set bytes = bytes + $4::integer, written_at = clock_timestamp()
            where job = $1 and id = $2 and bytes = $3::bigint returning 1
          ) insert into ${texts} (job, id, at, text) select $1, $2, $3::bigint, $5 from grown returning 1`,
        values: [job, id, at, text.length, text],
      });
      return rows.length > 0;
    },
    async read({ keys: { job }, id, from, limit, ...question }) {
      const rows = await ask({
        ...question,
        sql: `select t.at::float8 as at, substr(t.text, greatest(1, $3::bigint - t.at + 1)::integer, $4::integer) as text
          from ${logs} l left join ${texts} t on t.job = l.job and t.id = l.id and t.at < $3::bigint + $4::integer
            and t.at >= (select coalesce(max(at), 0) from ${texts} where job = $1 and id = $2 and at <= $3::bigint)
          where l.job = $1 and l.id = $2 order by t.at`,
        // They are lengths of text in PostgreSQL's integers.
        values: [job, id, Math.min(from, 2 ** 30), Math.min(limit, 2 ** 30)],
      });
      if (rows.length === 0) return undefined;
      const found = rows.filter((row) => row['at'] !== null);
      return found
        .map((row) => String(row['text']))
        .join('')
        .slice(0, limit);
    },
    async page({ keys: { job }, prefix, limit, continuation = '', ...question }) {
      const rows = await ask({
        ...question,
        sql: `select id, bytes::float8 as bytes from ${logs}
          where job = $1 and id >= $2 and id < $3 and id > $4 order by id limit $5`,
        values: [job, prefix, afterPrefix(prefix), continuation, limit + 1],
      });
      const found = rows.map((row) => ({ id: String(row['id']), bytes: numberIn(row, 'bytes') }));
      return pageOf(found, limit);
    },
  };
}
