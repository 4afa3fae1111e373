import type { EpochMs } from '../../core/brand';
import { BODY_BYTES } from '../limits';
import { type Entries, type Head, afterPrefix, pageOf, versionOf } from '../port';
import type { Ask, Fields } from './ask';
import { DATE, type EntryKeys, etagIn, metadataIn, numberIn } from './schema';

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
