import { mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  findProgram,
  notInstalled,
  startInFolder,
  startServer,
  type StorageServer,
  type StorageServerOptions,
} from './server';

export interface RedisOptions extends StorageServerOptions {
  /** Further settings of the server: a name and its value, such as `['appendfsync', 'everysec']`. */
  readonly settings?: readonly (readonly [name: string, ...values: string[]])[];
}

/**
 * Starts the Redis or Valkey that is installed. It writes each change to its files before it answers.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startRedis({ settings = [], ...options }: RedisOptions = {}): Promise<StorageServer> {
  const program = findProgram('redis-server') ?? findProgram('valkey-server');
  if (program === undefined) {
    const how = 'on Debian with "apt-get install redis-server"';
    throw notInstalled('Redis', how, 'redis://USER:PASSWORD@HOST to use a server that runs');
  }
  return startInFolder('redis', options, async (folder, port) => {
    const files = path.join(folder, 'redis');
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
    const args = all.flatMap(([name, ...values]) => [`--${name ?? ''}`, ...values]);
    const server = await startServer({ folder, program, args, port, guard: options.guard });
    return { url: `redis://127.0.0.1:${String(port)}`, server };
  });
}
