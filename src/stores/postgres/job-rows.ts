import type { JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { JobRowStore, LeaseBreaking, ListedControl, ListedJob } from '../../lease/store';
import type { Ask, Fields } from './ask';
import { rowCalls, rowIn, STATE } from './rows';
import { DATE, etagIn, metadataIn, numberIn, type Tables } from './tables';

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
            select coalesce(r.name, c.id) as name, r.version, r.metadata, ${STATE},
              c.version as control_version, c.metadata as control_metadata
            from ${table} r full join ${controls} c on c.id = r.name
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
