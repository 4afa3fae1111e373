import type { Backend, BackendOptions } from './backend';
import { findProgram, freePort, startServer } from '../../src/local/servers/server';

/** One member of etcd. */
export async function etcdBackend(options: BackendOptions): Promise<Backend> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [client, peer] = [port, peerPort].map((one) => `http://127.0.0.1:${String(one)}`) as [string, string];
  const server = await startServer({
    ...options,
    program: findProgram('etcd') ?? 'etcd',
    args: [
      ...['--name', 'bench', '--data-dir', options.folder],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `bench=${peer}`],
    ],
    port,
  });
  return {
    address: client,
    pids: [server.pid],
    calls: async () => ({ requests: requestsOf(await (await fetch(`${client}/metrics`)).text()) }),
    stop: server.stop,
  };
}

/** The requests and the messages of streams that etcd has received, from its metrics. */
export function requestsOf(metrics: string): number {
  const counts = [...metrics.matchAll(/^grpc_server_msg_received_total\{.*\} (\S+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
