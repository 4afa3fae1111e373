import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Token } from '../../src/core/brand';
import type { JobContext } from '../../src/handler/handler';
import { closeBooks, closeBooksStep, closeBooksSteps } from '../../samples/handlers/close-books';
import { purgeOldReports } from '../../samples/handlers/purge-old-reports';
import { storageReport } from '../../samples/handlers/storage-report';
import { wordIndex } from '../../samples/handlers/word-index';
import { putSamples, readSamples } from '../../src/cli/dev/dev';
import { createFence } from '../../src/lease/fence';
import { runFanOut, runJob } from '../../src/testing/index';
import { type Azurite, startAzurite } from '../support/azurite';

let azurite: Azurite;
let service: BlobServiceClient;
beforeAll(async () => {
  azurite = await startAzurite();
  process.env['CRONLEASE_STORAGE'] = azurite.connectionString;
  service = BlobServiceClient.fromConnectionString(azurite.connectionString);
});
afterAll(async () => {
  delete process.env['CRONLEASE_STORAGE'];
  await azurite.stop();
});

/** The handler with a real fence, so that its writes go to storage. */
async function report(token: number, scheduledFor: string): Promise<unknown> {
  const context: Partial<JobContext> = {
    scheduledFor: new Date(scheduledFor),
    signal: new AbortController().signal,
    fence: createFence('storage-report', token as Token, { holds: true }, []),
    progress: () => undefined,
    log: Object.assign(() => undefined, {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
    }),
  };
  return storageReport.run(context as JobContext, undefined as never);
}

async function read(name: string): Promise<string> {
  return String(await service.getContainerClient('reports').getBlobClient(name).downloadToBuffer());
}

describe('storage-report', () => {
  it('counts what is there, and writes it as JSON and CSV through the fence', async () => {
    const texts = service.getContainerClient('texts');
    await texts.create();
    await texts.getBlockBlobClient('a').upload('12345', 5);
    await texts.getBlockBlobClient('b').upload('123', 3);
    const result = await report(3, '2026-03-01T03:00:00Z');
    await texts.delete();
    const name = 'storage-report/2026-03-01T03-00-00.000Z';
    expect(result).toEqual({ report: `reports/${name}.json`, blobs: 2 });
    expect(JSON.parse(await read(`${name}.json`))).toEqual({
      scheduledFor: '2026-03-01T03:00:00.000Z',
      containers: [
        { container: 'texts', exists: true, blobs: 2, bytes: 8 },
        { container: 'reports', exists: false, blobs: 0, bytes: 0 },
      ],
    });
    expect(await read(`${name}.csv`)).toBe('container,exists,blobs,bytes\ntexts,true,2,8\nreports,false,0,0\n');
    const properties = await service.getContainerClient('reports').getBlobClient(`${name}.csv`).getProperties();
    expect(properties).toMatchObject({
      contentType: 'text/csv',
      metadata: { cronleasejob: 'storage-report', cronleasetoken: '3' },
    });
  });

  it('does not undo the report of a later leader', async () => {
    await report(9, '2026-03-02T03:00:00Z');
    await expect(report(8, '2026-03-02T03:00:00Z')).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(await read('storage-report/2026-03-02T03-00-00.000Z.csv')).toContain('texts,false,0,0');
  });
});

describe('purge-old-reports', () => {
  it('deletes reports older than its input says, and nothing else', async () => {
    await report(9, '2026-03-03T03:00:00Z');
    const reports = service.getContainerClient('reports');
    await reports.getBlockBlobClient('kept').upload('x', 1);
    const settings = { input: { olderThan: '1d' } };
    const young = await runJob(purgeOldReports, { settings, scheduledFor: new Date() });
    expect(young).toMatchObject({ outcome: 'succeeded', result: { deleted: 0 } });
    const old = await runJob(purgeOldReports, { settings, scheduledFor: new Date(Date.now() + 2 * 86_400_000) });
    expect(old.outcome).toBe('succeeded');
    expect((old.result as { deleted: number }).deleted).toBeGreaterThanOrEqual(2);
    const left: string[] = [];
    for await (const blob of reports.listBlobsFlat()) left.push(blob.name);
    expect(left).toEqual(['kept']);
  });

  it('refuses an input that is no duration when the app starts', async () => {
    const settings = { input: { olderThan: 'soon' } };
    await expect(runJob(purgeOldReports, { settings })).rejects.toMatchObject({
      errors: [{ path: 'jobs.job.input.olderThan', value: 'soon', message: 'use a duration such as 1d or 12h' }],
    });
  });
});

describe('close-books', () => {
  const play = (options: Parameters<typeof runJob>[1]) =>
    runJob(closeBooks, {
      ...{ job: 'close-books', scheduledFor: '2026-03-01T03:00:00Z', token: 4, orchestrator: closeBooksSteps },
      activities: { closeBooksStep: (step: Parameters<typeof closeBooksStep>[0]) => closeBooksStep(step, 0) },
      ...options,
    });

  it('writes the report of each step through the fence of its orchestration', async () => {
    const run = await play({});
    const names = ['collect', 'check', 'publish'].map(
      (step) => `close-books/close-books-20260301T030000Z/${step}.json`,
    );
    expect(run).toMatchObject({ outcome: 'succeeded', result: { reports: names }, progress: { note: 'publish' } });
    expect(run.writes.map(({ url, token }) => [new URL(url).pathname.endsWith(names.shift() ?? '?'), token])).toEqual([
      [true, 4],
      [true, 4],
      [true, 4],
    ]);
  });
});

describe('word-index', () => {
  const settings = { input: { prefix: '' } };

  it('counts the words of the sample texts, and writes the index through its fence', async () => {
    await putSamples(azurite.connectionString, readSamples('samples/texts'));
    const texts = service.getContainerClient('texts');
    await texts.getBlockBlobClient('picture.bin').upload('a\0b', 3);
    const run = await runFanOut(wordIndex, { settings, token: 4 });
    expect(run).toMatchObject({ outcome: 'succeeded', result: { texts: 6, skipped: 1 } });
    expect(run.items).toHaveLength(7);
    // What is not a text is not tried again.
    expect(run.itemCalls).toBe(7);
    expect(run.writes).toMatchObject([{ token: 4, contentType: 'application/json' }]);
    const index = JSON.parse(String(run.writes[0]?.body)) as {
      skipped: string[];
      words: Record<string, Record<string, number>>;
    };
    expect(index.skipped).toEqual(['picture.bin: picture.bin is not text']);
    expect(index.words['ledger']).toMatchObject({ 'ledger.txt': 3 });
    expect(Object.keys(index.words)).toEqual(Object.keys(index.words).toSorted());
    await texts.getBlobClient('picture.bin').delete();
  });

  it('is empty where there is nothing to index', async () => {
    const run = await runFanOut(wordIndex, { settings: { input: { prefix: 'nothing/' } } });
    expect(run).toMatchObject({ outcome: 'succeeded', result: { texts: 0, skipped: 0, words: 0 } });
  });

  it('finds texts as they were put, with their types', async () => {
    const properties = await service.getContainerClient('texts').getBlobClient('tick.txt').getProperties();
    expect(properties.contentType).toBe('text/plain; charset=utf-8');
  });
});
