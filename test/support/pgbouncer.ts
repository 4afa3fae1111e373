import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serverUser } from '../../src/local/servers/servers';
import { findProgram, freePort, startServer, type StorageServer } from '../../src/local/servers/server';

/** Fewer than the clients that the tests open: they must share the server's connections. */
const SERVER_CONNECTIONS = 3;

export interface PgBouncer {
  /** The database behind it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** PgBouncer in front of a server, with `pool_mode = transaction`. */
export async function startPgBouncer({ port: behind }: StorageServer): Promise<PgBouncer> {
  const program = findProgram('pgbouncer');
  if (program === undefined) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-pgbouncer-'));
  const port = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${String(behind)} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${String(port)}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${String(SERVER_CONNECTIONS)}
max_client_conn = 500
`,
  );
  // PgBouncer refuses to run as root, as PostgreSQL does.
  const user = serverUser();
  if (user !== undefined) for (const one of [folder, file]) chownSync(one, user.uid, user.gid);
  const server = await startServer({ program, args: [file], folder, user, port });
  return {
    url: `postgres://postgres@127.0.0.1:${String(port)}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
