import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ClusterError } from '../cluster/child';
import { answers, findProgram, freePort, startServer, type StorageServer, type StorageServerOptions } from './server';

export type ServerName = 'postgres' | 'redis' | 'zookeeper' | 'etcd' | 'consul';
export type ServerTitle = 'PostgreSQL' | 'Redis' | 'ZooKeeper' | 'etcd' | 'Consul';

/** The place of a server, and what its starter asks for. */
interface Place {
  /** It exists. */
  readonly folder: string;
  /** Within the folder; it may not exist. */
  readonly files: string;
  readonly port: number;
  readonly settings: readonly (readonly string[])[];
  readonly id: number | undefined;
}

/** A server that writes each change to its files before it answers. */
interface KindOfServer {
  readonly title: ServerTitle;
  /** Its program, by the first of these names that is installed. */
  readonly programs: readonly string[];
  /** Whether all else that it needs is installed. */
  readonly isComplete?: () => boolean;
  readonly install: string;
  /** The storage to pass if it is not installed. */
  readonly instead: string;
  /** The arguments of its program, whose files are written before. */
  readonly prepare: (at: Place) => readonly string[] | Promise<readonly string[]>;
  /** Whether it serves its clients, if it accepts connections before it does. */
  readonly isReady?: (port: number) => boolean | Promise<boolean>;
  readonly url: (port: number) => string;
  readonly user?: typeof serverUser;
  /** The signal at which it writes everything and ends. */
  readonly end: NodeJS.Signals;
  /** The signal that ends it and all its processes at once. Default: SIGKILL. */
  readonly kill?: NodeJS.Signals;
}

