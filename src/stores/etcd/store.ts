import type { JobName } from '../../core/brand';
import { given } from '../../core/given';
import type { ListedControl } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import type { ListedRows } from '../facets/rows';
import type { Members } from '../http/url';
import { LAYOUT_VERSION, type Question } from '../port';
import { type Ask, asker, type Cluster } from './ask';
import { entriesIn, headIn, logsIn, purgeIn } from './entries';
import { FAULTS } from './errors';
import { type Keys, keysIn } from './keys';
import { exchangesWith } from './members';
import { byName, leftOf, only, rangesOf, removalOf, rowIn, rowsAmong, rowsIn } from './rows';
import { durabilityOf } from './space';
import { all, type Found, get, isAbsent, put } from './wire';

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a user and a password',
  network: 'let this address through the firewall of the cluster',
  credentials: 'check the user and the password of the URL',
  role: 'grant this user a role that may read and write the prefix of the container',
  versions: 'none: the cluster keeps old revisions until they are compacted',
};

/**
 * Rows, controls, ledger and logs as keys of etcd 3.4 or later, through the gateway that each member has: JSON over HTTP,
 * which needs no client library, and whose answers have a `Date`. etcd's gRPC has no time at all.
 *
 * **The guard** is a transaction for each call, which compares revisions and values, and then writes. The cluster agrees
 * on it by Raft, so a minority takes no write. A row's version is the revision of its last write, which the whole cluster
 * counts and never gives out twice. The fence is the token in the row's metadata, as in every store.
 *
 * **The end of a lease** is not a time that is compared. An acquisition puts a key, the lock, that ends with a lease of
 * etcd; while it is there, no other client acquires. The leader removes it by its own monotonic clock. A new leader lets
 * every lease begin again, so an election lengthens leases and never shortens one. A renewal is a new lease of etcd under
 * the same lock, on which the cluster agrees; a deposed leader answers etcd's keep-alive too. The id and the length of a
 * lease are in keys that do not end, so that a row says how its last lease ended.
 *
 * **The weak spots**
 * - A date is the clock of the member that answers, cut to seconds. Those of two members may differ, so the claim asks the
 *   cluster how long the lease lasts (`leftMs`), by one more call. Due times are judged by the dates: a member whose clock
 *   is ahead lets runs start early by as much. Run NTP on the members. Times of writing are estimated from the last answer.
 * - A leader that stands still (a paused machine) lets leases last longer, until another one is elected. If its monotonic
 *   clock stood still meanwhile and it still answers how long a lease lasts, the answer is too long by the pause. No lease
 *   is renewed in place, so a deposed leader whose clock runs answers too little, and never too much.
 * - A snapshot that is restored brings old revisions back: a version that an old holder has seen may fit another row. Stop
 *   the apps before, restore with `--bump-revision` where `etcdutl` has it, and run `cronlease recover --after-failover`.
 * - The cluster keeps every revision until it is compacted, and refuses writes once its quota is used up: set
 *   `auto-compaction-retention`.
 *
 * **Not used.** etcd's own locks and elections (`v3lock`, `v3election`) queue, and a lost answer leaves a place in the
 * queue. A watch would need its own connection for each instance, and one that is lost needs the sweep anyway.
 */
export function etcd(options: AdapterOptions<Members>): Adapter {
  const { server, container, clock, callTimeoutMs: limit, onOutcome } = options;
  const keys = keysIn(server.prefix, container);
  const { layout, elections } = keys;
  const location = `${server.location}/${container}`;
  const callTimeoutMs = server.members.length === 1 ? limit : Math.min(limit, PATIENCE_MS);
  const exchange = exchangesWith(server);
  const cluster: Cluster = { location, clock, callTimeoutMs, exchange, layout, onOutcome, faults: FAULTS };
  const ask = asker(cluster);
  return adapterOf({
    location,
    clock,
    /** Makes the key by which all other calls see that the container exists. */
    async prepare(question) {
      await ask.transactAnyway(question, { compare: [isAbsent(layout)], success: [put(layout, LAYOUT_VERSION)] });
    },
    jobs: rowsIn(ask, keys.jobs),
    listJobs: (question, only) =>
      only === undefined ? listAll(ask, keys, question) : listOne(ask, keys, question, only),
    elections: rowsIn(ask, elections),
    async listElections(question) {
      const { found } = await ask.transact(question, { success: rangesOf(elections) });
      return rowsAmong(elections, found);
    },
    entries: entriesIn(ask),
    logs: logsIn(ask),
    keys: keys.entries,
    purge: purgeIn(ask, keys),
    async look(question) {
      const { date, found } = await ask.transactAnyway(question, { success: [get(layout)] });
      // The date is cut to whole seconds.
      return { isThere: found[0]?.kvs.length === 1, date, cutMs: 500 };
    },
    deleteRow: (question, name) => ask.transact(question, { success: removalOf(elections, name) }),
    nouns: { object: 'row', place: 'container' },
    remedies: REMEDIES,
    durability: () => durabilityOf(cluster),
  });
}

/** Where another member can be asked, one that does not answer is given up sooner. An election takes 1 to 2 s. */
const PATIENCE_MS = 4_000;

/** One transaction lists rows with their controls, as of one revision. */
async function listAll(ask: Ask, { jobs, entries }: Keys, question: Question): Promise<ListedRows> {
  const { heads } = entries('controls');
  const { date, found } = await ask.transact(question, { success: [...rangesOf(jobs), all(heads)] });
  return { date, rows: rowsAmong(jobs, found), controls: controlsIn(heads, found[3]) };
}

async function listOne(ask: Ask, { jobs, entries }: Keys, question: Question, job: JobName): Promise<ListedRows> {
  const { heads } = entries('controls');
  const success = [jobs.rows, jobs.terms, jobs.locks, heads].map((prefix) => get(`${prefix}${job}`));
  const { date, found } = await ask.transact(question, { success });
  const [row, terms, lock] = found.map(only);
  const seen = row && rowIn({ row, terms, lock });
  const isLeased = seen?.lease === 'leased';
  const leftMs = isLeased ? await leftOf(ask, question.what, lock?.lease, question.options) : undefined;
  const rows = new Map(seen && [[job, { ...seen, ...given({ leftMs }) }]]);
  return { date, rows, controls: controlsIn(heads, found[3]) };
}

function controlsIn(heads: string, found: Found | undefined): ReadonlyMap<string, ListedControl> {
  return new Map([...byName(heads, found)].map(([name, kv]) => [name, headIn(kv)]));
}
