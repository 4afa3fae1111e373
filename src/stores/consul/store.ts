import type { JobName, Millis } from '../../core/brand';
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
import { tryRows } from '../row-trial';
import { exchangesWith } from './agents';
import { type Ask, type Cluster, asker } from './ask';
import { entriesIn, headIn } from './entries';
import { type Keys, headKey, idIn, keysIn, rowKeys } from './keys';
import { lookForLayout, prepareLayout } from './layout';
import { logsIn } from './logs';
import { retentionIn } from './retention';
import { leftIn, rowCalls, rowsAmong } from './rows';
import type { ConsulCluster } from './settings';
import { type KeyValue, removeTree, tree } from './wire';

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a token of the ACL',
  network: 'let this address through the firewall of the agents',
  credentials: 'check the token of the URL',
  role: 'grant this token a policy that may write the keys of the container, its node and sessions on that',
  versions: 'none: Consul keeps no old values',
};

/**
 * The rows, controls, ledger and logs as keys of Consul 1.8 or later, through the HTTP API of its agents: no client
 * library is needed, and each answer has a `Date`.
 *
 * **The guard** is a transaction for each write (`rows.ts`, `entries.ts`), which checks indexes and then writes. The
 * servers agree on it by Raft, so a minority takes no write. A row's version is the index of its last write, which the
 * cluster counts and never gives out twice. Reads are consistent transactions: the leader asks the others first whether
 * it still leads.
 *
 * **The end of a lease** is that of a session, which locks the key of the lease; while it does, no other session
 * acquires. The leader ends sessions by its own monotonic clock. A renewal is a new session under the same lock, on
 * which the cluster agrees; it is not Consul's renewal of a session, which a deposed leader answers too until it learns
 * of its successor.
 *
 * **The fence** is the token in the row's metadata, as in every store. Consul's `LockIndex` counts the locks of one key
 * and begins again if the key is removed, so it is not a fence here.
 *
 * **The weak spots**
 * - Consul promises that a session lasts at least its time, and ends it after twice that: a job whose holder has died is
 *   taken over after up to twice its lease's length, and later if the leader changes meanwhile.
 * - There is no call that returns how long a session lasts. A holder computes its trust from the time at which this
 *   process asked for the session; a claim under a lease that another process has acquired makes its own session, at
 *   the price of one more call.
 * - A date is the clock of the agent that answers, cut to seconds. Those of two agents may differ, so no trust is
 *   computed from two dates. Due times are judged by them: an agent whose clock is ahead lets runs start early by as
 *   much. Run NTP. Times of writing, which heartbeats and retention use, are estimated from the last answer.
 * - Sessions are on a node that is only in the catalog, because those of an agent's node end with that agent. Whoever
 *   removes the node, or a session, ends leases before their time. They then count as broken, and ticks do not touch
 *   the rows for a lease's length.
 * - A snapshot that is restored brings old indexes back: stop the apps before, and run
 *   `cronlease recover --after-failover`.
 * - Keys are of one datacenter: Consul copies none to another one.
 *
 * **Not used.** The lock-delay keeps a key free for a while after its session has been ended by a health check; there is
 * none here, and our own trust ends before the session. `consul lock` and watches need an agent, or a connection, for each
 * instance.
 */
export function consulStore(options: ConsulStoreOptions): LeaseStore & LeaseBreaking & Retention {
  const { cluster, keys } = clusterOf(options);
  const ask = asker(cluster);
  return {
    location: cluster.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, { ...cluster, ...options }, call),
    ...jobRowsIn(ask, cluster.clock, keys),
    ...facetsIn(entriesIn(ask, keys), keys),
    ...logsIn(ask, keys),
    ...retentionIn(ask, keys),
  };
}

