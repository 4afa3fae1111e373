// A program that is no function app: a candidate that prints its events, one JSON object a line.
// node candidate.mjs CONNECTION_STRING CONTAINER ID
import { ContainerClient } from '@azure/storage-blob';
import { LeaderElection } from 'cronlease';

const [connectionString, containerName, id] = process.argv.slice(2);
const container = new ContainerClient(connectionString, containerName);
const say = (what, more = {}) => console.log(JSON.stringify({ what, id, at: Date.now(), ...more }));

// Notices, after a pause of the process, when it woke.
let lastBeat = performance.now();
let wokeAt;
setInterval(() => {
  if (performance.now() - lastBeat > 2_000) wokeAt ??= performance.now();
  lastBeat = performance.now();
}, 5);

const election = new LeaderElection({
  container,
  name: 'race',
  id,
  lease: '15s',
  pollInterval: '2s',
  task: async ({ token, signal, fence }) => {
    const target = container.getBlockBlobClient('target');
    await fence.write(target, `${id} ${token}`);
    say('wrote', { token });
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await aborted;
    const toldAfter = wokeAt === undefined ? undefined : performance.now() - wokeAt;
    const refused = await fence.write(target, `${id} ${token} too late`).then(
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
