import { type Logs, afterPrefix, pageOf } from '../port';
import type { Ask } from './ask';
import { type EntryKeys, numberIn, type Tables } from './schema';

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
