import { expect } from 'vitest';
import type { ETag, JobName } from '../../../src/core/brand';
import type { LeaseStore, ListedRecord, StoredRecord } from '../../../src/lease/store';
import type { Test } from '../suite';
import { JOB, jobName, tally, times } from './support';

const KEY = '8231526400000-s';

/** What became of every due time. */
export function ledgerCases(test: Test): void {
  single(test);
  listed(test);
}

function record(outcome: string): StoredRecord {
  return { body: JSON.stringify({ outcome, message: 'não – 失敗 🚫' }), summary: { outcome } };
}

async function create(store: LeaseStore, key: string, stored: StoredRecord, job: JobName = JOB): Promise<ETag> {
  const answer = await store.createRecord(job, key, stored);
  if (answer.kind === 'exists') throw new Error(`record ${key} was there`);
  return answer.etag;
}

function single(test: Test): void {
  test('refuses to read a body that is larger than any of ours', async ({ open }) => {
    const store = open();
    const body = 'x'.repeat(5 * 1024 * 1024);
    await store.createRecord(JOB, '1-s', { body, summary: { a: 'b' } });
    await store.createPiece(JOB, '1-s', 'plan', { body, summary: { a: 'b' } });
    await expect(store.readRecord(JOB, '1-s')).rejects.toMatchObject({ code: 'ForeignRecord' });
    await expect(store.readPiece(JOB, '1-s', 'plan')).rejects.toMatchObject({ code: 'ForeignRecord' });
    await store.createRecord(JOB, '2-s', { body: '{}', summary: { a: 'b' } });
    expect(await store.readRecord(JOB, '2-s')).toMatchObject({ body: '{}' });
  });

  test('a record is absent until created', async ({ open }) => {
    expect(await open().readRecord(JOB, KEY)).toBeUndefined();
  });

  test('a record is created once, body and summary as given', async ({ open }) => {
    const store = open();
    const etag = await create(store, KEY, record('succeeded'));
    expect(await store.createRecord(JOB, KEY, record('failed'))).toStrictEqual({ kind: 'exists' });
    expect(await open().readRecord(JOB, KEY)).toStrictEqual({ body: record('succeeded').body, etag });
    const { records } = await store.listRecords(JOB, { limit: 10 });
    expect(records).toStrictEqual([{ key: KEY, etag, summary: { outcome: 'succeeded' } }]);
  });

  test('a record whose creation lost its answer exists when asked again, and is read back', async ({ open }) => {
    const store = open();
    const mine = { body: '{"token":4}', summary: { token: '4' } };
    const etag = await create(store, KEY, mine);
    expect(await store.createRecord(JOB, KEY, mine)).toStrictEqual({ kind: 'exists' });
    expect(await store.readRecord(JOB, KEY)).toStrictEqual({ body: mine.body, etag });
  });

  test('of many creators of one record side by side one creates it', async ({ open }) => {
    const answers = await Promise.all(times(20, (index) => open().createRecord(JOB, KEY, record(`by${index}`))));
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ created: 1, exists: 19 });
    const winner = answers.findIndex(({ kind }) => kind === 'created');
    expect((await open().readRecord(JOB, KEY))?.body).toBe(record(`by${winner}`).body);
  });

  test('a record is replaced with the ETag that it has, and with no other', async ({ open }) => {
    const store = open();
    const open1 = await create(store, KEY, record('open'));
    const replaced = await store.replaceRecord(JOB, KEY, record('failed'), open1);
    expect(replaced.kind).toBe('replaced');
    expect(await store.replaceRecord(JOB, KEY, record('succeeded'), open1)).toStrictEqual({ kind: 'refused' });
    const found = await store.readRecord(JOB, KEY);
    expect(found?.body).toBe(record('failed').body);
    expect(replaced).toStrictEqual({ kind: 'replaced', etag: found?.etag });
    const { records } = await store.listRecords(JOB, { limit: 10 });
    expect(records.map(({ summary }) => summary)).toStrictEqual([{ outcome: 'failed' }]);
    expect(records[0]?.etag).toBe(found?.etag);
  });

  test('of many that replace one record side by side one does', async ({ open }) => {
    const etag = await create(open(), KEY, record('open'));
    const answers = await Promise.all(times(20, (i) => open().replaceRecord(JOB, KEY, record(`by${i}`), etag)));
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ replaced: 1, refused: 19 });
  });

  test('a record that is not there is not replaced', async ({ open }) => {
    const store = open();
    const etag = await create(store, KEY, record('open'));
    expect(await store.replaceRecord(JOB, '8231526400001-s', record('failed'), etag)).toStrictEqual({
      kind: 'refused',
    });
    expect(await store.readRecord(JOB, '8231526400001-s')).toBeUndefined();
  });

  test('a body of 64 KB comes back as it was', async ({ open }) => {
    const store = open();
    const body = JSON.stringify({ result: 'ü'.repeat(32 * 1024) });
    await create(store, KEY, { body, summary: { outcome: 'succeeded' } });
    expect((await store.readRecord(JOB, KEY))?.body).toBe(body);
  });
}

