import net from 'node:net';
import type { Millis } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseBreaking, LeaseStore, Retention } from '../../src/lease/store';
import type { StorageServer, StorageServerOptions } from '../../src/local/servers/server';
import { startStorageServer } from '../../src/local/servers/servers';
import { openLine, type Session } from '../../src/stores/zookeeper/session';
import { ensembleOf } from '../../src/stores/http/url';
import { zooKeeper } from '../../src/stores/zookeeper/store';
import { systemClock } from '../../src/system-clock';

/** A server for one test file. It does not wait for its disk, which is not a test's subject unless it says so. */
export function testZooKeeper(...settings: NonNullable<StorageServerOptions['settings']>): Promise<StorageServer> {
  return startStorageServer('zookeeper', { settings: [['forceSync', 'no'], ...settings] });
}

export interface StoreAt {
  readonly url: string;
  readonly container: string;
  readonly callTimeoutMs?: Millis;
  readonly onOutcome?: (outcome: CallOutcome) => void;
}

export function storeAt({ url, callTimeoutMs = 10_000, ...options }: StoreAt): LeaseStore & LeaseBreaking & Retention {
  return zooKeeper({ ...options, server: ensembleOf(url), clock: systemClock, callTimeoutMs }).store;
}

/** A session of the tests' own. */
export async function sessionAt(url: string): Promise<Session & { end(): void; readonly ended: Promise<void> }> {
  const ensemble = ensembleOf(url);
  const [address] = ensemble.members;
  if (address === undefined) throw new Error('no server');
  const line = openLine(ensemble, address);
  await line.ready;
  line.keepProcess(false);
  return { ...line.session, ended: line.ended, end: () => line.end(new Error('the test is over')) };
}

/** `leader`, `follower` or `standalone`; undefined: the server serves no one. */
export function modeOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write('srvr'));
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('data', (data) => (text += data.toString())).on('error', () => socket.destroy());
    socket.once('close', () => resolve(/^Mode: (\w+)$/m.exec(text)?.[1]));
  });
}
