import type { JobName } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { type ListedControl, type ListedRow, StoreDeniedError } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import type { ListedRows } from '../facets/rows';
import type { ConsulCluster } from '../http/url';
import { LAYOUT_VERSION, type Question } from '../port';
import { type Exchange, exchangesWith } from './agents';
import { type Ask, asker, type Cluster } from './ask';
import { entriesIn, headIn, purgeIn } from './entries';
import { FAULTS } from './errors';
import { headKey, idIn, type Keys, keysIn, rowKeys } from './keys';
import { logsIn } from './logs';
import { leftIn, rowsAmong, rowsIn } from './rows';
import { create, removeTree, tree } from './wire';

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a token of the ACL',
  network: 'let this address through the firewall of the agents',
  credentials: 'check the token of the URL',
  role: 'grant this token a policy that may write the keys of the container, its node and sessions on that',
  versions: 'none: Consul keeps no old values',
};

/**
 * Rows, controls, ledger and logs as keys of Consul 1.8 or later, through the HTTP API of its agents: no client library is
 * needed, and each answer has a `Date`.
 *
 * **The guard** is a transaction for each write, which checks indexes and then writes. The servers agree on it by Raft, so
 * a minority takes no write. A row's version is the index of its last write, which the cluster counts and never gives out
 * twice. Reads are consistent transactions: the leader asks the others first whether it still leads.
 *
 * **The end of a lease** is that of a session, which locks the key of the lease; while it does, no other session acquires.
 * The leader ends sessions by its own monotonic clock. A renewal is a new session under the same lock, on which the
 * cluster agrees; a deposed leader answers Consul's renewal of a session too.
 *
 * **The fence** is the token in the row's metadata, as in every store. Consul's `LockIndex` counts the locks of one key
 * and begins again if the key is removed, so it is not a fence here.
 *
 * **The weak spots**
 * - Consul promises that a session lasts at least its time, and ends it after twice that: a job whose holder has died is
 *   taken over after up to twice its lease's length, and later if the leader changes meanwhile.
 * - No call returns how long a session lasts. A holder computes its trust from the time at which this process asked for
 *   the session; a claim under a lease that another process has acquired makes its own session, by one more call.
 * - A date is the clock of the agent that answers, cut to seconds. Those of two agents may differ, so no trust is computed
 *   from two dates. Due times are judged by them: an agent whose clock is ahead lets runs start early by as much. Run NTP.
 *   Times of writing, which heartbeats and retention use, are estimated from the last answer.
 * - Sessions are on a node that is only in the catalog, because those of an agent's node end with that agent. Whoever
 *   removes the node, or a session, ends leases before their time. They then count as broken, and ticks do not touch the
 *   rows for a lease's length.
 * - A snapshot that is restored brings old indexes back: stop the apps before, and run
 *   `cronlease recover --after-failover`.
 * - Keys are of one datacenter: Consul copies none to another one.
 *
 * **Not used.** The lock-delay keeps a key free after a health check has ended its session; there is none here, and our own
 * trust ends before the session. `consul lock` and watches need an agent, or a connection, for each instance.
 */
export function consul(options: AdapterOptions<ConsulCluster>): Adapter {
  const { server, container, clock, callTimeoutMs: limit, onOutcome } = options;
  const keys = keysIn(server.prefix, container);
  const { layout, node, elections } = keys;
  const location = `${server.location}/${container}`;
  const callTimeoutMs = server.members.length === 1 ? limit : Math.min(limit, PATIENCE_MS);
  const exchange = exchangesWith(server);
  const cluster: Cluster = { location, clock, callTimeoutMs, exchange, layout, node, onOutcome, faults: FAULTS };
  const ask = asker(cluster);
  const place = { ask, clock };
  return adapterOf({
    location,
    clock,
    prepare: (question) => prepareLayout(ask, cluster, question),
    jobs: rowsIn({ ...place, folder: keys.jobs }),
    listJobs: (question, only) => listJobs({ ...place, keys }, question, only),
    elections: rowsIn({ ...place, folder: elections }),
    listElections: (question) =>
      ask(question, async (calls) => rowsAmong(elections, await calls.transact(tree(elections)))),
    entries: entriesIn(ask, keys),
    logs: logsIn(ask),
    keys: keys.entries,
    purge: purgeIn(ask, keys),
    async look(question) {
      const { date, found } = await ask(question, (calls) => calls.transactAnyway(tree(layout)));
      // The date is cut to whole seconds.
      return { isThere: found?.length === 1, date, cutMs: 500 };
    },
    deleteRow: (question, name) => ask(question, (calls) => calls.transact(removeTree(rowKeys(elections, name).row))),
    nouns: { object: 'row', place: 'container' },
    remedies: REMEDIES,
  });
}

/** Where another agent can be asked, one that does not answer is given up sooner. An election takes some seconds. */
const PATIENCE_MS = 4_000;

/** One transaction lists rows with their controls, as of one instant. */
function listJobs(
  { ask, clock, keys }: { readonly ask: Ask; readonly clock: Clock; readonly keys: Keys },
  question: Question,
  only: JobName | undefined,
): Promise<ListedRows> {
  const { jobs: folder } = keys;
  const controlKeys = keys.entries('controls');
  return ask(question, async (calls) => {
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
    const controls = found.filter(({ key }) => key.startsWith(controlKeys.heads));
    const entries = controls.map((kv): [string, ListedControl] => [idIn(controlKeys, kv.key), headIn(kv)]);
    return { date, rows: new Map(rows), controls: new Map(entries) };
  });
}

/**
 * Makes the node for sessions, and then the key by which all other calls see that the container exists.
 *
 * A session of an agent's own node ends with that agent. This node is not a machine: it is only in the catalog, has no
 * checks, and stays.
 */
async function prepareLayout(ask: Ask, { exchange, layout, node }: Cluster, question: Question): Promise<void> {
  const isThere = await ask(question, async (calls) => {
    const { found } = await calls.transactAnyway(tree(layout));
    return found?.length === 1;
  });
  try {
    await ask(question, async (calls, signal) => {
      await register(exchange, node, signal);
      if (!isThere) await calls.transactAnyway(create(layout, LAYOUT_VERSION));
    });
  } catch (error) {
    // The right to create is missing where there is nothing to create.
    if (!isThere || !(error instanceof StoreDeniedError)) throw error;
  }
}

async function register(exchange: Exchange, node: string, signal: AbortSignal): Promise<void> {
  const path = `/v1/catalog/node/${node}`;
  const { json } = await exchange({ method: 'GET', path, signal }, 404);
  if (json !== null) return;
  const body = { Node: node, Address: '127.0.0.1', NodeMeta: { 'external-node': 'true', 'external-probe': 'false' } };
  await exchange({ method: 'PUT', path: '/v1/catalog/register', body, signal });
}
