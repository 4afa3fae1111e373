import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

export interface Azurite {
  readonly connectionString: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** The used part of Azurite, which has no types. */
interface BlobServer {
  readonly httpServer: { address(): AddressInfo | string | null; closeAllConnections(): void };
  start(): Promise<void>;
  close(): Promise<void>;
}
type Constructor<Args extends readonly unknown[], Instance> = new (...args: Args) => Instance;

/** The emulator's published account. */
export const ACCOUNT = 'devstoreaccount1';
export const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** By default the emulator closes idle connections after 5 s, just when a client may send its next request on one. */
const KEEP_ALIVE_S = 600;

/**
 * A blob emulator in this process, on loopback and a free port, in memory, without telemetry. Its import takes 1 s and
 * 120 MB, its start some 20 ms: use one for a test file, and a fresh container for each test.
 *
 * @param folder for its data in place of memory, so that it can be restarted
 */
export async function startAzurite(folder?: string): Promise<Azurite> {
  const server = makeServer(folder);
  await server.start();
  const address = server.httpServer.address();
  if (address === null || typeof address === 'string') throw new Error('Azurite listens on no port');
  const { port } = address;
  return {
    port,
    connectionString: connectionStringOf(port, ACCOUNT_KEY),
    async stop() {
      // Kept-alive connections of clients would delay the end.
      server.httpServer.closeAllConnections();
      await server.close();
    },
  };
}

export function connectionStringOf(port: number, accountKey: string): string {
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  return `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${accountKey};BlobEndpoint=${endpoint};`;
}

function makeServer(folder: string | undefined): BlobServer {
  const load = createRequire(__filename);
  const { default: Configuration } = load('azurite/dist/src/blob/BlobConfiguration.js') as {
    default: Constructor<readonly unknown[], object>;
  };
  const { default: Server } = load('azurite/dist/src/blob/BlobServer.js') as {
    default: Constructor<[object], BlobServer>;
  };
  const { MemoryExtentChunkStore } = load('azurite/dist/src/common/persistence/MemoryExtentStore.js') as {
    MemoryExtentChunkStore: Constructor<[], object>;
  };
  const unset = undefined;
  const inFolder = (name: string): string | undefined => (folder === undefined ? unset : path.join(folder, name));
  const extents = { locationId: 'Default', locationPath: inFolder('blobs'), maxConcurrency: 10 };
  const files = [inFolder('blobs.json'), inFolder('extents.json'), folder === undefined ? unset : [extents]];
  // host, port, keepAliveTimeout, two database paths, persistence, accessLog, accessLogStream, debugLog, debugLogPath,
  // loose, skipApiVersionCheck, cert, key, pwd, oauth, disableProductStyleUrl, isMemoryPersistence, memoryStore
  const basics = ['127.0.0.1', 0, KEEP_ALIVE_S, ...files, false, unset, false, unset, false, true];
  const memory = folder === undefined ? [true, new MemoryExtentChunkStore()] : [false, unset];
  return new Server(new Configuration(...basics, unset, unset, unset, unset, false, ...memory));
}
