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

export interface ConsulOptions extends StorageServerOptions {
  /** Further arguments of the agent, such as `-hcl=…`. */
  readonly args?: readonly string[];
  /** Whether to resolve only once it can write, which the first servers of a cluster cannot. Default: true. */
  readonly untilReady?: boolean;
}

/**
 * Starts the Consul that is installed, as a cluster of one server unless the arguments say otherwise. It writes each
 * change to its files before it answers.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startConsul({
  args = [],
  untilReady = true,
  ...options
}: ConsulOptions = {}): Promise<StorageServer> {
  const program = findProgram('consul');
  if (program === undefined) {
    const how = 'as https://developer.hashicorp.com/consul/install says';
    throw notInstalled('Consul', how, 'consul://:TOKEN@HOST:8500 to use agents that run');
  }
  return startInFolder('consul', options, async (folder, port) => {
    const [server, serf] = [await freePort(), await freePort()];
    const all = [
      'agent',
      '-server',
      '-node=cronlease',
      '-bind=127.0.0.1',
      '-client=127.0.0.1',
      '-disable-host-node-id',
      `-data-dir=${path.join(folder, 'consul')}`,
      `-http-port=${String(port)}`,
      `-server-port=${String(server)}`,
      `-serf-lan-port=${String(serf)}`,
      '-serf-wan-port=-1',
      '-dns-port=-1',
      '-grpc-port=-1',
      '-log-level=err',
      '-hcl=performance { raft_multiplier = 1 }',
      '-hcl=disable_update_check = true',
      ...(args.length === 0 ? ['-bootstrap-expect=1'] : args),
    ];
    const started = await startServer({ folder, program, args: all, port, guard: options.guard });
    // It accepts connections before it has a leader. A consistent read needs one that the others know, and so does its
    // refusal.
    const hasLeader = () => answers(port, '/v1/kv/none?consistent', 200, 403, 404);
    if (untilReady) await waitUntilReady(started, `Consul on port ${String(port)}`, hasLeader);
    return { url: `consul://127.0.0.1:${String(port)}`, server: started };
  });
}