function listed(test: Test): void {
  const keys = times(7, (index) => `${8231526400000 + index * 60_000}-s`);

  test('records are listed in order of key, page after page, each once', async ({ open }) => {
    const store = open();
    for (const key of keys.toReversed()) await create(store, key, record(`of${key.slice(0, 13)}`));
    for (const limit of [1, 3, 7, 100]) {
      const pages = await allPages(store, limit);
      expect(pages.every((page) => page.length <= limit)).toBe(true);
      expect(pages.flat().map(({ key }) => key)).toStrictEqual(keys);
      expect(pages.length).toBeGreaterThanOrEqual(Math.ceil(keys.length / limit));
    }
    const summaries = (await allPages(store, 3)).flat().map(({ summary }) => summary['outcome']);
    expect(summaries).toStrictEqual(keys.map((key) => `of${key.slice(0, 13)}`));
  });

  test('a page can be continued by another handle', async ({ open }) => {
    for (const key of keys) await create(open(), key, record('succeeded'));
    const first = await open().listRecords(JOB, { limit: 4 });
    if (first.continuation === undefined) throw new Error('one page');
    const second = await open().listRecords(JOB, { limit: 4, continuation: first.continuation });
    expect([...first.records, ...second.records].map(({ key }) => key)).toStrictEqual(keys);
    expect(second.continuation).toBeUndefined();
  });

  test('a prefix narrows the list, over several pages too', async ({ open }) => {
    const store = open();
    const manual = ['8231526400000-m-a1', '8231526400000-m-b2', '8231526400000-m-c3'];
    for (const key of [...keys, ...manual]) await create(store, key, record('succeeded'));
    for (const limit of [2, 100]) {
      const found = (await allPages(store, limit, '8231526400000-m-')).flat();
      expect(found.map(({ key }) => key)).toStrictEqual(manual);
    }
    const sameInstant = (await allPages(store, 100, '8231526400000-')).flat();
    expect(sameInstant.map(({ key }) => key)).toStrictEqual([...manual, keys[0]]);
    expect((await store.listRecords(JOB, { limit: 5, prefix: '9' })).records).toStrictEqual([]);
  });

  test('each job has a ledger of its own, also beside one whose name begins like its', async ({ open }) => {
    const store = open();
    for (const name of ['report', 'report-2', 'reports']) {
      await create(store, KEY, { body: JSON.stringify(name), summary: { outcome: 'failed' } }, jobName(name));
    }
    const { records } = await store.listRecords(jobName('report'), { limit: 10 });
    expect(records.map(({ key }) => key)).toStrictEqual([KEY]);
    expect((await store.readRecord(jobName('report-2'), KEY))?.body).toBe('"report-2"');
    expect(await store.listRecords(jobName('rep'), { limit: 10 })).toStrictEqual({
      records: [],
      continuation: undefined,
    });
  });
}

/** Follows the continuations to their end; a page may be shorter than its limit, or empty. */
async function allPages(store: LeaseStore, limit: number, prefix = ''): Promise<(readonly ListedRecord[])[]> {
  const pages: (readonly ListedRecord[])[] = [];
  let continuation: string | undefined;
  do {
    const request = { limit, prefix, ...(continuation === undefined ? {} : { continuation }) };
    const page = await store.listRecords(JOB, request);
    pages.push(page.records);
    continuation = page.continuation;
  } while (continuation !== undefined && pages.length < 100);
  return pages;
}
