import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {
  findProgram,
  notInstalled,
  startInFolder,
  startServer,
  type StorageServer,
  type StorageServerOptions,
  waitUntilReady,
} from './server';

/** Where Debian puts the classes of ZooKeeper. The file names those that they need. */
const CLASSES = '/usr/share/java/zookeeper.jar';
const MAIN = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';

export interface ZooKeeperOptions extends StorageServerOptions {
  /** Its number in an ensemble. */
  readonly id?: number;
  /** Further settings of the server: a name and its value, such as `['tickTime', '500']`. */
  readonly settings?: readonly (readonly [name: string, value: string])[];
}

/**
 * Starts the ZooKeeper that is installed. It writes each change to its files before it answers. One of an ensemble has
 * started once the ensemble has a leader.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startZooKeeper({ id, settings = [], ...options }: ZooKeeperOptions = {}): Promise<StorageServer> {
  const program = findProgram('java');
  if (program === undefined || !existsSync(CLASSES)) {
    const how = 'on Debian with "apt-get install zookeeper default-jre-headless"';
    throw notInstalled('ZooKeeper', how, 'zk://USER:PASSWORD@HOST to use servers that run');
  }
  return startInFolder('zookeeper', options, async (folder, port) => {
    const file = writeFiles(folder, port, id, settings);
    const args = [...JVM, '-cp', CLASSES, MAIN, file];
    const server = await startServer({ folder, program, args, port, guard: options.guard });
    // It accepts connections before it serves clients, and in an ensemble it serves none without a leader.
    await waitUntilReady(server, `ZooKeeper on port ${String(port)}`, async () =>
      (await state(port)).includes('Mode:'),
    );
    return { url: `zk://127.0.0.1:${String(port)}`, server };
  });
}

/** A small server that starts fast. Beside its nodes it keeps the last transactions in memory, by default 500. */
const JVM = ['-Xmx256m', '-Xss512k', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.commitLogCount=100'];

/** The answer to `srvr`, the one command that a server answers for every client in text. */
function state(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write('srvr'));
    const cancel = setTimeout(() => socket.destroy(), 1_000);
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(cancel);
      resolve(text);
    });
  });
}

function writeFiles(
  folder: string,
  port: number,
  id: number | undefined,
  settings: NonNullable<ZooKeeperOptions['settings']>,
): string {
  const files = path.join(folder, 'zookeeper');
  mkdirSync(files, { recursive: true });
  if (id !== undefined) writeFileSync(path.join(files, 'myid'), String(id));
  const all = [
    ['dataDir', files],
    ['clientPort', String(port)],
    ['clientPortAddress', '127.0.0.1'],
    ['admin.enableServer', 'false'],
    ['maxClientCnxns', '0'],
    ['tickTime', '2000'],
    ...settings,
  ];
  const file = path.join(folder, 'zoo.cfg');
  writeFileSync(file, all.map(([name = '', value = '']) => `${name}=${value}\n`).join(''));
  return file;
}
