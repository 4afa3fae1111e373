import type { LedgerStore, RequestStore } from '../../lease/store';
import { BODY_BYTES, checkBody, checkMetadata } from '../limits';
import type { Ask, Fields } from './ask';
import { afterPrefix, etagIn, metadataIn, pageOf, type Tables, versionOf } from './tables';

/** A body, unless it is larger than any that cronlease writes. */
export const BODY = `case when octet_length(body) <= ${String(BODY_BYTES)} then body end as body`;

/** The bodies are stored as the bytes of their text: PostgreSQL's own text has no NUL. */
export function bodyIn(what: string, fields: Fields): string {
  const body = fields['body'];
  return checkBody(what, Buffer.isBuffer(body) ? body.toString('utf8') : undefined);
}

export function ledgerIn(ask: Ask, { records: table }: Tables): LedgerStore {
  return {
    async createRecord(job, key, { body, summary }, options) {
      checkMetadata(summary);
      const [row] = await ask({
        what: `create record ${key} of ${job}`,
        kind: 'write',
        sql: `insert into ${table} (job, key, metadata, body) values ($1, $2, $3, $4)
          on conflict do nothing returning version`,
        values: [job, key, JSON.stringify(summary), Buffer.from(body)],
        options,
      });
      return row === undefined ? { kind: 'exists' } : { kind: 'created', etag: etagIn(row) };
    },
    async replaceRecord(job, key, { body, summary }, ifMatch, options) {
      checkMetadata(summary);
      const [row] = await ask({
        what: `replace record ${key} of ${job}`,
        kind: 'write',
        sql: `update ${table} set metadata = $3, body = $4, version = gen_random_uuid(), written_at = clock_timestamp()
          where job = $1 and key = $2 and version::text = $5 returning version`,
        values: [job, key, JSON.stringify(summary), Buffer.from(body), versionOf(ifMatch)],
        options,
      });
      return row === undefined ? { kind: 'refused' } : { kind: 'replaced', etag: etagIn(row) };
    },
    async readRecord(job, key, options) {
      const [row] = await ask({
        what: `read record ${key} of ${job}`,
        kind: 'read',
        sql: `select version, ${BODY} from ${table} where job = $1 and key = $2`,
        values: [job, key],
        options,
      });
      return row && { body: bodyIn(`ledger record "${key}" of job "${job}"`, row), etag: etagIn(row) };
    },
    async listRecords(job, { prefix = '', limit, continuation = '' }, options) {
      const rows = await ask({
        what: `list records of ${job}`,
        kind: 'listing',
        sql: `select key, version, metadata from ${table}
          where job = $1 and key >= $2 and key < $3 and key > $4 order by key limit $5`,
        values: [job, prefix, afterPrefix(prefix), continuation, limit + 1],
        options,
      });
      const { items, ...page } = pageOf(rows, limit, 'key', (row) => ({
        key: String(row['key']),
        etag: etagIn(row),
        summary: metadataIn(row),
      }));
      return { records: items, ...page };
    },
  };
}

export function requestsIn(ask: Ask, { requests: table }: Tables): RequestStore {
  return {
    async createRequest(id, body, options) {
      const rows = await ask({
        what: `keep the input of request ${id}`,
        kind: 'write',
        sql: `insert into ${table} (id, body) values ($1, $2) on conflict do nothing returning 1`,
        values: [id, Buffer.from(body)],
        options,
      });
      return rows.length > 0 ? 'created' : 'exists';
    },
    async readRequest(id, options) {
      const [row] = await ask({
        what: `read the input of request ${id}`,
        kind: 'read',
        sql: `select ${BODY} from ${table} where id = $1`,
        values: [id],
        options,
      });
      return row && bodyIn(`the input of request "${id}"`, row);
    },
  };
}
