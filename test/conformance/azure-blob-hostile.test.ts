import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobElectionRows, azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { ACCOUNT, ACCOUNT_KEY, type Azurite, connectionStringOf, startAzurite } from '../support/azurite';
import { createRow, JOB, jobName } from './cases/support';

/** The emulator drops `__proto__`, and the values of others. */
const HARMFUL = ['constructor', 'prototype'];

let azurite: Azurite;
const closing: (() => void)[] = [];
beforeAll(async () => {
  azurite = await startAzurite();
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
afterAll(() => azurite.stop());

async function prepared(name: string): Promise<{ store: LeaseStore; container: ContainerClient }> {
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, name);
  const store = azureBlobStore({ container, clock: systemClock });
  await store.prepare();
  return { store, container };
}

/** Written by someone else: no check of ours is in between. */
async function put(container: ContainerClient, name: string, key?: string): Promise<void> {
  const metadata = key === undefined ? {} : Object.fromEntries([[key, 'x']]);
  await container.getBlockBlobClient(name).upload('', 0, { metadata });
}

describe('blobs that others put into the container', () => {
  it.each(HARMFUL)('with metadata key %s spoil no listing', async (key) => {
    const { store, container } = await prepared(`key-${key}`);
    await createRow(store, JOB, { token: '1' });
    await store.createRecord(JOB, '1-s', { body: '{}', summary: { a: 'b' } });
    await store.createPiece(JOB, '1-s', 'plan', { body: '{}', summary: { a: 'b' } });
    await store.writePresence('east', { format: '1' }, undefined);
    const names = ['jobs/a', 'jobs/b/lease', `runs/${JOB}/2-s`, `fanout/${JOB}/1-s/x`, 'deployments/west'];
    for (const name of [...names, 'elections/e/lease']) await put(container, name, key);

    const { jobs, strays } = await store.list();
    expect(jobs.get(JOB)?.row?.metadata).toStrictEqual({ token: '1' });
    expect(Object.keys(jobs.get(jobName('b'))?.row?.metadata ?? {})).toEqual([key]);
    expect(strays).toEqual({ count: 1, names: ['jobs/a'], harmful: ['jobs/a'] });
    expect((await store.listRecords(JOB, { limit: 10 })).records).toMatchObject([{ key: '1-s' }, { key: '2-s' }]);
    expect((await store.listPieces(JOB, { limit: 10 })).pieces).toMatchObject([{ name: 'plan' }, { name: 'x' }]);
    expect([...(await store.listPresences()).presences.keys()]).toEqual(['east', 'west']);
    const elections = azureBlobElectionRows({ container, clock: systemClock });
    expect([...(await elections.listRows()).keys()]).toEqual(['e']);
  });

  it('are counted, and ten of them named', async () => {
    const { store, container } = await prepared('strays');
    await createRow(store);
    for (let number = 0; number < 12; number += 1)
      await put(container, `jobs/${JOB}/x${String(number).padStart(2, '0')}`);
    const { jobs, strays } = await store.list();
    expect([...jobs.keys()]).toEqual([JOB]);
    expect(strays).toMatchObject({ count: 12, harmful: [] });
    expect(strays?.names).toHaveLength(10);
    expect((await store.list({ job: jobName('none') })).strays).toBeUndefined();
  });

  it('under deployments/ whose names encode nothing are left out and named', async () => {
    const { store, container } = await prepared('presences');
    await store.writePresence('weißes .haus/%', { format: '1' }, undefined);
    for (const name of ['deployments/%zz', 'deployments/a/b', 'deployments/a.b']) await put(container, name);
    const { presences, strays } = await store.listPresences();
    expect([...presences.keys()]).toEqual(['weißes .haus/%']);
    expect(strays?.names.toSorted()).toEqual(['deployments/%zz', 'deployments/a.b', 'deployments/a/b']);
  });

  it('are shown to the container’s other readers as before', async () => {
    const { container } = await prepared('others');
    await put(container, 'jobs/a/lease', 'who');
    const names: string[] = [];
    for await (const { name } of container.listBlobsFlat()) names.push(name);
    expect(names).toEqual(['jobs/a/lease']);
  });
});

describe('a listing of several pages', () => {
  it('gives each row the Date of its page', async () => {
    const pages = [
      [page(['jobs/a/control', 'jobs/a/lease', 'jobs/b/control'], 'next'), 'Sun, 22 Nov 2026 04:00:00 GMT'],
      [page(['jobs/b/lease', 'jobs/c/control'], ''), 'Sun, 22 Nov 2026 04:00:09 GMT'],
    ] as const;
    const store = await serve((request, response) => {
      const [body, date] = pages[request.url?.includes('marker=next') === true ? 1 : 0];
      response.sendDate = false;
      response.writeHead(200, { 'content-type': 'application/xml', date }).end(body);
    });
    const { date, jobs } = await store.list();
    const first = Date.UTC(2026, 10, 22, 4);
    expect(date).toBe(first);
    expect([...jobs].map(([job, seen]) => [job, seen.date - first])).toEqual([
      ['a', 0],
      ['b', 9_000],
      ['c', 9_000],
    ]);
    expect(jobs.get(jobName('b'))).toMatchObject({ row: {}, control: {} });
  });

  it.each([
    ['acme', '5000'],
    [ACCOUNT, '500'],
  ])('asks the account %s for pages of %s', async (account, size) => {
    const asked: (string | null)[] = [];
    const { port } = await answering((request, response) => {
      asked.push(new URL(request.url ?? '', 'http://x').searchParams.get('maxresults'));
      response.writeHead(200, { 'content-type': 'application/xml' }).end(page([], ''));
    });
    const endpoint = `http://127.0.0.1:${String(port)}/${account}`;
    const connection = `AccountName=${account};AccountKey=${ACCOUNT_KEY};BlobEndpoint=${endpoint}`;
    const container = connectContainer({ CRONLEASE_STORAGE: connection });
    await azureBlobStore({ container, clock: systemClock }).list();
    expect(asked).toEqual([size]);
  });

  it.each([
    ['acme', 2],
    [ACCOUNT, 1],
  ])('asks the account %s for %s ranges at once, after a listing of more than a page', async (account, ranges) => {
    let starts: (string | null)[] = [];
    const names = Array.from({ length: 5_001 }, (_, index) => `jobs/job-${String(index).padStart(4, '0')}/lease`);
    const { port } = await answering((request, response) => {
      const start = new URL(request.url ?? '', 'http://x').searchParams.get('startFrom');
      starts.push(start);
      const body = page(names.slice(start === null ? 0 : names.findIndex((name) => name >= start)), '');
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
    });
    const endpoint = `http://127.0.0.1:${String(port)}/${account}`;
    const connection = `AccountName=${account};AccountKey=${ACCOUNT_KEY};BlobEndpoint=${endpoint}`;
    const store = azureBlobStore({
      container: connectContainer({ CRONLEASE_STORAGE: connection }),
      clock: systemClock,
    });
    await store.list();
    starts = [];
    expect((await store.list()).jobs.size).toBe(5_001);
    expect(starts).toHaveLength(ranges);
    expect(starts.filter((start) => start !== null)).toHaveLength(ranges - 1);
  });

  it('ends a job’s own listing with its row, whatever lies behind it', async () => {
    let pages = 0;
    const store = await serve((_request, response) => {
      pages += 1;
      const body = page(['jobs/a/control', 'jobs/a/lease', `jobs/a/x${String(pages)}`], 'next');
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
    });
    const { jobs, continuation } = await store.list({ job: jobName('a') });
    expect([pages, jobs.size, continuation]).toEqual([1, 1, undefined]);
  });

  it.each([
    ['a page of somebody in between', 'text/html', '<html><body>Sign in</body></html>'],
    ['half a listing', 'application/xml', page(['jobs/a/lease'], '').slice(0, -20)],
  ])('cannot be %s', async (_title, type, body) => {
    const store = await serve((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
    await expect(store.list()).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('the listing cannot be read'),
    });
  });
});

function page(names: readonly string[], marker: string): string {
  const blobs = names.map((name) => `<Blob><Name>${name}</Name><Properties><Etag>1</Etag></Properties></Blob>`);
  return `<?xml version="1.0"?><EnumerationResults><Blobs>${blobs.join('')}</Blobs><NextMarker>${marker}</NextMarker></EnumerationResults>`;
}

async function serve(answer: RequestListener): Promise<LeaseStore> {
  const { port } = await answering(answer);
  const settings = { CRONLEASE_STORAGE: connectionStringOf(port, ACCOUNT_KEY) };
  return azureBlobStore({ container: connectContainer(settings), clock: systemClock });
}

async function answering(answer: RequestListener): Promise<AddressInfo> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return server.address() as AddressInfo;
}
