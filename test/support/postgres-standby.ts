import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serverUser, startStorageServer } from '../../src/local/servers/servers';
import { findProgram, type StorageServer } from '../../src/local/servers/server';

/** A standby that follows the server, with the files of a base backup. It has all that was committed before. */
export async function startStandby(primary: StorageServer): Promise<StorageServer> {
  const program = findProgram('pg_basebackup');
  if (program === undefined) throw new Error('pg_basebackup is not installed: apt-get install postgresql');
  const data = mkdtempSync(path.join(tmpdir(), 'cronlease-standby-'));
  const user = serverUser();
  chmodSync(data, 0o755);
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const args = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres', '-D', path.join(data, 'postgres')];
  execFileSync(program, [...args, '-R', '-c', 'fast', '-X', 'stream'], { ...user, cwd: data, stdio: 'pipe' });
  const settings = [
    ['fsync', 'off'],
    ['max_connections', '300'],
    ['log_min_messages', 'fatal'],
  ];
  const standby = await startStorageServer('postgres', { data, settings });
  return {
    ...standby,
    async stop(signal) {
      await standby.stop(signal);
      rmSync(data, { recursive: true, force: true });
    },
  };
}