/** The database superuser; on Debian also the OS user created by the package. */
const POSTGRES_USER = 'postgres';
/** Where Debian puts the classes of ZooKeeper. The file names those that they need. */
const ZOOKEEPER_CLASSES = '/usr/share/java/zookeeper.jar';
/** A small server that starts fast. Beside its nodes it keeps the last transactions in memory, by default 500. */
const JVM = ['-Xmx256m', '-Xss512k', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.commitLogCount=100'];

/** The servers beside Azurite that `cronlease dev` can start, by the word that `--storage` takes. */
export const SERVERS: Readonly<Record<ServerName, KindOfServer>> = {
  postgres: {
    title: 'PostgreSQL',
    programs: ['postgres'],
    isComplete: () => findProgram('initdb') !== undefined,
    install: 'on Debian with "apt-get install postgresql"',
    instead: 'postgres://USER:PASSWORD@HOST/DATABASE to use a server that runs',
    prepare({ folder, files, port, settings }) {
      makeDatabase(folder, files);
      const all = [['listen_addresses', '127.0.0.1'], ['unix_socket_directories', ''], ...settings];
      return ['-D', files, '-p', String(port), ...all.flatMap((setting) => ['-c', setting.join('=')])];
    },
    // While recovering, it accepts connections only to refuse them.
    isReady(port) {
      const args = ['-q', '-h', '127.0.0.1', '-p', String(port)];
      return spawnSync(findProgram('pg_isready') ?? 'pg_isready', args, { cwd: tmpdir() }).status === 0;
    },
    url: (port) => `postgres://${POSTGRES_USER}@127.0.0.1:${String(port)}/postgres`,
    user: serverUser,
    // A fast shutdown, which waits for no session.
    end: 'SIGINT',
    // It stops without a checkpoint, and recovers at its next start.
    kill: 'SIGQUIT',
  },
  redis: {
    title: 'Redis',
    programs: ['redis-server', 'valkey-server'],
    install: 'on Debian with "apt-get install redis-server"',
    instead: 'redis://USER:PASSWORD@HOST to use a server that runs',
    prepare({ files, port, settings }) {
      mkdirSync(files, { recursive: true });
      const all = [
        ['port', String(port)],
        ['bind', '127.0.0.1'],
        ['dir', files],
        ['save', ''],
        ['daemonize', 'no'],
        ['appendonly', 'yes'],
        ['appendfsync', 'always'],
        ['maxmemory-policy', 'noeviction'],
        ...settings,
      ];
      return all.flatMap(([name, ...values]) => [`--${name ?? ''}`, ...values]);
    },
    url: (port) => `redis://127.0.0.1:${String(port)}`,
    end: 'SIGTERM',
  },
  zookeeper: {
    title: 'ZooKeeper',
    programs: ['java'],
    isComplete: () => existsSync(ZOOKEEPER_CLASSES),
    install: 'on Debian with "apt-get install zookeeper default-jre-headless"',
    instead: 'zk://USER:PASSWORD@HOST to use servers that run',
    prepare({ folder, files, port, settings, id }) {
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
      writeFileSync(file, all.map((setting) => `${setting.join('=')}\n`).join(''));
      return [...JVM, '-cp', ZOOKEEPER_CLASSES, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', file];
    },
    // In an ensemble it serves no client without a leader.
    isReady: async (port) => (await zooKeeperState(port)).includes('Mode:'),
    url: (port) => `zk://127.0.0.1:${String(port)}`,
    end: 'SIGTERM',
  },
  etcd: {
    title: 'etcd',
    programs: ['etcd'],
    install: 'on Debian with "apt-get install etcd-server"',
    instead: 'etcd://USER:PASSWORD@HOST:2379 to use a cluster that runs',
    async prepare({ files, port, settings }) {
      const url = `http://127.0.0.1:${String(port)}`;
      const peer = `http://127.0.0.1:${String(await freePort())}`;
      const all = new Map([
        ['name', 'cronlease'],
        ['data-dir', files],
        ['listen-client-urls', url],
        ['advertise-client-urls', url],
        ['listen-peer-urls', peer],
        ['initial-advertise-peer-urls', peer],
        ['initial-cluster', `cronlease=${peer}`],
        ['auto-compaction-retention', '1h'],
        ['logger', 'zap'],
        ['log-level', 'error'],
        ...settings.map(([name = '', value = '']) => [name, value] as const),
      ]);
      return Array.from(all, ([name, value]) => `--${name}=${value}`);
    },
    // It has no leader at first.
    isReady: (port) => answers(port, '/health', 200),
    url: (port) => `etcd://127.0.0.1:${String(port)}`,
    end: 'SIGTERM',
  },
  consul: {
    title: 'Consul',
    programs: ['consul'],
    install: 'as https://developer.hashicorp.com/consul/install says',
    instead: 'consul://:TOKEN@HOST:8500 to use agents that run',
    async prepare({ files, port, settings }) {
      const [server, serf] = [await freePort(), await freePort()];
      return [
        'agent',
        '-server',
        '-node=cronlease',
        '-bind=127.0.0.1',
        '-client=127.0.0.1',
        '-disable-host-node-id',
        `-data-dir=${files}`,
        `-http-port=${String(port)}`,
        `-server-port=${String(server)}`,
        `-serf-lan-port=${String(serf)}`,
        '-serf-wan-port=-1',
        '-dns-port=-1',
        '-grpc-port=-1',
        '-log-level=err',
        '-hcl=performance { raft_multiplier = 1 }',
        '-hcl=disable_update_check = true',
        ...(settings.length === 0 ? ['-bootstrap-expect=1'] : settings.map((setting) => `-${setting.join('=')}`)),
      ];
    },
    // A consistent read needs a leader that the others know, and so does its refusal.
    isReady: (port) => answers(port, '/v1/kv/none?consistent', 200, 403, 404),
    url: (port) => `consul://127.0.0.1:${String(port)}`,
    end: 'SIGTERM',
  },
};

export function isServer(name: string): name is ServerName {
  return Object.hasOwn(SERVERS, name);
}

/**
 * Starts a server that is installed here, as the only one of its cluster unless its settings differ. Its files lie in
 * the folder of its data, or in a temporary one, which is removed when it stops.
 *
 * @throws {@link ClusterError} if it is not installed, or does not start
 */
export async function startStorageServer(
  name: ServerName,
  { data, port: wanted, guard, settings = [], untilReady = true, id }: StorageServerOptions = {},
): Promise<StorageServer> {
  const { title, programs, isComplete, install, instead, prepare, isReady, url, user, kill } = SERVERS[name];
  const program = programs.map(findProgram).find((found) => found !== undefined);
  if (program === undefined || isComplete?.() === false) {
    throw new ClusterError(`${title} is not installed here. Install it, ${install}, or pass --storage ${instead}.`);
  }
  const folder = data ?? mkdtempSync(path.join(tmpdir(), `cronlease-${name}-`));
  if (data === undefined) guard?.remove(folder);
  const remove = (): void => {
    if (data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    mkdirSync(folder, { recursive: true });
    const port = wanted ?? (await freePort());
    const args = await prepare({ folder, files: path.join(folder, name), port, settings, id });
    const server = await startServer({
      folder,
      program,
      args,
      port,
      guard,
      user: user?.(),
      end: kill,
      isReady: untilReady ? isReady : undefined,
    });
    return {
      ...server,
      url: url(port),
      port,
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

/** PostgreSQL refuses to run as root, so it runs as the user created by its package. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (what: string): number => Number(execFileSync('id', [what, POSTGRES_USER], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function makeDatabase(folder: string, files: string): void {
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  if (existsSync(path.join(files, 'PG_VERSION'))) return;
  const args = ['-D', files, '-A', 'trust', '-U', POSTGRES_USER, '-E', 'UTF8', '--locale=C', '--no-sync'];
  try {
    execFileSync(findProgram('initdb') ?? 'initdb', args, { ...user, cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new ClusterError(`PostgreSQL could not make its files in ${files}: ${said}`);
  }
}

/** The answer to `srvr`, the one command that a server of ZooKeeper answers for every client in text. */
function zooKeeperState(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write('srvr'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('data', (data) => (text += data.toString())).on('error', () => socket.destroy());
    socket.once('close', () => resolve(text));
  });
}
