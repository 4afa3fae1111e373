import type { JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { ControlStore, JobRowStore, LeaseBreaking, ListedControl, ListedJob } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Ask, Fields } from './ask';
import { rowCalls, rowIn, STATE } from './rows';
import { controlIn, DATE, etagIn, metadataIn, numberIn, type Tables, versionOf } from './tables';

/** The rows of jobs. One statement lists them with their controls, as they were at one instant. */
export function jobRowsIn(
  ask: Ask,
  { jobs: table, controls }: Tables,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return {
    ...rowCalls(ask, table),
    async list(options) {
      const only = options?.job;
      const rows = await ask({
        what: 'list jobs',
        kind: 'listing',
        // One row with the date comes also where there is no job.
        sql: `select t.date, x.* from (select ${DATE}) t left join (
            select coalesce(r.name, c.name) as name, r.version, r.metadata, ${STATE},
              c.version as control_version, c.metadata as control_metadata
            from ${table} r full join ${controls} c on c.name = r.name
          ) x on ${only === undefined ? 'true' : 'x.name = $1'} order by x.name`,
        ...(only === undefined ? {} : { values: [only] }),
        options,
      });
      const date = numberIn(rows[0], 'date');
      const jobs = new Map<JobName, ListedJob>();
      const shared = new Map<JobName, ListedControl | undefined>();
      for (const row of rows) {
        const name = row['name'] as JobName | null;
        if (name === null) continue;
        const control = listedControl(row);
        if (name === FLEET || name === LAYOUT) shared.set(name, only === undefined ? control : undefined);
        else jobs.set(name, { ...(row['version'] !== null && { row: rowIn(row) }), ...(control && { control }), date });
      }
      const fleet = shared.get(FLEET);
      const layout = shared.get(LAYOUT);
      return { date, jobs, ...(fleet && { fleet }), ...(layout && { layout }) };
    },
  };
}

function listedControl(row: Fields): ListedControl | undefined {
  if (row['control_version'] === null) return undefined;
  return { etag: etagIn(row, 'control_version'), metadata: metadataIn(row, 'control_metadata') };
}

export function controlsIn(ask: Ask, { controls: table }: Tables): ControlStore {
  return {
    async readControl(job, options) {
      const [row] = await ask({
        what: `read the control of ${job}`,
        kind: 'read',
        sql: `select t.date, c.version, c.metadata from (select ${DATE}) t left join ${table} c on c.name = $1`,
        values: [job],
        options,
      });
      const date = numberIn(row, 'date');
      return { control: row === undefined || row['version'] === null ? undefined : controlIn(row), date };
    },
    async writeControl(job, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const values = [job, JSON.stringify(metadata)];
      const rows = await ask({
        what: `write the control of ${job}`,
        kind: 'write',
        sql:
          ifMatch === undefined
            ? `insert into ${table} (name, metadata) values ($1, $2) on conflict do nothing returning 1`
            : `update ${table} set metadata = $2, version = gen_random_uuid()
               where name = $1 and version::text = $3 returning 1`,
        values: ifMatch === undefined ? values : [...values, versionOf(ifMatch)],
        options,
      });
      return rows.length > 0 ? 'written' : 'refused';
    },
    async removeControl(job, ifMatch, options) {
      const rows = await ask({
        what: `remove the control of ${job}`,
        kind: 'delete',
        sql: `delete from ${table} where name = $1 and version::text = $2 returning 1`,
        values: [job, versionOf(ifMatch)],
        options,
      });
      return rows.length > 0 ? 'removed' : 'refused';
    },
  };
}
