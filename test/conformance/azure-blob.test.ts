import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll } from 'vitest';
import type { LeaseBreaking, LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, connectionStringOf, startAzurite } from '../support/azurite';
import { writeRowElsewhere } from './elsewhere';
import { HTTP_FAILURES, remoteStoreConformance } from './remote';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

let azurite: Azurite;
let containers = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

function freshName(): string {
  containers += 1;
  return `conformance-${containers}`;
}

function connect(containerName: string, connectionString = azurite.connectionString): ContainerClient {
  return connectContainer({ CRONLEASE_STORAGE: connectionString }, containerName);
}

async function openHarness(): Promise<BreakingHarness> {
  const containerName = freshName();
  const open = (options?: { readonly pageSize?: number }): LeaseStore & LeaseBreaking =>
    azureBlobStore({ container: connect(containerName), clock: systemClock, pagesAtOnce: 8, ...options });
  await open().prepare();
  return {
    open,
    writeRowElsewhere: (job, metadata, guard) =>
      writeRowElsewhere({ connectionString: azurite.connectionString, containerName, job, metadata, guard }),
    breakLease: async (job, periodMs) => {
      await connect(containerName)
        .getBlobClient(`jobs/${job}/lease`)
        .getBlobLeaseClient()
        .breakLease(periodMs / 1000);
    },
    pass: (ms) => setTimeout(ms),
    now: () => Date.now(),
    close: async () => {
      await connect(containerName).delete();
    },
  };
}

leaseStoreConformance('azure-blob', openHarness);
brokenLeaseConformance('azure-blob', openHarness);

remoteStoreConformance('azure-blob', HTTP_FAILURES, async () => {
  const servers: Server[] = [];
  const openAt = (port: number, callTimeoutMs = 10_000): LeaseStore =>
    azureBlobStore({
      container: connect(freshName(), connectionStringOf(port, 'a2V5')),
      clock: systemClock,
      callTimeoutMs,
    });
  const serve = async (answer: RequestListener): Promise<number> => {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  return {
    stopped: async () => {
      const other = await startAzurite();
      const store = azureBlobStore({ container: connect(freshName(), other.connectionString), clock: systemClock });
      await store.prepare();
      await other.stop();
      return store;
    },
    silent: async () => openAt(await serve(() => {}), 300),
    answering: async (status) => openAt(await serve((_request, response) => response.writeHead(Number(status)).end())),
    cutting: async () =>
      openAt(
        await serve((_request, response) => {
          response.writeHead(200, { 'content-length': '1000' });
          response.write('<?xml', () => response.destroy());
        }),
      ),
    missing: async () => azureBlobStore({ container: connect(freshName()), clock: systemClock }),
    denied: async () => openAt(azurite.port),
    close: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
});
