import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { StoragePipelineOptions } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invertedTime } from '../../src/core/key';
import type { JobName, Millis } from '../../src/core/brand';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { type Azurite, startAzurite } from '../support/azurite';
import { settableClock } from '../support/clock';
import { keepOf } from '../support/keep';

const DAY = 86_400_000;
/** The first of the five folders has its turn on this day. */
const RUNS_DAY = DAY * 20_785;
const YOUNG: Millis = 365 * DAY;
/** A time that has not begun: everything is old. */
const NONE: Millis = -DAY;

/** Of a record that was due so long ago. */
const keyOf = (ago: Millis): string => `${invertedTime(Date.now() - ago)}-s`;

let azurite: Azurite;
let containers = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

async function world({ pageSize = 100 } = {}) {
  containers += 1;
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, `retention-${containers}`);
  const clock = settableClock(RUNS_DAY + 1_000);
  const listings: string[] = [];
  const store = azureBlobStore({ container, clock, pageSize });
  await store.prepare();
  const list = container.listBlobsFlat.bind(container);
  container.listBlobsFlat = (options) => {
    listings.push(`${options?.prefix ?? ''} ${options?.startFrom ?? ''}`.trim());
    return list(options);
  };
  const blob = (name: string) => container.getBlockBlobClient(name);
  const names = async (prefix = ''): Promise<string[]> => {
    const found: string[] = [];
    for await (const { name } of list({ prefix })) found.push(name);
    return found;
  };
  const put = async (...blobs: readonly string[]): Promise<void> => {
    for (const name of blobs) await blob(name).upload('', 0);
  };
  const purge = (keep: Readonly<Record<string, Millis>>) =>
    store.purge(keepOf(new Map(Object.entries(keep) as [JobName, Millis][])));
  return { clock, listings, names, put, purge, blob };
}

describe('retention on blobs', () => {
  it('lists one page of one folder, another one each day', async () => {
    const { clock, listings, put, purge } = await world();
    await put('runs/a/1', 'logs/a/1/1', 'requests/x', 'audit/x', 'notices/x', 'jobs/a/lease');
    for (let day = 0; day < 6; day += 1) {
      await purge({ a: YOUNG });
      await clock.advance(DAY);
    }
    expect(listings).toEqual(['runs/', 'logs/', 'requests/', 'audit/', 'notices/', 'runs/']);
  });

  it('deletes what was written longer ago than its job keeps it, and nothing of other jobs', async () => {
    const { clock, names, put, purge } = await world();
    const all = ['runs/a/1', 'runs/b/1', 'runs/other/1', 'logs/a/1/1', 'logs/b/1/1', 'audit/x', 'jobs/a/lease'];
    await put(...all);
    for (let day = 0; day < 5; day += 1) {
      expect(await purge({ a: NONE, b: YOUNG })).toBe('done');
      await clock.advance(DAY);
    }
    expect(await names()).toEqual(['audit/x', 'jobs/a/lease', 'logs/b/1/1', 'runs/b/1', 'runs/other/1']);
    for (let day = 0; day < 5; day += 1) {
      await purge({ a: NONE });
      await clock.advance(DAY);
    }
    expect(await names()).toEqual(['jobs/a/lease', 'logs/b/1/1', 'runs/b/1', 'runs/other/1']);
  });

  it('goes on past a blob that is kept by a snapshot or a lease', async () => {
    const { names, put, purge, blob } = await world({ pageSize: 2 });
    const [held = '', leased = '', ...others] = [1, 2, 3, 4].map((hours) => `runs/a/${keyOf(hours * 3_600_000)}`);
    await put(held, leased, ...others);
    await blob(held).createSnapshot();
    await blob(leased).getBlobLeaseClient(randomUUID()).acquireLease(-1);
    expect([await purge({ a: NONE }), await purge({ a: NONE })]).toEqual(['more', 'done']);
    expect(await names()).toEqual([held, leased]);
  });

  it('reads a folder of several pages to its end, and skips what is young, and jobs that it does not know', async () => {
    const { listings, names, put, purge } = await world({ pageSize: 2 });
    const young = [1, 2, 3, 4, 5].map((hours) => `runs/a/${keyOf(hours * 3_600_000)}`);
    const late = `runs/a/${keyOf(400 * DAY)}`;
    const others = ['runs/b/1', 'runs/b/2', 'runs/b/3', 'runs/b/4', 'runs/b/5'];
    await put(...young, late, ...others, 'runs/c/1');
    const answers: string[] = [];
    do answers.push(await purge({ a: YOUNG, c: NONE }));
    while (answers.at(-1) === 'more');
    expect(answers).toEqual(['more', 'more', 'done']);
    // A record of an old due time that was written today stays.
    expect(await names('runs/')).toEqual([...young, late, ...others]);
    expect(listings).toEqual(['runs/', expect.stringMatching(/^runs\/ runs\/a\/\d{13}$/), 'runs/ runs/b0']);
  });
});

describe('an account with a hierarchical namespace', () => {
  /** Lists folders among the blobs, and deletes none that has blobs in it. */
  function hierarchical(names: readonly string[]) {
    const deleted: string[] = [];
    const listed = (name: string): string => {
      const isFolder = names.some((other) => other.startsWith(`${name}/`));
      const kind = `<ResourceType>${isFolder ? 'directory' : 'file'}</ResourceType>`;
      const times = '<Last-Modified>Fri, 01 Nov 2019 13:00:00 GMT</Last-Modified><Etag>0x1</Etag>';
      const metadata = isFolder ? '<hdi_isfolder>true</hdi_isfolder>' : '';
      return `<Blob><Name>${name}</Name><Properties>${times}${kind}<LeaseState>available</LeaseState></Properties><Metadata>${metadata}</Metadata></Blob>`;
    };
    const httpClient: StoragePipelineOptions['httpClient'] = {
      async sendRequest(request) {
        const headers = request.headers.clone();
        for (const { name } of headers.headersArray()) headers.remove(name);
        headers.set('date', new Date().toUTCString());
        const { pathname, searchParams } = new URL(request.url);
        if (request.method === 'DELETE') {
          const name = pathname.split('/').slice(2).join('/');
          deleted.push(name);
          if (!names.some((other) => other.startsWith(`${name}/`))) return { request, status: 202, headers };
          headers.set('x-ms-error-code', 'DirectoryIsNotEmpty');
          return { request, status: 409, headers };
        }
        headers.set('content-type', 'application/xml');
        const prefix = searchParams.get('prefix') ?? '';
        const blobs = names.filter((name) => name.startsWith(prefix)).map(listed);
        const body = `<EnumerationResults><Blobs>${blobs.join('')}</Blobs><NextMarker/></EnumerationResults>`;
        return { request, status: 200, headers, readableStreamBody: Readable.from([body]) };
      },
    };
    const settings = { CRONLEASE_STORAGE: 'AccountName=acme;AccountKey=c2VjcmV0' };
    const container = connectContainer(settings, 'jobs', { httpClient });
    return { deleted, store: azureBlobStore({ container, clock: settableClock(RUNS_DAY + 1_000) }) };
  }

  it('keeps its folders, of which none is a blob that cronlease did not write', async () => {
    const { deleted, store } = hierarchical(['jobs', 'jobs/a', 'jobs/a/lease', 'runs', 'runs/a', 'runs/a/1']);
    const { jobs, strays } = await store.list();
    expect([...jobs.keys()]).toEqual(['a']);
    expect(strays).toBeUndefined();
    expect(await store.purge(keepOf(new Map([['a' as JobName, YOUNG]])))).toBe('done');
    expect(deleted).toEqual(['runs/a/1']);
  });
});
