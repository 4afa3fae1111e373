import type { PieceStore } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Ask } from './ask';
import { BODY, bodyIn } from './ledger';
import { afterPrefix, DATE, metadataIn, numberIn, pageOf, type Tables } from './tables';

const WRITTEN_AT = '(floor(extract(epoch from written_at)) * 1000)::float8 as written_at';

/** A piece's id is its run's key and its name: neither key nor name has a slash. */
export function piecesIn(ask: Ask, { pieces: table }: Tables): PieceStore {
  const itsOwn = 'where job = $1 and id = $2';
  return {
    async createPiece(job, key, name, { body, summary }, options) {
      checkMetadata(summary);
      const rows = await ask({
        what: `create piece ${key}/${name} of ${job}`,
        kind: 'write',
        sql: `insert into ${table} (job, id, metadata, body) values ($1, $2, $3, $4) on conflict do nothing returning 1`,
        values: [job, `${key}/${name}`, JSON.stringify(summary), Buffer.from(body)],
        options,
      });
      return rows.length > 0 ? 'created' : 'exists';
    },
    async readPiece(job, key, name, options) {
      const [row] = await ask({
        what: `read piece ${key}/${name} of ${job}`,
        kind: 'read',
        sql: `select ${BODY} from ${table} ${itsOwn}`,
        values: [job, `${key}/${name}`],
        options,
      });
      return row && bodyIn(`piece "${key}/${name}" of job "${job}"`, row);
    },
    async touchPiece(job, key, name, options) {
      const rows = await ask({
        what: `touch piece ${key}/${name} of ${job}`,
        kind: 'metadata',
        sql: `update ${table} set metadata = '{}', written_at = clock_timestamp() ${itsOwn} returning 1`,
        values: [job, `${key}/${name}`],
        options,
      });
      return rows.length > 0 ? 'touched' : 'gone';
    },
    async listPieces(job, { key, prefix: names = '', limit, continuation = '' }, options) {
      const prefix = key === undefined ? '' : `${key}/${names}`;
      const rows = await ask({
        what: `list pieces of ${job}`,
        kind: 'listing',
        sql: `select id, metadata, ${WRITTEN_AT}, ${DATE} from ${table}
          where job = $1 and id >= $2 and id < $3 and id > $4 order by id limit $5`,
        values: [job, prefix, afterPrefix(prefix), continuation, limit + 1],
        options,
      });
      const { items, ...page } = pageOf(rows, limit, 'id', (row) => {
        const [run = '', name = ''] = String(row['id']).split('/');
        const dated = { writtenAt: numberIn(row, 'written_at'), date: numberIn(row, 'date') };
        return { key: run, name, summary: metadataIn(row), ...dated };
      });
      return { pieces: items, ...page };
    },
    async deletePiece(job, key, name, options) {
      await ask({
        what: `delete piece ${key}/${name} of ${job}`,
        kind: 'delete',
        sql: `delete from ${table} ${itsOwn}`,
        values: [job, `${key}/${name}`],
        options,
      });
    },
  };
}
