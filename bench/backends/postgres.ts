import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backend, BackendOptions } from './backend';
import { findProgram, freePort, startServer } from './server';

const USER = 'postgres';

/** PostgreSQL refuses to run as root, and then runs as the user that its package has made. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (what: string): number => Number(execFileSync('id', [what, USER], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** PostgreSQL with its default settings: commits are durable. */
export async function postgresBackend({ guard }: BackendOptions): Promise<Backend> {
  const user = serverUser();
  // That user may not be allowed into the repository's folder.
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-bench-'));
  guard.remove(folder);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = path.join(folder, 'data');
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  try {
    const initdb = findProgram('initdb') ?? 'initdb';
    execFileSync(initdb, ['-D', data, '-A', 'trust', '-U', USER, '--no-sync'], { ...user, cwd: folder, stdio: 'pipe' });
    const port = await freePort();
    const server = await startServer({
      ...{ folder, guard, user, port },
      program: findProgram('postgres') ?? 'postgres',
      args: ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      // Ends at once, with all its processes.
      end: 'SIGQUIT',
    });
    return {
      address: `postgres://${USER}@127.0.0.1:${String(port)}/postgres`,
      pids: [server.pid],
      calls: () => Promise.resolve({ transactions: transactions(port) }),
      async stop() {
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** All transactions so far. Each question is one, too. */
function transactions(port: number): number {
  const psql = findProgram('psql') ?? 'psql';
  const sql = 'select sum(xact_commit + xact_rollback) from pg_stat_database';
  const args = ['-h', '127.0.0.1', '-p', String(port), '-U', USER, '-At', '-c', sql, 'postgres'];
  return Number(execFileSync(psql, args, { encoding: 'utf8', cwd: tmpdir() }));
}
