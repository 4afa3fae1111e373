import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Exit } from './child';
import { ClusterError } from './cluster-error';
import type { Guard } from './guard';
import { findProgram, freePort, type Server, startServer } from './server';

/** The database's superuser, and on Debian also the user of the machine that its package has made. */
const USER = 'postgres';
const READY_WITHIN_MS = 30_000;
const POLL_MS = 50;

/** PostgreSQL on loopback, with its data in a folder of its own and its default settings: commits are durable. */
export interface Postgres {
  /** `postgres://…`, without a password: only this machine can connect. */
  readonly url: string;
  readonly port: number;
  /** Of its first process. */
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /**
   * Ends the server, and removes its data unless a folder was named for them. Default: at once, with all its processes
   * and without a checkpoint, from which it recovers at its next start.
   */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface PostgresOptions {
  /** Folder in which the data are kept; undefined: a temporary one. */
  readonly data?: string | undefined;
  /** Undefined: any free one. */
  readonly port?: number | undefined;
  /** Further settings of the server, such as `fsync=off`. */
  readonly settings?: readonly string[];
  readonly guard?: Guard | undefined;
}

/** PostgreSQL refuses to run as root, and then runs as the user that its package has made. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (what: string): number => Number(execFileSync('id', [what, USER], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Starts the newest PostgreSQL that is installed.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startPostgres({ data, port, settings = [], guard }: PostgresOptions = {}): Promise<Postgres> {
  const initdb = findProgram('initdb');
  const program = findProgram('postgres');
  if (initdb === undefined || program === undefined) {
    throw new ClusterError(
      'PostgreSQL is not installed here. Install it, on Debian with "apt-get install postgresql", or pass ' +
        '--storage postgres://USER:PASSWORD@HOST/DATABASE to use a server that runs.',
    );
  }
  const user = serverUser();
  const folder = data ?? mkdtempSync(path.join(tmpdir(), 'cronlease-postgres-'));
  if (data === undefined) guard?.remove(folder);
  const remove = (): void => {
    if (data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    mkdirSync(folder, { recursive: true });
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const files = path.join(folder, 'postgres');
    if (!existsSync(path.join(files, 'PG_VERSION'))) makeFiles(initdb, files, { ...user, cwd: folder });
    const at = port ?? (await freePort());
    const server = await startServer({
      ...{ folder, guard, user, program, port: at },
      args: [
        ...['-D', files, '-p', String(at), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...settings.flatMap((setting) => ['-c', setting]),
      ],
      end: 'SIGQUIT',
    });
    // It accepts connections, and refuses them, while it recovers.
    await ready(at, server);
    return {
      ...server,
      url: `postgres://${USER}@127.0.0.1:${String(at)}/postgres`,
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

async function ready(port: number, { exited, stop }: Server): Promise<void> {
  const program = findProgram('pg_isready') ?? 'pg_isready';
  const args = ['-q', '-h', '127.0.0.1', '-p', String(port)];
  let ended = false;
  void exited.then(() => (ended = true));
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const { status } = spawnSync(program, args, { cwd: tmpdir() });
    if (status === 0) return;
    if (ended || performance.now() > deadline) {
      await stop();
      throw new ClusterError(`PostgreSQL on port ${String(port)} does not become ready.`);
    }
    await pause(POLL_MS);
  }
}

function makeFiles(initdb: string, files: string, as: { readonly uid?: number; readonly cwd: string }): void {
  const args = ['-D', files, '-A', 'trust', '-U', USER, '-E', 'UTF8', '--locale=C', '--no-sync'];
  try {
    execFileSync(initdb, args, { ...as, stdio: 'pipe', encoding: 'utf8' });
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new ClusterError(`PostgreSQL could not make its files in ${files}: ${said}`);
  }
}
