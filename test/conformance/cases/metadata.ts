import { expect } from 'vitest';
import type { LeaseStore, Metadata } from '../../../src/lease/store';
import type { Test } from '../suite';
import { acquire, createRow, JOB, jobName, newLeaseId, readRow, times } from './support';

const PRINTABLE = String.fromCharCode(...times(95, (index) => 32 + index));
const FITS: Readonly<Record<string, Metadata>> = {
  'all printable ASCII': { text: `|${PRINTABLE}|` },
  'what looks like markup, JSON and header syntax': {
    markup: '<a b="c">&amp;&#38;</a>]]><!-- -->',
    json: '[{"outcome":"overlapped","note":"a \\"b\\" \\u00e9, c: d; e=f","n":1}]',
    spaces: 'a  b   c',
    percent: '%41%2F+%',
    quotes: `'"\`"'`,
  },
  'what looks like a number, a truth value or nothing': {
    zeros: '007',
    exponent: '1e5',
    hex: '0x1F',
    long: '123456789012345678901234567890',
    decimal: '1.50',
    truth: 'true',
    null: 'null',
  },
  nothing: {},
};
const REFUSED: readonly (readonly [string, Metadata, RegExp])[] = [
  ['a letter outside ASCII', { note: 'às 3' }, /note.*U\+00E0/],
  ['a control character', { note: 'a\nb' }, /note.*U\+000A/],
  ['an empty value', { note: '' }, /note.*empty/],
  ['a space at an end', { note: 'late ' }, /note.*space/],
  ['a key that is not a–z', { 'busy-until': '1' }, /busy-until/],
  ['a key that a listing cannot show', { constructor: '1' }, /constructor.*listing/],
];

/** What is stored with rows, controls and records must come back as it was, or be refused before the call. */
export function metadataCases(test: Test): void {
  for (const [title, metadata] of Object.entries(FITS)) {
    test(`${title}: comes back as it was, read and listed`, async ({ open }) => {
      await storeEverywhere(open(), metadata);
      const store = open();
      expect((await readRow(store)).metadata).toStrictEqual(metadata);
      expect((await readRow(store, jobName('fresh'))).metadata).toStrictEqual(metadata);
      expect((await store.readControl(JOB)).control?.metadata).toStrictEqual(metadata);
      const { jobs } = await store.list();
      expect(jobs.get(JOB)?.row?.metadata).toStrictEqual(metadata);
      expect(jobs.get(JOB)?.control?.metadata).toStrictEqual(metadata);
      const { records } = await store.listRecords(JOB, { limit: 10 });
      expect(records.map(({ summary }) => summary)).toStrictEqual([metadata]);
    });
  }

  test('metadata of a full row comes back, and so does the most that the store says it can hold', async ({ open }) => {
    const { metadataBytes } = open().limits;
    expect(metadataBytes).toBeGreaterThanOrEqual(8192);
    const metadata = { a: 'x'.repeat(metadataBytes - 192), b: 'y'.repeat(190) };
    await storeEverywhere(open(), metadata);
    expect((await readRow(open())).metadata).toStrictEqual(metadata);
    expect((await open().list()).jobs.get(JOB)?.control?.metadata).toStrictEqual(metadata);
  });

  test('one byte more is refused with its number', async ({ open }) => {
    const { metadataBytes } = open().limits;
    const message = new RegExp(`${String(metadataBytes + 1)} bytes`);
    await expectRefused(open(), { a: 'x'.repeat(metadataBytes) }, message);
  });

  for (const [title, metadata, message] of REFUSED) {
    test(`${title}: is refused with a clear error, and nothing is stored`, async ({ open }) => {
      await expectRefused(open(), metadata, message);
    });
  }

  test('a lease that is shorter or longer than the store says is refused with a clear error', async ({ open }) => {
    const store = open();
    const { least, most } = store.limits.leaseMs;
    const ifMatch = await createRow(store);
    for (const leaseMs of [least - 1000, most + 1000]) {
      await expect(store.acquire(JOB, { leaseId: newLeaseId(), leaseMs, ifMatch })).rejects.toMatchObject({
        code: 'StoreLimit',
      });
    }
    expect((await readRow(store)).lease).toBe('available');
  });
}

async function storeEverywhere(store: LeaseStore, metadata: Metadata): Promise<void> {
  const ifMatch = await createRow(store);
  await store.writeRow(JOB, metadata, { leaseId: await acquire(store, ifMatch), ifMatch });
  await store.createRow(jobName('fresh'), metadata);
  await store.writeControl(JOB, metadata, undefined);
  await store.createRecord(JOB, '1-s', { body: '{}', summary: metadata });
}

async function expectRefused(store: LeaseStore, metadata: Metadata, message: RegExp): Promise<void> {
  const etag = await createRow(store);
  const guard = { leaseId: await acquire(store, etag), ifMatch: etag };
  const record = { body: '{}', summary: metadata };
  for (const call of [
    () => store.createRow(jobName('fresh'), metadata),
    () => store.writeRow(JOB, metadata, guard),
    () => store.writeControl(JOB, metadata, undefined),
    () => store.createRecord(JOB, '1-s', record),
    () => store.replaceRecord(JOB, '1-s', record, etag),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'StoreLimit', message: expect.stringMatching(message) });
  }
  expect((await readRow(store)).etag).toBe(etag);
  expect((await store.list()).jobs.size).toBe(1);
  expect((await store.listRecords(JOB, { limit: 10 })).records).toStrictEqual([]);
}
