// Members share the work on shards, and the leader assigns the shards to members. Every member may become the leader.
//
//   node examples/shards.mjs            in one terminal, and in another:
//   kill -9 <pid of any member>         its shards go to the others within 8 s, or 28 s if it led.
//
// Why it is safe: the leader writes the assignment under its fence, so a leader that was paused cannot undo its
// successor's. And a member records each piece of work only over the version of the shard that it read, so two members
// that both believe they have a shard cannot do a piece twice.
import { LeaderElection } from 'cronlease';
import { connect, readJson, replaceJson } from './storage.mjs';
import { pause, runWorkers, say } from './workers.mjs';

const SHARDS = 8;
const BEAT_EVERY_MS = 1_000;
const WORK_EVERY_MS = 500;
/** By the storage service's clock. */
const DEAD_AFTER_MS = 6_000;

const container = connect('example-shards');
const assignment = container.getBlockBlobClient('assignment.json');

await runWorkers(import.meta.filename, 3, async (member, signal) => {
  await container.createIfNotExists();
  // A process that starts again under the same name is another member.
  const id = `${member}-${Date.now()}`;
  const election = new LeaderElection({
    container,
    name: 'shards',
    id,
    lease: '15s',
    stallAfter: '30s',
    task: assign,
    onError: (error) => say(`trouble: ${error.message}`),
  });
  election.on('elected', ({ token }) => say(`leads (token ${token})`));
  election.on('lost', ({ reason }) => say(`no longer leads: ${reason}`));
  await Promise.all([election.run({ signal }), beat(id, signal), work(id, signal)]);
});

/** Shows the leader that this member is alive. */
async function beat(id, signal) {
  const blob = container.getBlockBlobClient(`members/${id}`);
  while (!signal.aborted) {
    await blob.upload('', 0);
    await pause(BEAT_EVERY_MS, signal);
  }
  await blob.deleteIfExists();
}

/** The leader's task: to find the living members, and to write a new assignment when they have changed. */
async function assign({ signal, fence, progress }) {
  while (!signal.aborted) {
    const members = await livingMembers(signal);
    const { value, etag } = await readJson(assignment, { shards: [] });
    const shards = share(value.shards, members);
    if (members.length > 0 && shards.some((member, shard) => member !== value.shards[shard])) {
      try {
        await fence.write(assignment, JSON.stringify({ shards }), { contentType: 'application/json', ifMatch: etag });
        say(`assigns ${members.map((member) => `${member}: ${shardsOf(shards, member)}`).join('; ')}`);
      } catch (error) {
        // Another leader's last write came in between, so the version that was read is out of date.
        if (error.code === 'BlobChanged') continue;
        throw error;
      }
    }
    progress();
    await pause(BEAT_EVERY_MS, signal);
  }
}

async function livingMembers(signal) {
  const members = [];
  for await (const { segment, date } of container.listBlobsFlat({ prefix: 'members/', abortSignal: signal }).byPage()) {
    for (const { name, properties } of segment.blobItems) {
      if (date - properties.lastModified < DEAD_AFTER_MS) members.push(name.slice('members/'.length));
    }
  }
  return members;
}

/** Shares the shards evenly, give or take one, and moves as few as possible. */
function share(before, members) {
  const most = Math.ceil(SHARDS / members.length);
  const load = new Map(members.map((member) => [member, 0]));
  const shards = Array.from({ length: SHARDS }, (_, shard) => {
    const member = before[shard];
    const held = load.get(member);
    if (held === undefined || held >= most) return undefined;
    load.set(member, held + 1);
    return member;
  });
  const lightest = () => [...load].reduce((least, one) => (one[1] < least[1] ? one : least))[0];
  return shards.map((member) => {
    if (member !== undefined || members.length === 0) return member;
    const taker = lightest();
    load.set(taker, load.get(taker) + 1);
    return taker;
  });
}

function shardsOf(shards, member) {
  return shards.flatMap((holder, shard) => (holder === member ? [shard] : [])).join(' ');
}

/** A member's task: to do the next piece of each of its shards, one after another. */
async function work(id, signal) {
  let mine = '';
  while (!signal.aborted) {
    const { value } = await readJson(assignment, { shards: [] });
    const now = shardsOf(value.shards, id);
    if (now !== mine) say(`has shards ${now || 'none'}`);
    mine = now;
    for (const shard of mine.split(' ').filter((text) => text !== '')) {
      const blob = container.getBlockBlobClient(`shards/${shard}`);
      const { value: done, etag } = await readJson(blob, { pieces: 0, by: {} });
      const piece = done.pieces + 1;
      // If another member was faster, this write is rejected, and the piece counts for the other.
      const by = { ...done.by, [id]: (done.by[id] ?? 0) + 1 };
      if (await replaceJson(blob, { pieces: piece, by }, etag)) say(`did piece ${piece} of shard ${shard}`);
    }
    await pause(WORK_EVERY_MS, signal);
  }
}
