import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { startStorageServer } from '../../src/local/servers/servers';
import { findProgram } from '../../src/local/servers/server';
import type { Backend, BackendOptions } from './backend';

/** PostgreSQL with its default settings: commits are durable. */
export async function postgresBackend({ guard }: BackendOptions): Promise<Backend> {
  const { url, pid, port, stop } = await startStorageServer('postgres', { guard });
  return {
    address: url,
    pids: [pid],
    calls: () => Promise.resolve({ transactions: transactions(port) }),
    stop: () => stop(),
  };
}

/** All transactions so far. Each question is one, too. */
function transactions(port: number): number {
  const psql = findProgram('psql') ?? 'psql';
  const sql = 'select sum(xact_commit + xact_rollback) from pg_stat_database';
  const args = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-At', '-c', sql, 'postgres'];
  return Number(execFileSync(psql, args, { encoding: 'utf8', cwd: tmpdir() }));
}