/** The rows of elections, beside those of jobs. */
export function consulElections(options: ConsulStoreOptions): ElectionStore {
  const { cluster, keys } = clusterOf(options);
  const { clock } = cluster;
  const ask = asker(cluster);
  const { breakLease: _, ...rows } = rowCalls({ ask, clock, folder: keys.elections });
  return {
    location: cluster.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, { ...cluster, ...options }, call),
    ...rows,
    listRows: (call) =>
      ask({ what: 'list elections', kind: 'listing', options: call }, async (calls) =>
        rowsAmong(keys.elections, await calls.transact(tree(keys.elections))),
      ),
  };
}

export interface ConsulStoreOptions {
  readonly agents: ConsulCluster;
  /** The container's name, which follows the prefix in all keys. */
  readonly container: string;
  readonly clock: Clock;
  /** A call without an answer fails after this long. */
  readonly callTimeoutMs: Millis;
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

/** Where another agent can be asked, one that does not answer is given up sooner. An election takes some seconds. */
const PATIENCE_MS = 4_000;

function clusterOf({ agents, container, clock, callTimeoutMs: limit, onOutcome }: ConsulStoreOptions): {
  readonly cluster: Cluster;
  readonly keys: Keys;
} {
  const keys = keysIn(agents.prefix, container);
  const { layout, node } = keys;
  const location = `${agents.location}/${container}`;
  const callTimeoutMs = agents.members.length === 1 ? limit : Math.min(limit, PATIENCE_MS);
  const exchange = exchangesWith(agents);
  return { cluster: { location, clock, callTimeoutMs, exchange, layout, node, onOutcome }, keys };
}

/** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
export function consulTrial(options: ConsulStoreOptions, id: string): Promise<Trial> {
  const { cluster, keys } = clusterOf(options);
  return trialOn(cluster, keys.elections, id);
}

/** The rows of jobs. One transaction lists them with their controls, as of one instant. */
function jobRowsIn(
  ask: Ask,
  clock: Clock,
  { jobs: folder, controls: controlKeys }: Keys,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  const controlsAmong = (found: readonly KeyValue[]): ReadonlyMap<string, ListedControl> => {
    const controls = found.filter(({ key }) => key.startsWith(controlKeys.heads));
    return new Map(controls.map((kv) => [idIn(controlKeys, kv.key), headIn(kv)]));
  };
  return {
    ...rowCalls({ ask, clock, folder }),
    list: (options) =>
      ask({ what: 'list jobs', kind: 'listing', options }, async (calls) => {
        const only = options?.job;
        const places =
          only === undefined ? [folder, controlKeys.heads] : [rowKeys(folder, only).row, headKey(controlKeys, only)];
        const answer = await calls.transact(...places.map(tree));
        const { date, found = [] } = answer;
        const sessions = new Map(found.map(({ key, session }) => [key, session]));
        const withLeft = (name: JobName, row: ListedRow): ListedRow => {
          if (only === undefined || row.lease !== 'leased') return row;
          return { ...row, leftMs: leftIn(clock, sessions.get(rowKeys(folder, name).lease)) };
        };
        const rows = [...rowsAmong(folder, answer)].map(([name, row]) => [name, withLeft(name, row)] as const);
        return listingOf(date, new Map(rows), controlsAmong(found), only);
      }),
  };
}

/**
 * Tries each kind of call on its own row. Never rejects with a `StoreError`.
 *
 * @param folder which no tick reads: that of elections
 */
function trialOn(cluster: Cluster, folder: string, id: string): Promise<Trial> {
  const ask = asker(cluster);
  return tryRows(
    {
      rows: rowCalls({ ask, clock: cluster.clock, folder }),
      clock: cluster.clock,
      nouns: { object: 'row', place: 'container' },
      remedies: REMEDIES,
      // The date is cut to whole seconds.
      look: async () => ({ ...(await lookForLayout(ask, cluster.layout)), cutMs: 500 }),
      deleteRow: (name) =>
        ask({ what: 'delete the row of a trial', kind: 'delete', options: undefined }, (calls) =>
          calls.transact(removeTree(rowKeys(folder, name).row)),
        ),
    },
    id,
  );
}
