import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOutcome } from '../../core/storage-call';
import type {
  ElectionStore,
  JobRowStore,
  LeaseBreaking,
  LeaseStore,
  ListedControl,
  ListedRow,
  Retention,
} from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { facetsIn } from '../facets/facets';
import { listingOf } from '../facets/listing';
import { STORE_LIMITS } from '../limits';
import { type Ask, type Fields, type Server, asker } from './ask';
import { entriesIn } from './entries';
import { logsIn } from './logs';
import { retentionIn } from './retention';
import { STATE, allRows, rowCalls, rowIn } from './rows';
import { prepareLayout } from './schema';
import { sessionsOf } from './sessions';
import type { Database } from './settings';
import { DATE, type Tables, entryKeysIn, etagIn, metadataIn, numberIn, tablesIn } from './tables';
import { trialOn } from './trial';

/**
 * The rows, controls, ledger and logs in tables of PostgreSQL 13 or later, in a schema that the container names.
 *
 * **The guard** is one `update … where version = … and lease_id = … and lease_until > clock_timestamp()`. PostgreSQL locks
 * the row, looks at the condition again with the row as it is then, and applies the change: of two that race, one
 * changes the row, and the other one's version fits no more. A version is drawn at random for each write. A counter
 * would come back after a failover that lost writes, and let an old holder's version fit a new row.
 *
 * **The fence** is the token in the row's metadata, as in every store. `lease_until` is compared with the server's clock
 * and with no other, so a wrong clock of an instance ends no lease.
 *
 * **The weak spots**
 * - A replica that is promoted without the last commits has older rows: a claim that the old primary had confirmed may
 *   be gone, and its due time runs again. `synchronous_standby_names` with `synchronous_commit = on` rules that out;
 *   with `synchronous_commit = off`, a mere crash of the server loses the last commits. After such a loss an operator
 *   runs `cronlease recover`, which raises every token and cursor.
 * - Two primaries at once, after a failover that did not shut the old one out, both grant leases. The fence does not help
 *   here: both count the token from the same number. The failover must fence the old primary itself.
 * - PostgreSQL has no clock that is never set. If the server's clock jumps ahead, leases end early, and for up to a lease
 *   two holders may trust theirs; the version still admits one writer. If it is set back, leases last longer.
 *
 * **Not used.** An advisory lock would be the obvious lease, and cannot guard anything here: it belongs to a session
 * and ends with it, unseen by the holder, when a pooler or a network drops the connection; behind a pooler that works
 * by transactions, a session is not the holder's at all; it has no token, and does not show since when it is held. The
 * conditional update costs the same one call. Only `schema.ts` takes one, up to the end of its transaction.
 * `LISTEN/NOTIFY` could wake a tick for a request or a pause, which otherwise waits for the next sweep; the HTTP API's
 * `poke` does that in every store. It would need its own connection for each instance, which poolers refuse, all
 * commits that notify wait for each other at one lock, and a notification that is lost needs the sweep anyway.
 *
 * Each method is one statement, and each statement one transaction: nothing relies on the state of a session, and
 * prepared statements have no names. Only `prepare` may send a second statement, and `purge` a few.
 */
export function postgresStore(options: PostgresStoreOptions): LeaseStore & LeaseBreaking & Retention {
  const { server, schema } = serverOf(options);
  const ask = asker(server);
  const tables = tablesIn(schema);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(server, schema, call),
    ...jobRowsIn(ask, tables),
    ...facetsIn(entriesIn(ask), entryKeysIn(tables)),
    ...logsIn(ask, tables),
    ...retentionIn(ask, tables),
  };
}

/** The rows of elections, beside those of jobs. */
export function postgresElections(options: PostgresStoreOptions): ElectionStore {
  const { server, schema } = serverOf(options);
  const ask = asker(server);
  const { elections } = tablesIn(schema);
  const { breakLease: _, ...rows } = rowCalls(ask, elections);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(server, schema, call),
    ...rows,
    listRows: (call) => allRows(ask, elections, call),
  };
}

export interface PostgresStoreOptions {
  readonly database: Database;
  /** The name of the schema: a container's name. */
  readonly schema: string;
  readonly clock: Clock;
  /** A call without an answer fails after this long. */
  readonly callTimeoutMs: Millis;
  readonly token?: (() => Promise<string>) | undefined;
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

function serverOf({ database, schema, clock, callTimeoutMs, token, onOutcome }: PostgresStoreOptions): {
  readonly server: Server;
  readonly schema: string;
} {
  const sessions = sessionsOf({ database, connectMs: callTimeoutMs, token });
  return { server: { location: `${database.location}/${schema}`, clock, callTimeoutMs, sessions, onOutcome }, schema };
}

/** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
export function postgresTrial(options: PostgresStoreOptions, id: string): Promise<Trial> {
  const { server, schema } = serverOf(options);
  return trialOn(server, tablesIn(schema).elections, id);
}

/** The rows of jobs. One statement lists them with their controls, as they were at one instant. */
function jobRowsIn(
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
        // One row with the date comes even if there is no job.
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
