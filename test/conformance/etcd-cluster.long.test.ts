import { describe } from 'vitest';
import { startStorageServer } from '../../src/local/servers/servers';
import { freePort, type StorageServer } from '../../src/local/servers/server';
import { clientAt, storeAt } from '../support/etcd';
import { clusterCases } from './cluster-cases';

async function startThree(): Promise<readonly StorageServer[]> {
  const peers = await Promise.all([0, 1, 2].map(() => freePort()));
  const urls = peers.map((port) => `http://127.0.0.1:${String(port)}`);
  return Promise.all(
    urls.map((url, index) =>
      startStorageServer('etcd', {
        untilReady: false,
        settings: [
          ['name', `m${String(index)}`],
          ['listen-peer-urls', url],
          ['initial-advertise-peer-urls', url],
          ['initial-cluster', urls.map((peer, other) => `m${String(other)}=${peer}`).join(',')],
        ],
      }),
    ),
  );
}

async function isLeader(member: StorageServer): Promise<boolean> {
  const answer: object = await clientAt(member).call('maintenance/status', {});
  const { leader, header } = answer as { leader?: string; header?: { member_id?: string } };
  return leader !== undefined && leader === header?.member_id;
}

describe('a cluster of three members of etcd', () => {
  clusterCases({
    start: startThree,
    isLeader,
    open: (hosts, callTimeoutMs) => storeAt({ url: `etcd://${hosts}`, container: 'cluster', callTimeoutMs }),
  });
});
