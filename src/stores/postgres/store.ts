import type { JobName } from '../../core/brand';
import type { ListedControl, ListedRow } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import type { NamedServer } from '../exposure';
import type { ListedRows } from '../facets/rows';
import type { Question } from '../port';
import { type Ask, asker, type Fields, type Server } from './ask';
import { entriesIn, logsIn, purgeIn } from './entries';
import { FAULTS } from './errors';
import { allRows, rowIn, rowsIn, STATE } from './rows';
import { DATE, entryKeysIn, etagIn, metadataIn, numberIn, prepareLayout, type Tables, tablesIn } from './schema';
import { sessionsOf } from './sessions';

const REMEDIES: Trial['remedies'] = {
  noToken:
    'run this where the managed identity is, or name a URL with a password, without CRONLEASE_STORAGE__credential',
  network: 'let this address through the firewall of the server, and add it to pg_hba.conf',
  credentials: 'check the user and the password of the URL, or PGUSER and PGPASSWORD',
  role: 'grant this role usage on the schema, and select, insert, update and delete on its tables',
  versions: 'none: tables have no versions',
};

/**
 * Rows, controls, ledger and logs in tables of PostgreSQL 13 or later, in a schema that the container names. Each method is
 * one statement, and each statement one transaction: nothing relies on the state of a session, and prepared statements have
 * no names. Only `prepare` may send a second statement, and `purge` a few.
 *
 * **The guard** is one `update … where version = … and lease_id = … and lease_until > clock_timestamp()`. PostgreSQL locks
 * the row and looks at the condition again with the row as it is then: of two that race, one changes the row, and the other
 * one's version fits no more. A version is drawn at random for each write: a counter would come back after a failover that
 * lost writes, and let an old holder's version fit a new row.
 *
 * **The fence** is the token in the row's metadata, as in every store. `lease_until` is compared only with the server's
 * clock, so a wrong clock of an instance ends no lease.
 *
 * **The weak spots**
 * - A replica that is promoted without the last commits has older rows: a confirmed claim may be gone, and its due time
 *   runs again. `synchronous_standby_names` with `synchronous_commit = on` rules that out; with `synchronous_commit = off`,
 *   a mere crash of the server loses the last commits. After such a loss an operator runs `cronlease recover`, which raises
 *   every token and cursor.
 * - Two primaries at once, after a failover that did not shut the old one out, both grant leases, and both count the token
 *   from the same number. The failover must fence the old primary itself.
 * - PostgreSQL has no clock that is never set. If the server's clock jumps ahead, leases end early, and for up to a lease
 *   two holders may trust theirs; the version still admits one writer. If it is set back, leases last longer.
 *
 * **Not used.** An advisory lock would be the obvious lease, and cannot guard anything here: it ends with its session,
 * unseen by the holder, when a pooler or a network drops the connection; behind a pooler that works by transactions, a
 * session is not the holder's at all; it has no token, and does not show since when it is held. Only `schema.ts` takes one,
 * up to the end of its transaction. `LISTEN/NOTIFY` could wake a tick for a request or a pause; the HTTP API's `poke` does
 * that in every store. It would need its own connection for each instance, which poolers refuse, all commits that notify
 * wait for each other at one lock, and a notification that is lost needs the sweep anyway.
 */
export function postgres(options: AdapterOptions<NamedServer>): Adapter {
  const { server: database, container: schema, clock, callTimeoutMs, token, onOutcome } = options;
  const sessions = sessionsOf({ database, connectMs: callTimeoutMs, token });
  const location = `${database.location}/${schema}`;
  const server: Server = { location, clock, callTimeoutMs, sessions, onOutcome, faults: FAULTS };
  const ask = asker(server);
  const tables = tablesIn(schema);
  const { elections } = tables;
  return adapterOf({
    location,
    clock,
    prepare: (question) => prepareLayout(server, schema, question),
    jobs: rowsIn(ask, tables.jobs),
    listJobs: (question, only) => listJobs(ask, tables, question, only),
    elections: rowsIn(ask, elections),
    listElections: (question) => allRows(ask, elections, question),
    entries: entriesIn(ask),
    logs: logsIn(ask, tables),
    keys: entryKeysIn(tables),
    purge: purgeIn(ask, tables),
    async look(question) {
      const sql = `select to_regclass($1) is not null as there, ${DATE}`;
      const [found] = await ask({ ...question, sql, values: [elections] });
      // The date is cut to whole seconds.
      return { isThere: found?.['there'] === true, date: numberIn(found, 'date'), cutMs: 500 };
    },
    deleteRow: (question, name) =>
      ask({ ...question, sql: `delete from ${elections} where name = $1 returning 1`, values: [name] }),
    nouns: { object: 'row', place: 'schema' },
    remedies: REMEDIES,
  });
}

/** One statement lists rows with their controls, as they were at one instant. */
async function listJobs(
  ask: Ask,
  { jobs, controls }: Tables,
  question: Question,
  only: JobName | undefined,
): Promise<ListedRows> {
  const found = await ask({
    ...question,
    // One row with the date comes even if there is no job.
    sql: `select t.date, x.* from (select ${DATE}) t left join (
        select coalesce(r.name, c.id) as name, r.version, r.metadata, ${STATE},
          c.version as control_version, c.metadata as control_metadata
        from ${jobs} r full join ${controls} c on c.id = r.name
      ) x on ${only === undefined ? 'true' : 'x.name = $1'} order by x.name`,
    ...(only === undefined ? {} : { values: [only] }),
  });
  const listed = { rows: new Map<string, ListedRow>(), controls: new Map<string, ListedControl>() };
  for (const fields of found) {
    const name = fields['name'] as string | null;
    if (name === null) continue;
    if (fields['version'] !== null) listed.rows.set(name, rowIn(fields));
    if (fields['control_version'] !== null) listed.controls.set(name, controlIn(fields));
  }
  return { date: numberIn(found[0], 'date'), ...listed };
}

function controlIn(fields: Fields): ListedControl {
  return { etag: etagIn(fields, 'control_version'), metadata: metadataIn(fields, 'control_metadata') };
}
