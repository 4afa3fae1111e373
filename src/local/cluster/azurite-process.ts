/**
 * Entry of the Azurite process: only the blob service, on a free port of loopback. It ignores the signals that a
 * terminal sends to the whole process group, because the cluster stops it last, after all instances.
 */
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { FromAzurite, ToAzurite } from './messages';

/** The used part of Azurite's classes, which have no public types. */
interface BlobServer {
  readonly httpServer: { address(): AddressInfo | string | null };
  start(): Promise<void>;
  close(): Promise<void>;
}

let server: BlobServer | undefined;
let stopping = false;

function send(message: FromAzurite, sent?: () => void): void {
  process.send?.(message, undefined, undefined, () => sent?.());
}

function createServer({ azurite, data }: Extract<ToAzurite, { kind: 'start' }>): BlobServer {
  const require = createRequire(path.join(azurite, 'package.json'));
  const load = (file: string): unknown =>
    (require(path.join(azurite, 'dist/src/blob', file)) as { readonly default: unknown }).default;
  const Configuration = load('BlobConfiguration.js') as new (...args: unknown[]) => object;
  const Server = load('BlobServer.js') as new (configuration: object) => BlobServer;
  const folder = data ?? '.';
  const blobs = { locationId: 'Default', locationPath: path.join(folder, '__blobstorage__'), maxConcurrency: 50 };
  return new Server(
    new Configuration(
      '127.0.0.1',
      0, // any free port
      60, // keep-alive, in seconds: longer than the time between two ticks
      path.join(folder, '__azurite_db_blob__.json'),
      path.join(folder, '__azurite_db_blob_extent__.json'),
      [blobs],
      false, // no access log
      undefined,
      false, // no debug log
      undefined,
      false, // not loose: it refuses requests that Azure refuses
      true, // any API version, since the SDK may be newer than Azurite
      '',
      '',
      '',
      undefined,
      false,
      data === undefined, // in memory
    ),
  );
}

async function start(message: Extract<ToAzurite, { kind: 'start' }>): Promise<void> {
  try {
    server = createServer(message);
    await server.start();
    send({ kind: 'ready', port: (server.httpServer.address() as AddressInfo).port });
  } catch (error) {
    send({ kind: 'failed', message: `Azurite does not start: ${(error as Error).message}` }, () => process.exit(1));
  }
}

/** Closing writes what is still in memory to the data folder. */
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  const tooLong = setTimeout(() => process.exit(1), 3000);
  await server?.close();
  clearTimeout(tooLong);
  process.exit();
}

process.on('message', (message: ToAzurite) => void (message.kind === 'start' ? start(message) : stop()));
// The cluster has ended, perhaps by kill -9.
process.on('disconnect', () => void stop());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
