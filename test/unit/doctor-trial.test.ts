import { type IncomingMessage, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ETag } from '../../src/core/brand';
import type { Trial } from '../../src/lease/trial';
import { tryRows } from '../../src/stores/adapter';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobTrial } from '../../src/stores/azure-blob/trial';
import { systemClock } from '../../src/system-clock';
import { ACCOUNT_KEY, connectionStringOf } from '../support/azurite';

const ID = 'aaaaaaaa-0000-4000-8000-000000000000';
/** Where it is not 201. */
const STATUS: Readonly<Record<string, number>> = { 'PUT metadata': 200, 'PUT release': 200, DELETE: 202 };
const EMPTY = '<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>';

/** A blob service as far as a trial sees it, with what the emulator does not have: versions, roles, another time. */
interface Service {
  versioned: boolean;
  /** What is refused: `PUT`, `PUT lease`, … */
  denied: readonly string[];
  aheadMs: number;
  readonly calls: string[];
}
const service: Service = { versioned: false, denied: [], aheadMs: 0, calls: [] };
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});
beforeEach(() => {
  Object.assign(service, { versioned: false, denied: [], aheadMs: 0 });
  service.calls.length = 0;
});

function callOf({ method = '', url = '', headers }: IncomingMessage): string {
  const comp = new URL(url, 'http://host').searchParams.get('comp') ?? '';
  return [method, headers['x-ms-lease-action'] ?? comp].filter(Boolean).join(' ');
}

async function tryOut(): Promise<Trial> {
  const server = createServer((request, response) => {
    const call = callOf(request);
    service.calls.push(call);
    response.sendDate = false;
    response.setHeader('Date', new Date(Date.now() + service.aheadMs).toUTCString());
    request.resume();
    if (service.denied.includes(call)) {
      response.writeHead(403, { 'x-ms-error-code': 'AuthorizationPermissionMismatch' }).end();
    } else if (call === 'GET list') {
      response.writeHead(200, { 'content-type': 'application/xml' }).end(EMPTY);
    } else if (request.method === 'GET') {
      response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    } else {
      if (service.versioned) response.setHeader('x-ms-version-id', '2026-11-21T17:40:00.0000000Z');
      response.setHeader('x-ms-lease-id', ID);
      response.writeHead(STATUS[call] ?? 201, { etag: '"0x1"' }).end();
    }
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const container = connectContainer({ CRONLEASE_STORAGE: connectionStringOf(port, ACCOUNT_KEY) });
  const trial = await azureBlobTrial({ container, clock: systemClock, callTimeoutMs: 10_000, id: ID });
  server.closeAllConnections();
  return trial;
}

describe('trying out what may be done in storage', () => {
  const ALL = ['GET list', 'GET', 'PUT', 'PUT acquire', 'PUT metadata', 'PUT release', 'DELETE'];

  it('does once what coordination does', async () => {
    const trial = await tryOut();
    expect(service.calls).toEqual(ALL);
    expect(trial).toMatchObject({
      container: 'there',
      failures: new Map(),
      untried: [],
      versioned: false,
      left: undefined,
    });
    expect(Math.abs(trial.skewMs ?? Infinity)).toBeLessThan(20_000);
  });

  it('sees that writes keep versions', async () => {
    service.versioned = true;
    expect(await tryOut()).toMatchObject({ versioned: true });
  });

  it('tells how far the clocks are apart', async () => {
    service.aheadMs = 300_000;
    const { skewMs = 0 } = await tryOut();
    expect(skewMs).toBeGreaterThan(-320_000);
    expect(skewMs).toBeLessThan(-280_000);
  });

  it.each<[string, readonly string[], readonly string[], string | undefined]>([
    ['GET list', ['list'], [], undefined],
    ['GET', ['read'], [], undefined],
    ['PUT', ['create'], ['lease', 'write', 'release', 'delete'], undefined],
    ['PUT acquire', ['lease'], ['write', 'release'], undefined],
    ['PUT metadata', ['write'], [], undefined],
    ['DELETE', ['delete'], [], `doctor/${ID}`],
  ])('goes on as far as it can where %s is denied', async (denied, failures, untried, left) => {
    service.denied = [denied];
    const trial = await tryOut();
    expect([...trial.failures.keys()]).toEqual(failures);
    expect([...trial.failures.values()].map(({ code }) => code)).toEqual(['StoreDenied']);
    expect(trial).toMatchObject({ untried, left });
  });
});

it('tries no lease on a row that is hidden from its reader', async () => {
  const calls: string[] = [];
  const call =
    <T>(answer: T) =>
    async ({ kind }: { readonly kind: string }): Promise<T> => {
      calls.push(kind);
      return answer;
    };
  const trial = await tryRows({
    clock: systemClock,
    look: call({ isThere: true, date: Date.now(), cutMs: 0 }),
    rows: {
      create: call('"1"' as ETag),
      read: call(undefined),
      acquire: call(undefined),
      write: call(undefined),
      release: call(false),
    },
    remove: call(true),
    name: `doctor-${ID}`,
    id: ID,
  });
  expect(calls).toEqual(['listing', 'read', 'write', 'read', 'delete']);
  expect(trial.untried).toEqual(['lease', 'write', 'release']);
});
