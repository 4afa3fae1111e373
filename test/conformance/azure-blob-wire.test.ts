import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import {
  AccountSASPermissions,
  ContainerClient,
  generateAccountSASQueryParameters,
  type RequestPolicyFactory,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ETag } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { ACCOUNT, ACCOUNT_KEY, type Azurite, connectionStringOf, startAzurite } from '../support/azurite';
import { CALLS } from './cases/calls';
import { createRow, JOB, jobName, LEASE_MS, newLeaseId } from './cases/support';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

function storeOf(container: ContainerClient): LeaseStore {
  return azureBlobStore({ container, clock: systemClock });
}

async function prepared(name: string): Promise<{ store: LeaseStore; container: ContainerClient }> {
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, name);
  const store = storeOf(container);
  await store.prepare();
  return { store, container };
}

describe('the calls that azure-blob makes', () => {
  it('are one for each operation, and one for each page', async () => {
    const sent: string[] = [];
    const counter: RequestPolicyFactory = {
      create: (next) => ({
        sendRequest: (request) => {
          sent.push(request.method);
          return next.sendRequest(request);
        },
      }),
    };
    const settings = { CRONLEASE_STORAGE: azurite.connectionString };
    const store = storeOf(connectContainer(settings, 'counted', { policies: [counter] }));
    const of = async (call: Promise<unknown>): Promise<readonly string[]> => {
      sent.length = 0;
      await call;
      return [...sent];
    };
    expect(await of(store.prepare())).toStrictEqual(['PUT']);
    expect(await of(store.createRow(JOB, { token: '0' }))).toStrictEqual(['PUT']);
    const ifMatch = (await store.readRow(JOB))?.etag ?? ('' as ETag);
    const leaseId = newLeaseId();
    // The four calls of an undisturbed run.
    expect(await of(store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch }))).toStrictEqual(['PUT']);
    expect(await of(store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch }))).toStrictEqual(['PUT']);
    expect(await of(store.createRecord(JOB, '1-s', { body: '{}', summary: { a: 'b' } }))).toStrictEqual(['PUT']);
    expect(await of(store.release(JOB, leaseId))).toStrictEqual(['PUT']);
    // Every other one, won or lost.
    for (const [method, call] of Object.entries(CALLS)) {
      expect(await of(call(store)), method).toHaveLength(1);
    }
    expect(await of(store.list())).toStrictEqual(['GET']);
    expect(await of(store.readRecord(JOB, '1-s'))).toStrictEqual(['GET']);
  });

  it('are made once also when the service fails', async () => {
    let requests = 0;
    const { port, close } = await serve((_request, response) => {
      requests += 1;
      response.writeHead(503).end();
    });
    await expect(openAt(port).list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect(requests).toBe(1);
    close();
  });

  it('share a connection that is kept alive', async () => {
    const { port, close, connections } = await serve((_request, response) => {
      response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    });
    for (let call = 0; call < 5; call += 1) expect(await openAt(port).readRow(JOB)).toBeUndefined();
    expect(connections()).toBe(1);
    close();
  });

  it('free their connection when they are given up', async () => {
    let answers = false;
    const { port, close } = await serve((_request, response) => {
      if (answers) response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    });
    const store = openAt(port);
    const stop = new AbortController();
    const given = Promise.allSettled(Array.from({ length: 40 }, () => store.readRow(JOB, { signal: stop.signal })));
    const waiting = store.readRow(JOB);
    answers = true;
    stop.abort();
    expect(new Set((await given).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await waiting).toBeUndefined();
    close();
  });

  it('put things where the protocol says, records as JSON', async () => {
    const { store, container } = await prepared('layout');
    await createRow(store);
    await store.writeControl(JOB, { by: 'ann' }, undefined);
    await store.createRecord(JOB, '8231526400000-s', { body: '{"a":1}', summary: { outcome: 'failed' } });
    const found: unknown[] = [];
    for await (const { name, properties, metadata } of container.listBlobsFlat({ includeMetadata: true })) {
      found.push([name, properties.contentLength, properties.contentType, metadata]);
    }
    expect(found).toMatchObject([
      [`jobs/${JOB}/control`, 0, expect.anything(), { by: 'ann' }],
      [`jobs/${JOB}/lease`, 0, expect.anything(), { token: '0' }],
      [`runs/${JOB}/8231526400000-s`, 7, 'application/json', { outcome: 'failed' }],
    ]);
  });

  it('skip blobs that are not ours, and show a row with strange metadata as it is', async () => {
    const { store, container } = await prepared('foreign');
    await createRow(store);
    for (const name of ['jobs/readme.txt', 'jobs/Upper/lease', 'jobs/a/lease/old', 'jobs/a', 'jobs/b/locks', 'x/y']) {
      await container.getBlockBlobClient(name).upload('?', 1, { metadata: { Who_Knows: 'what' } });
    }
    const strange = { metadata: { Token: 'seven', other: '' } };
    await container.getBlockBlobClient('jobs/strange/lease').upload('', 0, strange);
    const { jobs } = await store.list();
    expect([...jobs.keys()]).toStrictEqual([JOB, 'strange']);
    expect(jobs.get(jobName('strange'))?.row?.metadata).toHaveProperty('Token', 'seven');
  });
});

