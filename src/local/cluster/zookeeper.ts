import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Exit } from './child';
import { ClusterError } from './cluster-error';
import type { Guard } from './guard';
import { findProgram, freePort, startServer } from './server';

/** Where Debian puts the classes of ZooKeeper, and what they need. */
const CLASSES = '/usr/share/java/zookeeper.jar';
const MAIN = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';

/** ZooKeeper on loopback, with its files in a folder of its own. It writes each change to them before it answers. */
export interface ZooKeeper {
  /** `zk://…`, without a password: only this machine can connect. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Ends the server, by default at once, and removes its files unless a folder was named for them. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ZooKeeperOptions {
  /** Folder in which the data are kept; undefined: a temporary one. */
  readonly data?: string | undefined;
  /** Undefined: any free one. */
  readonly port?: number | undefined;
  /** Its number in an ensemble. */
  readonly id?: number;
  /** Further settings of the server: a name and its value, such as `['tickTime', '500']`. */
  readonly settings?: readonly (readonly [name: string, value: string])[];
  readonly guard?: Guard | undefined;
}

/**
 * Starts the ZooKeeper that is installed.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startZooKeeper({
  data,
  port,
  id,
  settings = [],
  guard,
}: ZooKeeperOptions = {}): Promise<ZooKeeper> {
  const program = findProgram('java');
  if (program === undefined || !existsSync(CLASSES)) {
    throw new ClusterError(
      'ZooKeeper is not installed here. Install it, on Debian with "apt-get install zookeeper default-jre-headless", ' +
        'or pass --storage zk://USER:PASSWORD@HOST to use servers that run.',
    );
  }
  const folder = data ?? mkdtempSync(path.join(tmpdir(), 'cronlease-zookeeper-'));
  if (data === undefined) guard?.remove(folder);
  const remove = (): void => {
    if (data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const at = port ?? (await freePort());
    const file = writeFiles(folder, at, id, settings);
    const server = await startServer({
      ...{ folder, guard, program, port: at },
      args: ['-Xmx128m', '-Xss512k', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', CLASSES, MAIN, file],
    });
    await serves(server, at);
    return {
      ...server,
      url: `zk://127.0.0.1:${String(at)}`,
      port: at,
      async stop(signal) {
        await server.stop(signal);
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

const SERVES_MS = 60_000;
const POLL_MS = 50;

/** It accepts connections before it serves anybody, and in an ensemble it serves nobody without a leader. */
async function serves({ exited, stop }: Pick<ZooKeeper, 'exited' | 'stop'>, port: number): Promise<void> {
  let isEnded = false;
  void exited.then(() => (isEnded = true));
  const deadline = performance.now() + SERVES_MS;
  while (!(await state(port)).includes('Mode:')) {
    if (isEnded) throw new ClusterError('ZooKeeper ended during its start.');
    if (performance.now() > deadline) {
      await stop();
      throw new ClusterError(`ZooKeeper serves nobody on port ${String(port)} after ${SERVES_MS / 1000} s.`);
    }
    await pause(POLL_MS);
  }
}

/** The answer to `srvr`, the one command that a server answers everybody in text. */
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
