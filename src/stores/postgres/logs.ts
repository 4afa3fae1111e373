import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import type { Ask } from './ask';
import { numberIn, type Tables } from './tables';
import { afterPrefix, pageOf } from '../port';

/** A log is a length, and its appended texts by the place at which each begins: an append rewrites no text. */
export function logsIn(ask: Ask, { logs, log_texts: texts }: Tables): LogStore {
  const what = (verb: string, job: JobName, id: string): string => `${verb} log ${id} of ${job}`;
  return {
    async createLog(job, key, name, options) {
      const id = `${key}/${name}`;
      const rows = await ask({
        what: what('create', job, id),
        kind: 'write',
        sql: `insert into ${logs} (job, id) values ($1, $2) on conflict do nothing returning 1`,
        values: [job, id],
        options,
      });
      return rows.length > 0 ? 'created' : 'exists';
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const id = `${key}/${name}`;
      const rows = await ask({
        what: what('append to', job, id),
        kind: 'append',
        sql: `with grown as (
            update ${logs} set bytes = bytes + $4::integer, written_at = clock_timestamp()
            where job = $1 and id = $2 and bytes = $3::bigint returning 1
          ) insert into ${texts} (job, id, at, text) select $1, $2, $3::bigint, $5 from grown returning 1`,
        values: [job, id, at, text.length, text],
        options,
      });
      return rows.length > 0 ? 'appended' : 'refused';
    },
    async readLog(job, key, name, { from, limit }, options) {
      const id = `${key}/${name}`;
      const rows = await ask({
        what: what('read', job, id),
        kind: 'read',
        sql: `select t.at::float8 as at, substr(t.text, greatest(1, $3::bigint - t.at + 1)::integer, $4::integer) as text
          from ${logs} l left join ${texts} t on t.job = l.job and t.id = l.id and t.at < $3::bigint + $4::integer
            and t.at >= (select coalesce(max(at), 0) from ${texts} where job = $1 and id = $2 and at <= $3::bigint)
          where l.job = $1 and l.id = $2 order by t.at`,
        // They are lengths of text in PostgreSQL's integers.
        values: [job, id, Math.min(from, 2 ** 30), Math.min(limit, 2 ** 30)],
        options,
      });
      if (rows.length === 0) return undefined;
      const found = rows.filter((row) => row['at'] !== null);
      return found
        .map((row) => String(row['text']))
        .join('')
        .slice(0, limit);
    },
    async listLogs(job, key, { limit, continuation = '' }, options) {
      const prefix = `${key}/`;
      const rows = await ask({
        what: `list the logs of run ${key} of ${job}`,
        kind: 'listing',
        sql: `select id, bytes::float8 as bytes from ${logs}
          where job = $1 and id >= $2 and id < $3 and id > $4 order by id limit $5`,
        values: [job, prefix, afterPrefix(prefix), continuation, limit + 1],
        options,
      });
      const found = rows.map((row) => ({ id: String(row['id']), bytes: numberIn(row, 'bytes') }));
      const { items, ...page } = pageOf(found, limit);
      return { logs: items.map(({ id, bytes }) => ({ name: id.slice(prefix.length), bytes })), ...page };
    },
  };
}