describe('credentials that may not do everything', () => {
  const sasFor = (permissions: string): string =>
    generateAccountSASQueryParameters(
      {
        expiresOn: new Date(Date.now() + 600_000),
        permissions: AccountSASPermissions.parse(permissions),
        resourceTypes: 'co',
        services: 'b',
      },
      new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    ).toString();
  const withSas = (name: string, permissions: string): LeaseStore => {
    const endpoint = `http://127.0.0.1:${azurite.port}/${ACCOUNT}`;
    const settings = {
      CRONLEASE_STORAGE: `BlobEndpoint=${endpoint};SharedAccessSignature=${sasFor(permissions)}`,
    };
    return storeOf(connectContainer(settings, name));
  };

  it('need not be allowed to create the container when it exists', async () => {
    await prepared('exists');
    await expect(withSas('exists', 'rl').prepare()).resolves.toBeUndefined();
  });

  it('are told when there is none and they may not create it', async () => {
    await expect(withSas('exists-not', 'rl').prepare()).rejects.toMatchObject({
      code: 'StoreDenied',
      message: expect.stringMatching(/exists-not: there is no such container.*may not create it/),
    });
  });

  it('are told what they may not do, without their secret being shown', async () => {
    await prepared('read-only');
    const store = withSas('read-only', 'rl');
    expect((await store.list()).jobs.size).toBe(0);
    const error: unknown = await store.createRow(JOB, { token: '0' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreDenied', message: expect.stringContaining('Contributor') });
    expect(`${String(error)} ${store.location}`).not.toContain('sig=');
  });

  it('of an identity without a token are denied; with a token service that is down, unavailable', async () => {
    const failing = (name: string, statusCode?: number): LeaseStore =>
      storeOf(
        new ContainerClient('https://account.invalid/cronlease', {
          getToken: () => Promise.reject(Object.assign(new Error('no identity here'), { name, statusCode })),
        }),
      );
    const denied = { code: 'StoreDenied', message: expect.stringContaining('no identity here') };
    await expect(failing('CredentialUnavailableError').list()).rejects.toMatchObject(denied);
    await expect(failing('AuthenticationError', 400).list()).rejects.toMatchObject(denied);
    await expect(failing('AuthenticationError', 503).list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
  });
});

describe('answers of Azure that the emulator does not give', () => {
  it.each([
    ['createRow', 412, 'LeaseIdMissing', 'exists'],
    ['createRecord', 412, 'LeaseIdMissing', { kind: 'exists' }],
    ['acquire', 409, 'LeaseIsBreakingAndCannotBeAcquired', { kind: 'lost' }],
    ['acquire', 404, 'BlobNotFound', { kind: 'lost' }],
    ['renew', 409, 'LeaseIsBrokenAndCannotBeRenewed', 'lost'],
    ['writeRow', 412, 'LeaseIdMismatchWithBlobOperation', { kind: 'refused' }],
    ['writeRow', 412, 'LeaseNotPresentWithBlobOperation', { kind: 'refused' }],
    ['release', 409, 'LeaseNotPresentWithLeaseOperation', 'lost'],
    ['writeControl', 409, 'BlobAlreadyExists', 'refused'],
    ['replaceRecord', 404, 'BlobNotFound', { kind: 'refused' }],
    ['readRow', 404, 'BlobNotFound', undefined],
    ['readRecord', 404, 'BlobNotFound', undefined],
  ] as const)('%s answered %i %s', async (method, status, code, expected) => {
    const { port, close } = await serve((_request, response) => {
      response.writeHead(status, { 'x-ms-error-code': code }).end();
    });
    expect(await CALLS[method](openAt(port))).toStrictEqual(expected);
    close();
  });

  it.each([
    ['acquire', 409, 'ContainerBeingDeleted', 'StoreUnavailable', /being deleted/],
    ['prepare', 409, 'ContainerBeingDeleted', 'StoreUnavailable', /being deleted/],
    ['writeRow', 409, 'BlobImmutableDueToPolicy', 'StoreUnavailable', /BlobImmutableDueToPolicy/],
    ['replaceRecord', 412, 'LeaseIdMissing', 'StoreUnavailable', /holds a lease/],
    ['renew', 404, 'ContainerNotFound', 'StoreUnavailable', /does not exist/],
    ['readRow', 404, 'ContainerNotFound', 'StoreUnavailable', /does not exist/],
    ['list', 401, 'InvalidAuthenticationInfo', 'StoreDenied', /tenant/],
    ['list', 403, 'KeyBasedAuthenticationNotPermitted', 'StoreDenied', /blobServiceUri/],
    ['list', 403, 'AuthorizationFailure', 'StoreDenied', /firewall/],
    ['list', 400, 'InvalidHeaderValue', 'StoreUnavailable', /what the service said/],
  ] as const)('%s answered %i %s', async (method, status, code, expected, message) => {
    const { port, close } = await serve((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<Error><Code>${code}</Code><Message>what the service said\nTime:now</Message></Error>`);
    });
    await expect(CALLS[method](openAt(port))).rejects.toMatchObject({
      code: expected,
      message: expect.stringMatching(message),
    });
    close();
  });

  it.each([
    [
      'the service',
      400,
      'application/xml',
      (long: string) => `<Error><Code>X</Code><Message>${long}</Message></Error>`,
    ],
    ['a proxy', 502, 'text/html', (long: string) => `<html>${long}</html>`],
    ['somebody who speaks no XML', 500, 'application/xml', (long: string) => `<Error>${long}`],
  ])('that are long are cut in what is said of them: from %s', async (_from, status, type, body) => {
    const { port, close } = await serve((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(body('<b>long</b> '.repeat(50_000)));
    });
    const error: unknown = await openAt(port)
      .readRow(JOB)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreUnavailable', message: expect.stringContaining(String(status)) });
    expect(error instanceof Error ? error.message.length : 0).toBeLessThan(500);
    // As a log shows it, causes and all.
    expect(inspect(error).length).toBeLessThan(5_000);
    close();
  });

  it('without a Date are no answers', async () => {
    const { port, close } = await serve((_request, response) => {
      response.sendDate = false;
      response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    });
    await expect(openAt(port).readControl(JOB)).rejects.toMatchObject({ message: expect.stringContaining('Date') });
    close();
  });
});

function openAt(port: number): LeaseStore {
  const settings = { CRONLEASE_STORAGE: connectionStringOf(port, ACCOUNT_KEY) };
  return storeOf(connectContainer(settings));
}

async function serve(answer: RequestListener): Promise<{ port: number; close: () => void; connections: () => number }> {
  const server: Server = createServer(answer);
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, close, connections: () => connections };
}
