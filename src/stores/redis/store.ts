import type { Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import { asker, type Server, told } from './ask';
import { connectionsOf } from './connections';
import { durabilityIn } from './durability';
import { entriesIn } from './entries';
import { jobRowsIn } from './job-rows';
import { keysIn } from './keys';
import { lookForLayout, prepareLayout } from './layout';
import { logsIn } from './logs';
import { retentionIn } from './retention';
import { allRows, rowCalls } from './rows';
import { script } from './scripts';
import type { RedisServer } from './settings';

const DELETE = script('shrink', `return redis.call('HDEL', KEYS[2], ARGV[1]) + redis.call('HDEL', KEYS[3], ARGV[1])`);

const REMEDIES: Trial['remedies'] = {
  noToken: 'sign in with "az login", or name a URL with a password',
  network: 'let this address through the firewall of the server',
  credentials: 'check the user and the password of the URL',
  role: 'grant this user the commands and keys that docs/reference/stores.md names',
  versions: 'none: keys have no versions',
};

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
 * - A crash of the server alone loses what its files lack: a second with `appendfsync everysec`, nothing with `always`,
 *   and everything since the last snapshot without `appendonly`.
 * - A `maxmemory-policy` for all keys evicts rows with their tokens. `cronlease doctor` refuses it.
 * - Redis has no clock that is never set. If the server's clock jumps ahead, leases end early, and for up to a lease two
 *   holders may trust theirs; the version still admits one writer. If it is set back, leases last longer. A replica that
 *   is promoted has a clock of its own, with the same effect.
 *
 * **Not used.** Redlock takes a lock on most of several independent servers: it has no token, and needs their clocks to
 * advance alike. Notifications of keys and streams would need a connection of their own for each instance, and one that
 * is lost needs the sweep anyway.
 */
export function redis({
  server: at,
  container,
  clock,
  callTimeoutMs,
  token,
  onOutcome,
}: AdapterOptions<RedisServer>): Adapter {
  const keys = keysIn(container);
  const { layout, elections } = keys;
  const connection = connectionsOf({ server: at, clock, connectMs: callTimeoutMs, token });
  const location = `${at.location}/${container}`;
  const server: Server = { location, clock, callTimeoutMs, connection, layout, wait: at.wait, onOutcome };
  const ask = asker(server);
  return adapterOf({
    location,
    clock,
    prepare: (call) => prepareLayout(ask, container, call),
    jobs: jobRowsIn(ask, keys),
    entries: entriesIn(ask),
    keys,
    logs: logsIn(ask, keys),
    retention: retentionIn(ask, keys),
    elections: rowCalls(ask, elections),
    listElections: (call) => allRows(ask, elections, call),
    nouns: { object: 'row', place: 'container' },
    remedies: REMEDIES,
    async look() {
      const { isThere, now } = await lookForLayout(ask);
      return { isThere, date: now, cutMs: 0 };
    },
    deleteRow: (name) => {
      const question = {
        what: 'delete the row of a trial',
        kind: 'delete',
        keys: elections,
        options: undefined,
      } as const;
      return ask({ ...question, script: DELETE, args: [name] });
    },
    durability: async () => durabilityIn(await told(server, 'read the settings of the server', 'INFO')),
  });
}
