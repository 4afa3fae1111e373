import { asInDev } from './as-in-dev';
import { azuriteBackend } from './azurite';
import { type Backend, type BackendName, type BackendOptions, NO_BACKEND } from './backend';
import { etcdBackend } from './etcd';
import { postgresBackend } from './postgres';
import { redisBackend } from './redis';
import { findProgram } from '../../src/local/servers/server';

interface Server {
  /** The program that has to be installed, and the Debian package that has it. */
  readonly program?: { readonly name: string; readonly debian: string };
  start(options: BackendOptions): Promise<Backend>;
}

export const backends: Readonly<Record<BackendName, Server>> = {
  none: { start: () => Promise.resolve(NO_BACKEND) },
  azurite: { start: azuriteBackend },
  redis: { program: { name: 'redis-server', debian: 'redis-server' }, start: redisBackend },
  etcd: { program: { name: 'etcd', debian: 'etcd-server' }, start: etcdBackend },
  postgres: { program: { name: 'initdb', debian: 'postgresql' }, start: postgresBackend },
  zookeeper: {
    program: { name: 'java', debian: 'zookeeper default-jre-headless' },
    start: asInDev('zookeeper'),
  },
  consul: { program: { name: 'consul', debian: 'consul' }, start: asInDev('consul') },
};

/** What keeps a server from being started here, and the remedy; undefined: nothing. */
export function missing(name: BackendName): string | undefined {
  const { program } = backends[name];
  if (program === undefined || findProgram(program.name) !== undefined) return undefined;
  return `${program.name} is not installed: apt-get install ${program.debian}`;
}
