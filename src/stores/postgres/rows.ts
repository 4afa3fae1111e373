import type { JobName } from '../../core/brand';
import type { LeaseState, ListedRow } from '../../lease/store';
import { STORE_LIMITS } from '../limits';
import { type Question, type Rows, versionOf } from '../port';
import type { Ask, Fields } from './ask';
import { DATE, etagIn, metadataIn, numberIn } from './schema';

/**
 * The lease's state in the service's terms. A read shows rows as of its snapshot, and the clock goes on meanwhile: a
 * lease that was renewed after the snapshot would seem to have ended. So a read compares with the beginning of its
 * transaction, which comes before the snapshot. `statement_timestamp()` would not do: where a statement has parameters,
 * it is set again after the snapshot. The condition of a write compares with the clock as it is when the row is locked,
 * because the call may have waited for the row.
 */
export const STATE = `case
    when lease_id is null then 'available'
    when lease_until > transaction_timestamp() then case when breaking then 'breaking' else 'leased' end
    else case when breaking then 'broken' else 'expired' end
  end as state`;

const LASTS = `clock_timestamp() + $3::integer * interval '1 ms'`;

/** @param table of rows with leases: those of jobs, or of elections */
export function rowsIn(ask: Ask, table: string): Rows {
  return {
    async create({ job, ...question }, metadata) {
      const sql = `insert into ${table} (name, metadata) values ($1, $2) on conflict do nothing returning version`;
      const [row] = await ask({ ...question, sql, values: [job, JSON.stringify(metadata)] });
      return row && etagIn(row);
    },
    async read({ job, ...question }) {
      const sql = `select version, metadata, ${STATE} from ${table} where name = $1`;
      const [row] = await ask({ ...question, sql, values: [job] });
      return row && rowIn(row);
    },
    async write({ job, ...question }, metadata, { leaseId, ifMatch }) {
      const [row] = await ask({
        ...question,
        sql: `update ${table} set metadata = $2, version = gen_random_uuid()
          where name = $1 and version::text = $3 and lease_id = $4 and lease_until > clock_timestamp()
          returning version, ${DATE}`,
        values: [job, JSON.stringify(metadata), versionOf(ifMatch), leaseId],
      });
      return row && { etag: etagIn(row), date: numberIn(row, 'date') };
    },
    async acquire({ job, ...question }, { leaseId, leaseMs, ifMatch }) {
      const [row] = await ask({
        ...question,
        // The date is that of the lease itself: the first trust is computed from it.
        sql: `update ${table} set lease_id = $2, lease_ms = $3::integer, lease_until = ${LASTS}, breaking = false
          where name = $1 and version::text = $4
            and (lease_id is null or lease_until <= clock_timestamp() or (lease_id = $2 and not breaking))
          returning (floor(extract(epoch from lease_until - $3::integer * interval '1 ms')) * 1000)::float8 as date`,
        values: [job, leaseId, leaseMs, versionOf(ifMatch)],
      });
      return row && numberIn(row, 'date');
    },
    async renew({ job, ...question }, leaseId) {
      const sql = `update ${table} set lease_until = clock_timestamp() + lease_ms * interval '1 ms'
          where name = $1 and lease_id = $2 and not breaking returning 1`;
      return (await ask({ ...question, sql, values: [job, leaseId] })).length > 0;
    },
    async release({ job, ...question }, leaseId, ifMatch) {
      const rows = await ask({
        ...question,
        sql: `update ${table} set lease_id = null, lease_ms = null, lease_until = null, breaking = false
          where name = $1 and lease_id = $2 and ($3::text is null or version::text = $3) returning 1`,
        values: [job, leaseId, ifMatch === undefined ? null : versionOf(ifMatch)],
      });
      return rows.length > 0;
    },
    async break({ job, ...question }, ifMatch) {
      const [row] = await ask({
        ...question,
        sql: `update ${table}
          set breaking = true, lease_until = least(lease_until, clock_timestamp() + $3::integer * interval '1 ms')
          where name = $1 and version::text = $2 and lease_id is not null
          returning extract(epoch from lease_until - clock_timestamp())::float8 as seconds`,
        values: [job, versionOf(ifMatch), STORE_LIMITS.leaseMs.most],
      });
      return row && Math.max(0, numberIn(row, 'seconds')) * 1000;
    },
  };
}

export function rowIn(fields: Fields): ListedRow {
  const state = fields['state'] as LeaseState | 'breaking';
  const lease = state === 'breaking' ? ({ lease: 'broken', isEnding: true } as const) : { lease: state };
  return { etag: etagIn(fields), ...lease, metadata: metadataIn(fields) };
}

export async function allRows(ask: Ask, table: string, question: Question): Promise<ReadonlyMap<JobName, ListedRow>> {
  const sql = `select name, version, metadata, ${STATE} from ${table} order by name`;
  const rows = await ask({ ...question, sql });
  return new Map(rows.map((row) => [row['name'] as JobName, rowIn(row)]));
}
