import type { JobName } from '../../core/brand';
import type { Durability, Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import type { ListedRows } from '../facets/rows';
import { told } from '../metered';
import { LAYOUT_VERSION, type Question } from '../port';
import { type Ask, asker, type Server } from './ask';
import { connectionsOf } from './connections';
import { entriesIn, headIn, logsIn, pairs, purgeIn } from './entries';
import { FAULTS } from './errors';
import { type Keys, keysIn } from './keys';
import { allRows, rowIn, rowsIn } from './rows';
import { script, whole } from './scripts';
import type { RedisServer } from './settings';

export const LIST = script(
  'read',
  `local found = { now }
for index, key in ipairs({ KEYS[2], KEYS[3], KEYS[4] }) do
  if ARGV[1] then
    local value = redis.call('HGET', key, ARGV[1])
    found[index + 1] = value and { ARGV[1], value } or {}
  else
    found[index + 1] = redis.call('HGETALL', key)
  end
end
return found`,
);

const PREPARE = whole(
  'write',
  `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], ARGV[1]) end
return 1`,
);

const LOOK = whole('read', `return { now, redis.call('EXISTS', KEYS[1]) }`);

const DELETE = script('shrink', `return redis.call('HDEL', KEYS[2], ARGV[1]) + redis.call('HDEL', KEYS[3], ARGV[1])`);

const REMEDIES: Trial['remedies'] = {
  noToken:
    'run this where the managed identity is, or name a URL with a password, without CRONLEASE_STORAGE__credential',
  network: 'let this address through the firewall of the server',
  credentials: 'check the user and the password of the URL',
  role: 'grant this user the commands and keys that docs/reference/stores.md names',
  versions: 'none: keys have no versions',
};

/**
 * Rows, controls, ledger and logs in hashes and sorted sets of Redis 7 or later, or Valkey.
 *
 * **The guard** is a script for each call, which compares the version, the lease and its end, and then sets. The server
 * carries out one script at a time, and all of it. A version is drawn at random for each write: a counter would come back
 * after a failover that lost writes, and let an old holder's version fit a new row.
 *
 * **The fence** is the token in the row's metadata, as in every store. The end of a lease is compared only with the
 * server's `TIME`, so a wrong clock of an instance ends no lease. Keys have no expiry of Redis: a lease that ends must
 * leave its row and token behind.
 *
 * **The weak spots**
 * - A primary answers before a replica has the write. A replica that is promoted then has older rows: a confirmed claim may
 *   be gone, its due time runs again, and the next claim has the same token again. After such a failover an operator runs
 *   `cronlease recover`, which raises every token and cursor. `waitReplicas` in the URL lets each write wait for replicas: a
 *   failover to one of those loses nothing that was answered, and each write costs a round trip between the servers. A write
 *   that too few replicas have confirmed is unavailable, and stays at the primary: `WAIT` makes losses rare, and does not
 *   rule them out.
 * - Two primaries at once, before the old one learns of the failover, both grant leases, and both count the token from the
 *   same number. `min-replicas-to-write` bounds the time for which a primary without its replicas takes writes.
 * - A mere crash of the server loses what its files lack: a second with `appendfsync everysec`, nothing with `always`, and
 *   everything since the last snapshot without `appendonly`.
 * - A `maxmemory-policy` for all keys evicts rows with their tokens. `cronlease doctor` refuses it.
 * - Redis has no clock that is never set. If the clock of the server, or of a replica that is promoted, jumps ahead, leases
 *   end early, and for up to a lease two holders may trust theirs; the version still admits one writer. If it is set back,
 *   leases last longer.
 *
 * **Not used.** Redlock takes a lock on most of several independent servers: it has no token, and needs their clocks to
 * advance alike. Notifications would need their own connection for each instance, and one that is lost needs the sweep.
 */
export function redis(options: AdapterOptions<RedisServer>): Adapter {
  const { server: at, container, clock, callTimeoutMs, token, onOutcome } = options;
  const keys = keysIn(container);
  const { layout, elections } = keys;
  const connection = connectionsOf({ server: at, clock, connectMs: callTimeoutMs, token });
  const location = `${at.location}/${container}`;
  const { wait } = at;
  const server: Server = { location, clock, callTimeoutMs, connection, layout, wait, onOutcome, faults: FAULTS };
  const ask = asker(server);
  return adapterOf({
    location,
    clock,
    /** Makes the key by which all other calls see that the container exists. */
    async prepare(question) {
      await ask({ ...question, script: PREPARE, keys: [], args: [LAYOUT_VERSION] });
    },
    jobs: rowsIn(ask, keys.jobs),
    listJobs: (question, only) => listJobs(ask, keys, question, only),
    elections: rowsIn(ask, elections),
    listElections: (question) => allRows(ask, elections, question),
    entries: entriesIn(ask),
    logs: logsIn(ask),
    keys: keys.entries,
    purge: purgeIn(ask, keys.entries),
    async look(question) {
      const [date, count] = (await ask({ ...question, script: LOOK, keys: [] })) as [number, number];
      return { isThere: count === 1, date, cutMs: 0 };
    },
    deleteRow: (question, name) => ask({ ...question, keys: elections, script: DELETE, args: [name] }),
    nouns: { object: 'row', place: 'container' },
    remedies: REMEDIES,
    async durability() {
      const info = (signal: AbortSignal) => connection(signal, async (send) => String(await send('INFO')));
      return durabilityIn(await told(server, 'read the settings of the server', info));
    },
  });
}

/** One script lists rows with their controls, as they are at one instant. */
async function listJobs(
  ask: Ask,
  { jobs, entries }: Keys,
  question: Question,
  only: JobName | undefined,
): Promise<ListedRows> {
  const keys = [...jobs, entries('controls')[0]];
  const answer = await ask({ ...question, script: LIST, keys, args: only === undefined ? [] : [only] });
  const [date, ...found] = answer as [number, ...string[][]];
  const [heads = [], metadata, controls = []] = found.map(pairs);
  const others = new Map(metadata);
  return {
    date,
    rows: new Map(heads.map(([name, head]) => [name, rowIn(head, others.get(name), date)])),
    controls: new Map(controls.map(([name, head]) => [name, headIn(head)])),
  };
}

/**
 * How the server's settings may lose rows with their tokens.
 *
 * @param info the server's answer to INFO; undefined: it was refused
 */
export function durabilityIn(info: string | undefined): Durability {
  if (info === undefined) {
    return {
      risks: [
        {
          isProblem: false,
          message: 'is unknown, because this user may not read the settings of the server with INFO',
          remedy: 'see for yourself that maxmemory-policy is noeviction and appendonly is yes, or allow INFO',
        },
      ],
    };
  }
  const valueOf = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const policy = valueOf('maxmemory_policy') ?? 'unknown';
  const risks = [...evictionRisk(policy), ...appendRisk(valueOf('aof_enabled'))];
  return { risks };
}

function evictionRisk(policy: string): Durability['risks'] {
  if (policy === 'noeviction') return [];
  const remedy = 'set maxmemory-policy to noeviction';
  // A key without an expiry is safe from these, until it is given one.
  if (policy.startsWith('volatile-')) {
    return [
      { isProblem: false, message: `maxmemory-policy is ${policy}, which spares keys without an expiry`, remedy },
    ];
  }
  const message = `maxmemory-policy is ${policy}: a full server deletes rows with their tokens, and jobs run twice`;
  return [{ isProblem: true, message, remedy }];
}

function appendRisk(enabled: string | undefined): Durability['risks'] {
  if (enabled === '1') return [];
  const message = 'appendonly is no: a server that stops loses everything since its last snapshot';
  return [{ isProblem: false, message, remedy: 'set appendonly to yes, and appendfsync to everysec or always' }];
}
