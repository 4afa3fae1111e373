import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOutcome } from '../../core/storage-call';
import type { ElectionStore, LeaseBreaking, LeaseStore, Retention } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { facetsIn } from '../facets/facets';
import { STORE_LIMITS } from '../limits';
import { asker, type Server } from './ask';
import { connectionsOf } from './connections';
import { entriesIn } from './entries';
import { jobRowsIn } from './job-rows';
import { type Keys, keysIn } from './keys';
import { prepareLayout } from './layout';
import { logsIn } from './logs';
import { retentionIn } from './retention';
import { allRows, rowCalls } from './rows';
import type { RedisServer } from './settings';
import { trialOn } from './trial';

/**
 * The rows, controls, ledger and logs in hashes and sorted sets of Redis 7 or later, or Valkey. All keys of a container
 * begin with its name in braces.
 *
 * **The guard** is a script for each call (`rows.ts`, `entries.ts`), which compares the version, the lease and its end,
 * and then sets. The server carries out one script at a time, and all of it. A version is drawn at random for each write.
 * A counter would come back after a failover that lost writes, and let an old holder's version fit a new row.
 *
 * **The fence** is the token in the row's metadata, as in every store. The end of a lease is compared with the server's
 * `TIME` and with no other, so a wrong clock of an instance ends no lease. Keys have no expiry of Redis: a lease that
 * ends must leave its row and token behind.
 *
 * **The weak spots**
 * - A primary answers before a replica has the write. A replica that is promoted then has older rows: a claim that the
 *   old primary had confirmed may be gone, its due time runs again, and the next claim has the same token again. An old
 *   holder finds that its version fits no more. After such a failover an operator runs `cronlease recover`, which raises
 *   every token and cursor. `waitReplicas` in the URL lets each write wait for replicas: a failover to one of those loses
 *   nothing that was answered, and each write costs a round trip between the servers. A write that too few replicas have
 *   confirmed is unavailable, and stays at the primary: `WAIT` makes losses rare, and does not rule them out.
 * - Two primaries at once, before the old one learns of the failover, both grant leases, and both count the token from
 *   the same number. `min-replicas-to-write` bounds the time for which a primary without its replicas takes writes.
 * - A mere crash of the server loses what its files lack: a second with `appendfsync everysec`, nothing with `always`,
 *   and everything since the last snapshot without `appendonly`.
 * - A `maxmemory-policy` for all keys evicts rows with their tokens. `cronlease doctor` refuses it.
 * - Redis has no clock that is never set. If the server's clock jumps ahead, leases end early, and for up to a lease
 *   two holders may trust theirs; the version still admits one writer. If it is set back, leases last longer. A replica
 *   that is promoted has its own clock, with the same effect.
 *
 * **Not used.** Redlock takes a lock on most of several independent servers: it has no token, and needs their clocks to
 * advance alike. Notifications of keys and streams would need their own connection for each instance, and one that is
 * lost needs the sweep anyway.
 */
export function redisStore(options: RedisStoreOptions): LeaseStore & LeaseBreaking & Retention {
  const { server, keys } = serverOf(options);
  const ask = asker(server);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, options.container, call),
    ...jobRowsIn(ask, keys),
    ...facetsIn(entriesIn(ask), keys),
    ...logsIn(ask, keys),
    ...retentionIn(ask, keys),
  };
}

/** The rows of elections, beside those of jobs. */
export function redisElections(options: RedisStoreOptions): ElectionStore {
  const { server, keys } = serverOf(options);
  const ask = asker(server);
  const { breakLease: _, ...rows } = rowCalls(ask, keys.elections);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, options.container, call),
    ...rows,
    listRows: (call) => allRows(ask, keys.elections, call),
  };
}

export interface RedisStoreOptions {
  readonly server: RedisServer;
  /** The container's name, with which all keys begin. */
  readonly container: string;
  readonly clock: Clock;
  /** A call without an answer fails after this long. */
  readonly callTimeoutMs: Millis;
  readonly token?: (() => Promise<string>) | undefined;
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

function serverOf({ server, container, clock, callTimeoutMs, token, onOutcome }: RedisStoreOptions): {
  readonly server: Server;
  readonly keys: Keys;
} {
  const keys = keysIn(container);
  const { wait } = server;
  const connection = connectionsOf({ server, clock, connectMs: callTimeoutMs, token });
  const location = `${server.location}/${container}`;
  return { server: { location, clock, callTimeoutMs, connection, layout: keys.layout, wait, onOutcome }, keys };
}

/** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
export function redisTrial(options: RedisStoreOptions, id: string): Promise<Trial> {
  const { server, keys } = serverOf(options);
  return trialOn(server, keys.elections, id);
}
