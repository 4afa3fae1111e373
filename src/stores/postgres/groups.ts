import type { GroupStore } from '../../lease/store';
import type { Ask } from './ask';
import { BODY, bodyIn } from './ledger';
import { etagIn, type Tables, versionOf } from './tables';

export function groupsIn(ask: Ask, { groups: table }: Tables): GroupStore {
  return {
    async readGroup(group, options) {
      const [row] = await ask({
        what: `read group ${group}`,
        kind: 'read',
        sql: `select version, ${BODY} from ${table} where name = $1`,
        values: [group],
        options,
      });
      return row && { body: bodyIn(`group "${group}"`, row), etag: etagIn(row) };
    },
    async writeGroup(group, body, ifMatch, options) {
      const values = [group, Buffer.from(body)];
      const [row] = await ask({
        what: `write group ${group}`,
        kind: 'write',
        sql:
          ifMatch === undefined
            ? `insert into ${table} (name, body) values ($1, $2) on conflict do nothing returning version`
            : `update ${table} set body = $2, version = gen_random_uuid()
               where name = $1 and version::text = $3 returning version`,
        values: ifMatch === undefined ? values : [...values, versionOf(ifMatch)],
        options,
      });
      return row === undefined ? { kind: 'refused' } : { kind: 'written', etag: etagIn(row) };
    },
  };
}
