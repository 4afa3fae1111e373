// A program that is not a function app: a candidate that prints its events, one JSON object a line.
// node candidate.mjs CONNECTION CONTAINER ID
import { ContainerClient } from '@azure/storage-blob';
import { LeaderElection, StaleLeaderError } from 'cronlease';
import pg from 'pg';

const [connection, containerName, id] = process.argv.slice(2);
const say = (what, more = {}) => console.log(JSON.stringify({ what, id, at: Date.now(), ...more }));

// Notices, after a pause of the process, when it woke.
let lastBeat = performance.now();
let wokeAt;
setInterval(() => {
  if (performance.now() - lastBeat > 2_000) wokeAt ??= performance.now();
  lastBeat = performance.now();
}, 5);

/** The store of the election, and the fenced write to its target. */
function blobs() {
  const container = new ContainerClient(connection, containerName);
  const target = container.getBlockBlobClient('target');
  return { store: { container }, write: (fence, text) => fence.write(target, text) };
}

/** The target is a table, whatever store the election has: its database is `DATABASE_URL`, or the store itself. */
function postgres() {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? connection, max: 1 });
  return {
    store: { storage: connection, container: containerName },
    // Only the table refuses: fence.check() would do so earlier.
    async write({ token }, text) {
      const { rowCount } = await pool.query(
        `insert into "${containerName}".target (id, text, token) values (1, $1, $2)
         on conflict (id) do update set text = excluded.text, token = excluded.token
         where target.token <= excluded.token`,
        [text, token],
      );
      if (rowCount === 0) throw new StaleLeaderError(`token ${token} is stale`);
    },
  };
}

const { store, write } = /^[a-z]+:\/\//.test(connection) ? postgres() : blobs();
const election = new LeaderElection({
  ...store,
  name: 'race',
  id,
  lease: '15s',
  pollInterval: '2s',
  task: async ({ token, signal, fence }) => {
    await write(fence, `${id} ${token}`);
    say('wrote', { token });
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await aborted;
    const toldAfter = wokeAt === undefined ? undefined : performance.now() - wokeAt;
    const refused = await write(fence, `${id} ${token} too late`).then(
      () => false,
      ({ code }) => code,
    );
    say('told', { code: signal.reason.code, toldAfter, refused, leads: election.isLeader });
  },
  onError: ({ code, message }) => say('error', { code, message }),
});
election.on('elected', ({ token }) => say('elected', { token }));
election.on('lost', ({ reason }) => say('lost', { reason }));
election.on('observed', (leader) => say('observed', { leader: leader?.id, token: leader?.token }));
process.once('SIGTERM', () => {
  void election.stop().then(() => {
    say('stopped');
    process.exit(0);
  });
});
election.start();
