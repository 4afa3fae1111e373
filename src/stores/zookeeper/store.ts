import type { EpochMs, JobName } from '../../core/brand';
import type { ListedControl } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { type Adapter, adapterOf, type AdapterOptions } from '../adapter';
import type { ListedRows } from '../facets/rows';
import type { Members } from '../http/url';
import { LAYOUT_VERSION } from '../port';
import { asker, type Calls } from './ask';
import { contentIn } from './bodies';
import { connectionsOf } from './connections';
import { entriesIn, etagAt, namesIn, purgeIn } from './entries';
import { CODE, FAULTS, NoNodeError, ZooKeeperError } from './errors';
import { logsIn } from './logs';
import { pathOf, type Paths, pathsIn } from './paths';
import { NO_VERSION } from './protocol';
import { nodesOf, rowsAmong, rowsIn } from './rows';
import type { Session } from './session';

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a user and a password',
  network: 'let this address through the firewall of the servers',
  credentials: 'check the user and the password of the URL',
  role: 'use the user and the password that created the container',
  versions: 'none: nodes keep no older versions',
};

/**
 * Rows, controls, ledger and logs in nodes of ZooKeeper 3.5 or later. Each row is a node, and its lease a node below it.
 *
 * **The guard** is a transaction that checks the version of the row and that of the lease, and then sets one of them. The
 * leader carries out one transaction at a time, once most servers have it. An ETag is the node's version, with the number
 * of the transaction that created it: versions begin again where a node is deleted and created again.
 *
 * **The fence** is the token in the row's metadata, as in every store. The version is not a token: a claim makes one token,
 * and rows that are moved to another store keep theirs.
 *
 * **Time.** An answer to a write has the leader's time of that write, and an answer to a read has none. So each read
 * follows an empty write to the node `now` on the same connection, without waiting for its answer. That gives the time,
 * and makes a server that lags behind catch up first: a leader that has just been replaced answers `sync` too. The price
 * is one transaction, with its write to disk, for each read. A lease ends its length after its node's last write, both by
 * the leader's time.
 *
 * **The weak spots**
 * - Leaders have their own clocks. If a new leader's is ahead, or the clock is set ahead, leases end early, and for up to
 *   the difference two holders may trust theirs; the version still admits one writer. If it is behind, leases last longer.
 * - `writeRow` sees that the lease lasts, and then writes if the lease was not written meanwhile. A write that arrives after
 *   the lease's end succeeds if the lease was not taken. The date of the answer ends its holder's trust.
 * - The node of an entry that is deleted and created again between the look and the write of one call, and written as often
 *   as before, passes for the old one. Rows are never deleted.
 * - Each server keeps all nodes in memory. Retention bounds the ledger; `keep` is best short.
 *
 * **Not used.** An ephemeral node ends with its session, and a session belongs to a connection: all jobs of an instance
 * would have leases of one length, kept by the client's pings even while a handler is stalled. A lease that is handed over
 * has no session to move to, and its end would take row and token along. Watches would tell each instance of each change; a
 * tick lists once instead.
 */
export function zooKeeper(options: AdapterOptions<Members>): Adapter {
  const { server: ensemble, container, clock, callTimeoutMs, onOutcome } = options;
  const withSession = connectionsOf({ ensemble, clock, connectMs: callTimeoutMs });
  const location = `${ensemble.location}/${container}`;
  const paths = pathsIn(ensemble.prefix, container);
  const { elections } = paths;
  const ask = asker({ location, clock, callTimeoutMs, withSession, now: paths.now, onOutcome, faults: FAULTS });
  return adapterOf({
    location,
    clock,
    prepare: (question) => ask(question, (session) => prepareLayout(session, paths)),
    jobs: rowsIn(ask, paths.jobs),
    listJobs: (question, only) => ask(question, (session) => listJobs(session, paths, only)),
    elections: rowsIn(ask, elections),
    listElections: (question) =>
      ask(question, async (session) => {
        const [, names] = await session.asOfNow(() => namesIn(session, elections));
        return rowsAmong(session, elections, names);
      }),
    entries: entriesIn(ask, paths),
    logs: logsIn(ask),
    keys: paths.entries,
    purge: purgeIn(ask, paths),
    async look(question) {
      const now = await ask(question, (session) => lookForLayout(session));
      // Without a container there is nothing to write, and so no time.
      return { isThere: now !== undefined, date: now ?? clock.now(), cutMs: 0 };
    },
    deleteRow: (question, name) =>
      ask(question, (session) => {
        const { row, lease } = nodesOf(elections, name);
        return session.multi([lease, row].map((path) => ({ kind: 'delete', path, version: NO_VERSION })));
      }),
    nouns: { object: 'node', place: 'container' },
    remedies: REMEDIES,
  });
}

/** Makes the nodes of a container, and that of the time last, by which all other calls see that it exists. */
async function prepareLayout(session: Calls, paths: Paths): Promise<void> {
  if ((await lookForLayout(session)) !== undefined) return;
  const above = paths.container.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
  for (const path of above.slice(1, -1)) await make(session, path, '');
  await make(session, paths.container, LAYOUT_VERSION);
  for (const path of [...paths.made, paths.now]) await make(session, path, '');
}

async function make(session: Session, path: string, text: string): Promise<void> {
  // The right to create is asked for even where there is nothing to create.
  if ((await session.stat(path)) !== undefined) return;
  const answer = await session.multi([{ kind: 'create', path, data: Buffer.from(text) }]);
  if (answer.kind === 'refused' && answer.code !== CODE.nodeExists) throw new ZooKeeperError(answer.code);
}

/** The leader's time if the container exists. */
async function lookForLayout(session: Calls): Promise<EpochMs | undefined> {
  try {
    const [{ now }] = await session.asOfNow(() => Promise.resolve());
    return now;
  } catch (error) {
    if (error instanceof NoNodeError) return undefined;
    throw error;
  }
}

/** Asks for the names, and then for all rows and controls without waiting in between. */
async function listJobs(session: Calls, paths: Paths, only: JobName | undefined): Promise<ListedRows> {
  const controlFolder = paths.entries('controls').path;
  const [{ now: date }, [rowNames, controlNames]] = await session.asOfNow(() =>
    only === undefined
      ? Promise.all([namesIn(session, paths.jobs), namesIn(session, controlFolder)])
      : Promise.resolve([[only], [only]]),
  );
  const [rows, controls] = await Promise.all([
    rowsAmong(session, paths.jobs, rowNames ?? []),
    controlsOf(session, paths, controlNames ?? []),
  ]);
  return { date, rows, controls };
}

async function controlsOf(
  session: Session,
  { entries }: Paths,
  names: readonly string[],
): Promise<ReadonlyMap<JobName, ListedControl>> {
  const controls = entries('controls');
  const nodes = await Promise.all(names.map((name) => session.get(pathOf(controls, name))));
  return new Map(
    nodes.flatMap((node, index) =>
      node === undefined
        ? []
        : [[names[index] as JobName, { etag: etagAt(node.stat), metadata: contentIn(node.data).metadata }]],
    ),
  );
}
