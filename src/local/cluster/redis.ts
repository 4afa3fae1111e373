import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Exit } from './child';
import { ClusterError } from './cluster-error';
import type { Guard } from './guard';
import { findProgram, freePort, startServer } from './server';

/** Redis on loopback, with its files in a folder of its own. It writes each change to them before it answers. */
export interface Redis {
  /** `redis://…`, without a password: only this machine can connect. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Ends the server, by default at once, and removes its files unless a folder was named for them. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface RedisOptions {
  /** Folder in which the data are kept; undefined: a temporary one. */
  readonly data?: string | undefined;
  /** Undefined: any free one. */
  readonly port?: number | undefined;
  /** Further settings of the server: a name and its value, such as `['appendfsync', 'everysec']`. */
  readonly settings?: readonly (readonly [name: string, ...values: string[]])[];
  readonly guard?: Guard | undefined;
}

/**
 * Starts the Redis or Valkey that is installed.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startRedis({ data, port, settings = [], guard }: RedisOptions = {}): Promise<Redis> {
  const program = findProgram('redis-server') ?? findProgram('valkey-server');
  if (program === undefined) {
    throw new ClusterError(
      'Redis is not installed here. Install it, on Debian with "apt-get install redis-server", or pass ' +
        '--storage redis://USER:PASSWORD@HOST to use a server that runs.',
    );
  }
  const folder = data ?? mkdtempSync(path.join(tmpdir(), 'cronlease-redis-'));
  if (data === undefined) guard?.remove(folder);
  const remove = (): void => {
    if (data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const files = path.join(folder, 'redis');
    mkdirSync(files, { recursive: true });
    const at = port ?? (await freePort());
    const all = [
      ...[
        ['port', String(at)],
        ['bind', '127.0.0.1'],
        ['dir', files],
        ['save', ''],
        ['daemonize', 'no'],
      ],
      ...[
        ['appendonly', 'yes'],
        ['appendfsync', 'always'],
        ['maxmemory-policy', 'noeviction'],
      ],
      ...settings,
    ];
    const server = await startServer({
      ...{ folder, guard, program, port: at },
      args: all.flatMap(([name, ...values]) => [`--${name ?? ''}`, ...values]),
    });
    return {
      ...server,
      url: `redis://127.0.0.1:${String(at)}`,
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
