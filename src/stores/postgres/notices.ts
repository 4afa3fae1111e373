import type { AuditStore, ListedPresence, NoticeStore, PresenceStore } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Ask } from './ask';
import { BODY, bodyIn } from './ledger';
import { controlIn, DATE, etagIn, metadataIn, numberIn, pageOf, type Tables, versionOf } from './tables';

export function noticesIn(ask: Ask, { notices: table }: Tables): NoticeStore {
  return {
    async createNotice(id, { body, metadata }, options) {
      checkMetadata(metadata);
      const [row] = await ask({
        what: `create notice ${id}`,
        kind: 'write',
        sql: `insert into ${table} (id, metadata, body) values ($1, $2, $3) on conflict do nothing returning version`,
        values: [id, JSON.stringify(metadata), Buffer.from(body)],
        options,
      });
      return row === undefined ? { kind: 'exists' } : { kind: 'created', etag: etagIn(row) };
    },
    async readNotice(id, options) {
      const [row] = await ask({
        what: `read notice ${id}`,
        kind: 'read',
        sql: `select ${BODY} from ${table} where id = $1`,
        values: [id],
        options,
      });
      return row && bodyIn(`notice "${id}"`, row);
    },
    async writeNotice(id, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const [row] = await ask({
        what: `write notice ${id}`,
        kind: 'metadata',
        sql: `update ${table} set metadata = $2, version = gen_random_uuid(), written_at = clock_timestamp()
          where id = $1 and version::text = $3 returning version`,
        values: [id, JSON.stringify(metadata), versionOf(ifMatch)],
        options,
      });
      return row === undefined ? { kind: 'refused' } : { kind: 'written', etag: etagIn(row) };
    },
    async deleteNotice(id, options) {
      const sql = `delete from ${table} where id = $1`;
      await ask({ what: `delete notice ${id}`, kind: 'delete', sql, values: [id], options });
    },
    async listNotices({ limit, continuation = '' }, options) {
      const rows = await ask({
        what: 'list notices',
        kind: 'listing',
        sql: `select id, version, metadata from ${table} where id > $1 order by id limit $2`,
        values: [continuation, limit + 1],
        options,
      });
      const { items, ...page } = pageOf(rows, limit, 'id', (row) => ({ id: String(row['id']), ...controlIn(row) }));
      return { notices: items, ...page };
    },
  };
}

export function auditsIn(ask: Ask, { audits: table }: Tables): AuditStore {
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const values = [key, JSON.stringify(metadata)];
      const [row] = await ask({
        what: `write audit entry ${key}`,
        kind: 'write',
        sql:
          ifMatch === undefined
            ? `insert into ${table} (key, metadata) values ($1, $2) on conflict do nothing returning version`
            : `update ${table} set metadata = $2, version = gen_random_uuid(), written_at = clock_timestamp()
               where key = $1 and version::text = $3 returning version`,
        values: ifMatch === undefined ? values : [...values, versionOf(ifMatch)],
        options,
      });
      return row === undefined ? { kind: 'refused' } : { kind: 'written', etag: etagIn(row) };
    },
    async listAudits({ limit, continuation = '' }, options) {
      const rows = await ask({
        what: 'list audit entries',
        kind: 'listing',
        sql: `select key, metadata from ${table} where key > $1 order by key limit $2`,
        values: [continuation, limit + 1],
        options,
      });
      const { items, ...page } = pageOf(rows, limit, 'key', (row) => ({
        key: String(row['key']),
        metadata: metadataIn(row),
      }));
      return { audits: items, ...page };
    },
  };
}

export function presencesIn(ask: Ask, { presences: table }: Tables): PresenceStore {
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const values = [deployment, JSON.stringify(metadata)];
      const [row] = await ask({
        what: `write the presence of ${deployment}`,
        kind: 'write',
        sql:
          ifMatch === undefined
            ? `insert into ${table} (name, metadata) values ($1, $2)
               on conflict (name) do update set metadata = excluded.metadata, version = gen_random_uuid()
               returning version`
            : `update ${table} set metadata = $2, version = gen_random_uuid()
               where name = $1 and version::text = $3 returning version`,
        values: ifMatch === undefined ? values : [...values, versionOf(ifMatch)],
        options,
      });
      return row === undefined ? { kind: 'refused' } : { kind: 'written', etag: etagIn(row) };
    },
    async listPresences(options) {
      const rows = await ask({
        what: 'list deployments',
        kind: 'listing',
        sql: `select t.date, p.* from (select ${DATE}) t left join ${table} p on true order by p.name`,
        options,
      });
      const presences = new Map<string, ListedPresence>();
      for (const row of rows) {
        const name = row['name'] as string | null;
        if (name !== null) presences.set(name, controlIn(row));
      }
      return { date: numberIn(rows[0], 'date'), presences };
    },
  };
}
