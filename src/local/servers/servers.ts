import { startConsul } from './consul';
import { startEtcd } from './etcd';
import { startPostgres } from './postgres';
import { startRedis } from './redis';
import type { StorageServer, StorageServerOptions } from './server';
import { startZooKeeper } from './zookeeper';

export type ServerName = 'postgres' | 'redis' | 'zookeeper' | 'etcd' | 'consul';
export type ServerTitle = 'PostgreSQL' | 'Redis' | 'ZooKeeper' | 'etcd' | 'Consul';

interface KindOfServer {
  /** As people write it. */
  readonly title: ServerTitle;
  readonly start: (options: StorageServerOptions) => Promise<StorageServer>;
  /** The signal at which it writes everything and ends. */
  readonly end: NodeJS.Signals;
}

/** The servers beside Azurite that `cronlease dev` can start, by the word that `--storage` takes. */
export const SERVERS: Readonly<Record<ServerName, KindOfServer>> = {
  // A fast shutdown, which waits for no session.
  postgres: { title: 'PostgreSQL', start: startPostgres, end: 'SIGINT' },
  redis: { title: 'Redis', start: startRedis, end: 'SIGTERM' },
  zookeeper: { title: 'ZooKeeper', start: startZooKeeper, end: 'SIGTERM' },
  etcd: { title: 'etcd', start: startEtcd, end: 'SIGTERM' },
  consul: { title: 'Consul', start: startConsul, end: 'SIGTERM' },
};

export function isServer(name: string): name is ServerName {
  return Object.hasOwn(SERVERS, name);
}
