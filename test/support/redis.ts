import { Redis as Client } from 'ioredis';
import type { Millis } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseBreaking, LeaseStore, Retention } from '../../src/lease/store';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer, StorageServerOptions } from '../../src/local/servers/server';
import { serverOf } from '../../src/stores/redis/settings';
import { redis } from '../../src/stores/redis/store';
import { systemClock } from '../../src/system-clock';

/** A server for one test file. It writes no files, which are not the subject of a test unless it says so. */
export function testRedis(...settings: NonNullable<StorageServerOptions['settings']>): Promise<StorageServer> {
  return startStorageServer('redis', { settings: [['appendonly', 'no'], ...settings] });
}

export interface StoreAt {
  readonly url: string;
  readonly container: string;
  readonly callTimeoutMs?: Millis;
  readonly onOutcome?: (outcome: CallOutcome) => void;
}

export function storeAt({ url, callTimeoutMs = 10_000, ...options }: StoreAt): LeaseStore & LeaseBreaking & Retention {
  return redis({ ...options, server: serverOf(url), clock: systemClock, callTimeoutMs }).store;
}

/** A client of the tests' own. It makes one attempt at each command. */
export function clientAt({ port }: Pick<StorageServer, 'port'>): Client {
  return new Client({ host: '127.0.0.1', port, retryStrategy: () => null, protocol: 2 });
}

/** The URL of a server that listens there. */
export function urlAt(port: number): string {
  return `redis://127.0.0.1:${String(port)}`;
}
