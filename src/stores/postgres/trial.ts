import type { Trial } from '../../lease/trial';
import { tryRows } from '../row-trial';
import { asker, type Server } from './ask';
import { rowCalls } from './rows';
import { DATE, numberIn } from './tables';

/** Tries each kind of call on a row of this table. Never rejects with a `StoreError`. */
export function trialOn(server: Server, table: string, id: string): Promise<Trial> {
  const ask = asker(server);
  return tryRows(
    {
      rows: rowCalls(ask, table),
      clock: server.clock,
      nouns: { object: 'row', place: 'schema' },
      remedies: REMEDIES,
      async look() {
        const [found] = await ask({
          what: 'look for the tables',
          kind: 'listing',
          values: [table],
          options: undefined,
          sql: `select to_regclass($1) is not null as there, ${DATE}`,
        });
        // The date is cut to whole seconds.
        return { isThere: found?.['there'] === true, date: numberIn(found, 'date'), cutMs: 500 };
      },
      deleteRow: (name) =>
        ask({
          what: 'delete the row of a trial',
          kind: 'delete',
          values: [name],
          options: undefined,
          sql: `delete from ${table} where name = $1 returning 1`,
        }),
    },
    id,
  );
}

const REMEDIES: Trial['remedies'] = {
  noToken: 'sign in with "az login", or name a URL with a password',
  network: 'let this address through the firewall of the server, and add it to pg_hba.conf',
  credentials: 'check the user and the password of the URL, or PGUSER and PGPASSWORD',
  role: 'grant this role usage on the schema, and select, insert, update and delete on its tables',
  versions: 'none: tables have no versions',
};
