import type { Millis } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseBreaking, LeaseStore, Retention } from '../../src/lease/store';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { databaseOf } from '../../src/stores/postgres/settings';
import { postgres } from '../../src/stores/postgres/store';
import { systemClock } from '../../src/system-clock';

/** A server for one test file. It forgets what a crash of the machine would lose, which is not a test's subject. */
export function testPostgres(): Promise<StorageServer> {
  return startStorageServer('postgres', {
    settings: [
      ['fsync', 'off'],
      ['max_connections', '300'],
      ['log_min_messages', 'fatal'],
    ],
  });
}

export interface StoreAt {
  readonly url: string;
  readonly schema: string;
  readonly callTimeoutMs?: Millis;
  readonly onOutcome?: (outcome: CallOutcome) => void;
}

export function storeAt({
  url,
  schema,
  callTimeoutMs = 10_000,
  ...options
}: StoreAt): LeaseStore & LeaseBreaking & Retention {
  return postgres({ ...options, container: schema, server: databaseOf(url), clock: systemClock, callTimeoutMs }).store;
}

/** The URL of a server that listens there. */
export function urlAt(port: number): string {
  return `postgres://postgres@127.0.0.1:${String(port)}/postgres`;
}

/** A message of the protocol from the server: a letter, its length, its content. */
export function message(type: string, content: Buffer | string = ''): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** The server's answer to a start, by which the client is let in. */
export const WELCOME = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', 'I')]);

/** The server's answer to a statement that failed. */
export function refusal(state: string): Buffer {
  const fields = ['SERROR', 'VERROR', `C${state}`, 'Mplanned by a test', ''].join('\0');
  return Buffer.concat([message('E', `${fields}\0`), message('Z', 'I')]);
}
