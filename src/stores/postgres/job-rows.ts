import type { JobRowStore, LeaseBreaking, ListedControl, ListedRow } from '../../lease/store';
import { listingOf } from '../facets/listing';
import type { Ask, Fields } from './ask';
import { rowCalls, rowIn, STATE } from './rows';
import { DATE, etagIn, metadataIn, numberIn, type Tables } from './tables';

/** The rows of jobs. One statement lists them with their controls, as they were at one instant. */
export function jobRowsIn(
  ask: Ask,
  { jobs: table, controls: controlTable }: Tables,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return {
    ...rowCalls(ask, table),
    async list(options) {
      const only = options?.job;
      const found = await ask({
        what: 'list jobs',
        kind: 'listing',
        // One row with the date comes also where there is no job.
        sql: `select t.date, x.* from (select ${DATE}) t left join (
            select coalesce(r.name, c.id) as name, r.version, r.metadata, ${STATE},
              c.version as control_version, c.metadata as control_metadata
            from ${table} r full join ${controlTable} c on c.id = r.name
          ) x on ${only === undefined ? 'true' : 'x.name = $1'} order by x.name`,
        ...(only === undefined ? {} : { values: [only] }),
        options,
      });
      const rows = new Map<string, ListedRow>();
      const controls = new Map<string, ListedControl>();
      for (const fields of found) {
        const name = fields['name'] as string | null;
        if (name === null) continue;
        if (fields['version'] !== null) rows.set(name, rowIn(fields));
        if (fields['control_version'] !== null) controls.set(name, controlIn(fields));
      }
      return listingOf(numberIn(found[0], 'date'), rows, controls, only);
    },
  };
}

function controlIn(fields: Fields): ListedControl {
  return { etag: etagIn(fields, 'control_version'), metadata: metadataIn(fields, 'control_metadata') };
}
