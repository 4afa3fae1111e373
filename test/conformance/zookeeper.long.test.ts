import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { type Field, frameOf, framesTo, NO_VERSION } from '../../src/stores/zookeeper/protocol';
import { listen } from '../support/listen';
import { sessionAt, storeAt, testZooKeeper } from '../support/zookeeper';
import { writeRowElsewhere } from './elsewhere';
import { remoteStoreConformance } from './remote';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

let server: StorageServer;
let containers = 0;
beforeAll(async () => {
  server = await testZooKeeper();
}, 120_000);
afterAll(() => server.stop());

function freshName(): string {
  containers += 1;
  return `conformance-${String(containers)}`;
}

/** Breaks a lease as the adapter writes it. Server and test have one clock. */
async function breakOutside(container: string, job: string, periodMs: number): Promise<void> {
  // The server ends a session that is silent for long.
  const session = await sessionAt(server.url);
  try {
    const path = `/${container}/jobs/${job}/lease`;
    const node = await session.get(path);
    const lease = JSON.parse(node?.data.toString() ?? '{}') as { readonly id?: string; readonly ms: number };
    if (node === undefined || lease.id === undefined) return;
    const brokenUntil = Math.min(node.stat.writtenMs + lease.ms, Date.now() + periodMs);
    const data = Buffer.from(JSON.stringify({ ...lease, brokenUntil }));
    await session.multi([{ kind: 'set', path, data, version: NO_VERSION }]);
  } finally {
    session.end();
  }
}

async function openHarness(): Promise<BreakingHarness> {
  const container = freshName();
  const { url } = server;
  const open: BreakingHarness['open'] = () => storeAt({ url, container });
  await open().prepare();
  return {
    open,
    writeRowElsewhere: (job, metadata, guard) =>
      writeRowElsewhere({ connectionString: url, containerName: container, job, metadata, guard }),
    breakLease: (job, periodMs) => breakOutside(container, job, periodMs),
    pass: (ms) => setTimeout(ms),
    now: () => Date.now(),
    close: () => Promise.resolve(),
  };
}

leaseStoreConformance('zookeeper', openHarness);
brokenLeaseConformance('zookeeper', openHarness);

/** Too much to do, no quorum, a quota, a session at another server, a fault. */
const FAILURES = { THROTTLEDOP: -127, NOTREADONLY: -119, QUOTAEXCEEDED: -125, SESSIONMOVED: -118, SYSTEMERROR: -1 };

/** Grants each connection a session, and answers each request with `answer`. */
function granting(answer: (id: number, socket: Socket) => readonly Field[] | undefined) {
  return (socket: Socket): void => {
    let isGranted = false;
    const onFrame = (frame: Buffer): void => {
      if (isGranted) {
        const fields = answer(frame.readInt32BE(), socket);
        if (fields !== undefined) socket.write(frameOf(fields));
        return;
      }
      isGranted = true;
      socket.write(frameOf([{ int: 0 }, { int: 30_000 }, { long: 1n }, { bytes: Buffer.alloc(16) }, { flag: false }]));
    };
    socket.on('data', framesTo(onFrame));
  };
}

remoteStoreConformance('zookeeper', Object.keys(FAILURES), async () => {
  const closes: (() => void)[] = [];
  const at = async (...[onConnection, callTimeoutMs]: [Parameters<typeof listen>[0], number?]) => {
    const { port, close } = await listen(onConnection);
    closes.push(close);
    const url = `zk://127.0.0.1:${String(port)}`;
    return storeAt({ url, container: freshName(), ...(callTimeoutMs !== undefined && { callTimeoutMs }) });
  };
  return {
    stopped: async () => {
      const other = await testZooKeeper();
      const store = storeAt({ url: other.url, container: freshName() });
      await store.prepare();
      await other.stop();
      return store;
    },
    silent: () => at(() => undefined, 300),
    answering: (name) => {
      const int = new Map(Object.entries(FAILURES)).get(name) ?? 0;
      return at(granting((id) => [{ int: id }, { long: 0n }, { int }]));
    },
    cutting: () =>
      at(
        granting((id, socket) => {
          // The beginning of an answer.
          socket.end(frameOf([{ int: id }, { long: 0n }, { int: 0 }]).subarray(0, 9));
          return undefined;
        }),
      ),
    missing: async () => storeAt({ url: server.url, container: freshName() }),
    denied: async () => {
      const container = freshName();
      await storeAt({ url: server.url.replace('//', '//owner:right@'), container }).prepare();
      return storeAt({ url: server.url.replace('//', '//owner:wrong@'), container });
    },
    close: () => {
      for (const close of closes) close();
      return Promise.resolve();
    },
  };
});
