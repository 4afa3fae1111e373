import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOutcome } from '../../core/storage-call';
import type { ElectionStore, LeaseBreaking, LeaseStore, Retention } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { facetsIn } from '../facets/facets';
import { STORE_LIMITS } from '../limits';
import { tryRows } from '../row-trial';
import { type Ask, type Server, asOfNow, asker } from './ask';
import { connectionsOf } from './connections';
import { entriesIn } from './entries';
import { namesIn } from './folders';
import { jobRowsIn } from './job-rows';
import { lookForLayout, prepareLayout } from './layout';
import { logsIn } from './logs';
import { type Paths, pathsIn } from './paths';
import { NO_VERSION } from './protocol';
import { retentionIn } from './retention';
import { nodesOf, rowCalls, rowsIn } from './rows';
import type { Ensemble } from './settings';

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a user and a password',
  network: 'let this address through the firewall of the servers',
  credentials: 'check the user and the password of the URL',
  role: 'use the user and the password that have created the container',
  versions: 'none: nodes keep no older versions',
};

/**
 * The rows, controls, ledger and logs in nodes of ZooKeeper 3.5 or later. Each row is a node, and its lease a node below
 * it (`rows.ts`).
 *
 * **The guard** is a transaction that checks the version of the row and that of the lease, and then sets one of them.
 * The leader carries out one transaction at a time, once most servers have it. An ETag is the node's version, with the
 * number of the transaction that created it: versions begin again where a node is deleted and created again.
 *
 * **The fence** is the token in the row's metadata, as in every store. The version is not a token: a claim makes one
 * token, and rows that are moved to another store keep theirs.
 *
 * **Time.** An answer to a write has the leader's time of that write, and an answer to a read has none. So each read
 * follows an empty write to the node `now` on the same connection, without waiting for its answer. That gives the time,
 * and makes a server that lags behind catch up first: `sync` would not, because a leader that has just been replaced
 * answers it too. The price is one transaction, with its write to disk, for each read. A lease ends its length after
 * its node's last write, both by the leader's time. Trust is computed from the dates of acquisition and claim, as for
 * every store.
 *
 * **The weak spots**
 * - Leaders have their own clocks. If a new leader's is ahead, or the clock is set ahead, leases end early, and for up
 *   to the difference two holders may trust theirs; the version still admits one writer. If it is behind, leases last
 *   longer.
 * - `writeRow` sees that the lease lasts, and then writes if the lease was not written meanwhile. A write that arrives
 *   after the lease's end succeeds if the lease was not taken. The date of the answer ends its holder's trust.
 * - The node of an entry that is deleted and created again between the look and the write of one call, and written as
 *   often as before, passes for the old one. Rows are never deleted.
 * - Each server keeps all nodes in memory. Retention bounds the ledger; `keep` is best short.
 *
 * **Not used.** An ephemeral node ends with its session, and a session belongs to a connection: all jobs of an instance
 * would have leases of one length, which go on while a handler is stalled, because the client's pings and not the
 * holder's renewals keep the session. A lease that is handed to the instance that runs the attempt has no session to
 * move to. Its end would take row and token along, or leave no sign that a run was interrupted. Watches would tell each
 * instance of each change; a tick lists once instead.
 */
export function zooKeeperStore(options: ZooKeeperStoreOptions): LeaseStore & LeaseBreaking & Retention {
  const { server, paths } = serverOf(options);
  const ask = asker(server);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, paths, call),
    ...jobRowsIn(ask, paths),
    ...facetsIn(entriesIn(ask, paths), paths),
    ...logsIn(ask, paths),
    ...retentionIn(ask, paths),
  };
}

/** The rows of elections, beside those of jobs. */
export function zooKeeperElections(options: ZooKeeperStoreOptions): ElectionStore {
  const { server, paths } = serverOf(options);
  const ask = asker(server);
  const { breakLease: _, ...rows } = rowCalls(ask, paths, paths.elections);
  return {
    location: server.location,
    limits: STORE_LIMITS,
    prepare: (call) => prepareLayout(ask, paths, call),
    ...rows,
    listRows: (call) =>
      ask({ what: 'list elections', kind: 'listing', options: call }, async (session) => {
        const [, names] = await asOfNow(session, paths.now, () => namesIn(session, paths.elections));
        return rowsIn(session, paths, paths.elections, names);
      }),
  };
}

export interface ZooKeeperStoreOptions {
  readonly ensemble: Ensemble;
  /** The container's name, a node below the chroot. */
  readonly container: string;
  readonly clock: Clock;
  /** A call without an answer fails after this long. */
  readonly callTimeoutMs: Millis;
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

function serverOf({ ensemble, container, clock, callTimeoutMs, onOutcome }: ZooKeeperStoreOptions): {
  readonly server: Server;
  readonly paths: Paths;
} {
  const withSession = connectionsOf({ ensemble, clock, connectMs: callTimeoutMs });
  const location = `${ensemble.location}/${container}`;
  return {
    server: { location, clock, callTimeoutMs, withSession, onOutcome },
    paths: pathsIn(ensemble.chroot, container),
  };
}

/** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
export function zooKeeperTrial(options: ZooKeeperStoreOptions, id: string): Promise<Trial> {
  const { server, paths } = serverOf(options);
  return trialOn(server, paths, id);
}

/** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
function trialOn(server: Server, paths: Paths, id: string): Promise<Trial> {
  const ask = asker(server);
  return tryRows(
    {
      rows: rowCalls(ask, paths, paths.elections),
      clock: server.clock,
      nouns: { object: 'node', place: 'container' },
      remedies: REMEDIES,
      look: () => lookAt(ask, server, paths),
      deleteRow: (name) =>
        ask({ what: 'delete the row of a trial', kind: 'delete', options: undefined }, (session) => {
          const { row, lease } = nodesOf(paths.elections, name);
          return session.multi([lease, row].map((path) => ({ kind: 'delete', path, version: NO_VERSION })));
        }),
    },
    id,
  );
}

async function lookAt(ask: Ask, { clock }: Server, paths: Paths) {
  const question = { what: 'look for the container', kind: 'listing', options: undefined } as const;
  const now = await ask(question, (session) => lookForLayout(session, paths));
  // Without a container there is nothing to write, and so no time.
  return { isThere: now !== undefined, date: now ?? clock.now(), cutMs: 0 };
}
