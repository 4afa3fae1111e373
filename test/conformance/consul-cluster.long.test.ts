import { describe } from 'vitest';
import { startStorageServer } from '../../src/local/servers/servers';
import { freePort, type StorageServer } from '../../src/local/servers/server';
import { canStart, clientAt, storeAt } from '../support/consul';
import { clusterCases } from './cluster-cases';

async function startThree(): Promise<readonly StorageServer[]> {
  const ports = await Promise.all([0, 1, 2].map(async () => ({ gossip: await freePort(), raft: await freePort() })));
  const joins = ports.map(({ gossip }) => ['retry-join', `127.0.0.1:${String(gossip)}`]);
  return Promise.all(
    ports.map(({ gossip, raft }, index) =>
      startStorageServer('consul', {
        untilReady: false,
        settings: [
          ['bootstrap-expect', '3'],
          ['node', `s${String(index)}`],
          ['retry-interval', '1s'],
          ...joins,
          ['serf-lan-port', String(gossip)],
          ['server-port', String(raft)],
        ],
      }),
    ),
  );
}

async function isLeader({ url }: StorageServer): Promise<boolean> {
  const self = (await clientAt(url).call('GET', 'agent/self')) as {
    readonly Stats?: { readonly consul?: { readonly leader?: string } };
  };
  return self.Stats?.consul?.leader === 'true';
}

describe.runIf(canStart('a cluster of three servers of Consul'))('a cluster of three servers of Consul', () => {
  clusterCases({
    start: startThree,
    isLeader,
    open: (hosts, callTimeoutMs) => storeAt({ url: `consul://${hosts}`, container: 'cluster', callTimeoutMs }),
  });
});
