import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ClusterError } from '../cluster/cluster-error';
import {
  findProgram,
  notInstalled,
  startInFolder,
  startServer,
  type StorageServer,
  type StorageServerOptions,
  waitUntilReady,
} from './server';

/** The database superuser; on Debian also the OS user created by the package. */
const USER = 'postgres';

export interface PostgresOptions extends StorageServerOptions {
  /** Further settings of the server, such as `fsync=off`. */
  readonly settings?: readonly string[];
}

/** PostgreSQL refuses to run as root, so it runs as the user created by its package. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (what: string): number => Number(execFileSync('id', [what, USER], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Starts the newest PostgreSQL that is installed, with its default settings: commits are durable. On SIGQUIT it
 * stops immediately, without a checkpoint, and recovers at its next start.
 *
 * @throws {@link ClusterError} if none is, or if it does not start
 */
export async function startPostgres({ settings = [], ...options }: PostgresOptions = {}): Promise<StorageServer> {
  const initdb = findProgram('initdb');
  const program = findProgram('postgres');
  if (initdb === undefined || program === undefined) {
    const how = 'on Debian with "apt-get install postgresql"';
    throw notInstalled('PostgreSQL', how, 'postgres://USER:PASSWORD@HOST/DATABASE to use a server that runs');
  }
  const user = serverUser();
  return startInFolder('postgres', options, async (folder, port) => {
    mkdirSync(folder, { recursive: true });
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const files = path.join(folder, 'postgres');
    if (!existsSync(path.join(files, 'PG_VERSION'))) makeFiles(initdb, files, { ...user, cwd: folder });
    const server = await startServer({
      folder,
      user,
      program,
      port,
      guard: options.guard,
      args: [
        '-D',
        files,
        '-p',
        String(port),
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        'unix_socket_directories=',
        ...settings.flatMap((setting) => ['-c', setting]),
      ],
      end: 'SIGQUIT',
    });
    // While recovering, it accepts connections only to refuse them.
    await waitUntilReady(server, `PostgreSQL on port ${String(port)}`, () => isReady(port));
    return { url: `postgres://${USER}@127.0.0.1:${String(port)}/postgres`, server };
  });
}

function isReady(port: number): boolean {
  const args = ['-q', '-h', '127.0.0.1', '-p', String(port)];
  return spawnSync(findProgram('pg_isready') ?? 'pg_isready', args, { cwd: tmpdir() }).status === 0;
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
