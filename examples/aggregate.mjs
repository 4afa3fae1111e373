// Workers send numbers; the one that leads adds them up. Every worker may become the leader.
//
//   node examples/aggregate.mjs         in one terminal, and in another:
//   kill -9 <pid of the leader>         another worker leads within 20 s, and no number is lost or counted twice.
//
// Why it is safe: each worker numbers its messages. One blob holds the sums, and for each worker the last counted
// number. The leader writes it under its fence, and only over the version that it read. Then it deletes the messages.
import { LeaderElection } from 'cronlease';
import { connect, createJson, readJson } from './storage.mjs';
import { pause, runWorkers, say } from './workers.mjs';

const SEND_EVERY_MS = 200;
const ADD_UP_EVERY_MS = 1_000;

const container = connect('example-aggregate');
const totals = container.getBlockBlobClient('totals.json');

await runWorkers(import.meta.filename, 3, async (worker, signal) => {
  await container.createIfNotExists();
  const election = new LeaderElection({
    container,
    name: 'aggregate',
    lease: '15s',
    stallAfter: '30s',
    task: addUp,
    onError: (error) => say(`trouble: ${error.message}`),
  });
  election.on('elected', ({ token }) => say(`leads (token ${token})`));
  election.on('lost', ({ reason }) => say(`no longer leads: ${reason}`));
  await Promise.all([election.run({ signal }), send(worker, signal)]);
});

/** A worker's task: to send one number after another, each in its own message. */
async function send(worker, signal) {
  // A process that starts again under the same name is another sender.
  const sender = `${worker}-${Date.now()}`;
  for (let number = 1; !signal.aborted; number += 1) {
    await createJson(container.getBlockBlobClient(`inbox/${sender}/${String(number).padStart(9, '0')}`), { number });
    if (number % 25 === 0) say(`has sent ${number} numbers as ${sender}`);
    await pause(SEND_EVERY_MS, signal);
  }
}

/** The leader's task. */
async function addUp({ signal, fence, progress }) {
  while (!signal.aborted) {
    const { value: sums, etag } = await readJson(totals, {});
    const counted = [];
    for await (const { name } of container.listBlobsFlat({ prefix: 'inbox/', abortSignal: signal })) {
      const [, sender, key] = name.split('/');
      const number = Number(key);
      const sum = (sums[sender] ??= { through: 0, count: 0, total: 0 });
      // An earlier leader may have counted a message and died before it deleted it: it is not counted again.
      if (number > sum.through) sums[sender] = { through: number, count: sum.count + 1, total: sum.total + number };
      counted.push(name);
    }
    if (counted.length > 0) {
      try {
        await fence.write(totals, JSON.stringify(sums), { contentType: 'application/json', ifMatch: etag });
      } catch (error) {
        // Another leader's last write came in between, so the version that was read is out of date.
        if (error.code === 'BlobChanged') continue;
        throw error;
      }
      for (const name of counted) await container.getBlobClient(name).deleteIfExists();
      const count = Object.values(sums).reduce((all, sum) => all + sum.count, 0);
      say(`has added up ${counted.length} messages, ${count} in all`);
    }
    progress();
    await pause(ADD_UP_EVERY_MS, signal);
  }
}
