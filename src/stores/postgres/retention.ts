import type { Retention } from '../../lease/store';
import type { Ask } from './ask';
import type { Tables } from './schema';

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
