import path from 'node:path';
import {
  answers,
  findProgram,
  freePort,
  notInstalled,
  startInFolder,
  startServer,
  type StorageServer,
  type StorageServerOptions,
  waitUntilReady,
} from './server';

export interface EtcdOptions extends StorageServerOptions {
  /** Further settings of the server: a name and its value, such as `['heartbeat-interval', '50']`. */
  readonly settings?: readonly (readonly [name: string, value: string])[];
  /** Whether to resolve only once it can write, which the first members of a cluster cannot. Default: true. */
  readonly untilReady?: boolean;
}

/**
 * Starts the etcd that is installed, as a cluster of one unless the settings say otherwise. It writes each change to its
 * files before it answers.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startEtcd({
  settings = [],
  untilReady = true,
  ...options
}: EtcdOptions = {}): Promise<StorageServer> {
  const program = findProgram('etcd');
  if (program === undefined) {
    const how = 'on Debian with "apt-get install etcd-server"';
    throw notInstalled('etcd', how, 'etcd://USER:PASSWORD@HOST:2379 to use a cluster that runs');
  }
  return startInFolder('etcd', options, async (folder, port) => {
    const url = `http://127.0.0.1:${String(port)}`;
    const peer = `http://127.0.0.1:${String(await freePort())}`;
    const all = new Map([
      ['name', 'cronlease'],
      ['data-dir', path.join(folder, 'etcd')],
      ['listen-client-urls', url],
      ['advertise-client-urls', url],
      ['listen-peer-urls', peer],
      ['initial-advertise-peer-urls', peer],
      ['initial-cluster', `cronlease=${peer}`],
      ['auto-compaction-retention', '1h'],
      ['logger', 'zap'],
      ['log-level', 'error'],
      ...settings,
    ]);
    const args = [...all].map(([name, value]) => `--${name}=${value}`);
    const server = await startServer({ folder, program, args, port, guard: options.guard });
    // It accepts connections before it has a leader.
    if (untilReady) await waitUntilReady(server, `etcd on port ${String(port)}`, () => answers(port, '/health', 200));
    return { url: `etcd://127.0.0.1:${String(port)}`, server };
  });
}
