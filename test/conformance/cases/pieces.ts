import { expect } from 'vitest';
import type { LeaseStore, ListedPiece } from '../../../src/lease/store';
import type { Test } from '../suite';
import { JOB, jobName, tally, times } from './support';

const KEY = '8231526400000-s';
const OTHER = '8231526460000-m-abc';

/** What a run that fans out leaves for its instances. */
export function pieceCases(test: Test): void {
  test('a piece is absent until created, and created once', async ({ open }) => {
    const store = open();
    expect(await store.readPiece(JOB, KEY, 'plan')).toBeUndefined();
    expect(await store.createPiece(JOB, KEY, 'plan', piece('[1,2]'))).toBe('created');
    expect(await store.createPiece(JOB, KEY, 'plan', piece('[3]'))).toBe('exists');
    expect(await open().readPiece(JOB, KEY, 'plan')).toBe('[1,2]');
    expect(await store.readPiece(JOB, OTHER, 'plan')).toBeUndefined();
  });

  test('of many creators of one piece side by side one creates it', async ({ open }) => {
    const answers = await Promise.all(
      times(10, (index) => open().createPiece(JOB, KEY, 'item-00000', piece(`"by${index}"`))),
    );
    expect(tally(answers)).toStrictEqual({ created: 1, exists: 9 });
    const winner = answers.indexOf('created');
    expect(await open().readPiece(JOB, KEY, 'item-00000')).toBe(`"by${winner}"`);
  });

  test('pieces are listed by run or by job, in order, page after page, with their summaries', async ({ open }) => {
    const store = open();
    for (const name of ['item-00002', 'plan', 'item-00000']) await store.createPiece(JOB, KEY, name, piece('1'));
    await store.createPiece(JOB, OTHER, 'plan', piece('2'));
    await store.createPiece(jobName('other'), KEY, 'plan', piece('3'));
    const names = ['item-00000', 'item-00002', 'plan'];
    const own = names.map((name) => ({ key: KEY, name, summary: { state: 'some' } }));
    expect(undated(await all(store, KEY, 2))).toStrictEqual(own);
    expect(undated(await all(store, undefined, 3))).toStrictEqual([
      ...own,
      { key: OTHER, name: 'plan', summary: { state: 'some' } },
    ]);
  });

  test('the pieces of a run are listed by how their names begin, page after page', async ({ open }) => {
    const store = open();
    for (const name of ['alive-7', 'alive-8', 'alive-8-b', 'alive-8-a', 'plan']) {
      await store.createPiece(JOB, KEY, name, piece('1'));
    }
    await store.createPiece(JOB, OTHER, 'alive-8', piece('1'));
    const beats = ['alive-8', 'alive-8-a', 'alive-8-b'];
    for (const limit of [2, 10]) {
      const found = await all(store, KEY, limit, 'alive-8');
      expect(found.map(({ key, name }) => [key, name])).toStrictEqual(beats.map((name) => [KEY, name]));
    }
    expect(await all(store, KEY, 10, 'alive-9')).toStrictEqual([]);
  });

  test("a piece is written when it is created and when it is touched, by the service's clock", async ({
    open,
    pass,
  }) => {
    const store = open();
    expect(await store.touchPiece(JOB, KEY, 'alive-1', {})).toBe('gone');
    expect(await all(store, KEY, 10)).toStrictEqual([]);
    await store.createPiece(JOB, KEY, 'alive-1', piece('{}'));
    const [created] = await all(store, KEY, 10);
    expect(created?.date).toBeGreaterThanOrEqual(created?.writtenAt ?? Infinity);
    await pass(3_000);
    const [later] = await all(store, KEY, 10, 'alive');
    expect(later?.writtenAt).toBe(created?.writtenAt);
    expect((later?.date ?? 0) - (created?.date ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(await open().touchPiece(JOB, KEY, 'alive-1', { items: 'running 1 2' })).toBe('touched');
    const [touched] = await all(store, KEY, 10);
    expect((touched?.writtenAt ?? 0) - (created?.writtenAt ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(await store.readPiece(JOB, KEY, 'alive-1')).toBe('{}');
    expect(touched).toMatchObject({ key: KEY, name: 'alive-1', summary: { items: 'running 1 2' } });
  });

  test('a deleted piece is gone, and deleting it again is no error', async ({ open }) => {
    const store = open();
    await store.createPiece(JOB, KEY, 'plan', piece('1'));
    await store.deletePiece(JOB, KEY, 'plan');
    await store.deletePiece(JOB, KEY, 'plan');
    expect(await all(store, KEY, 10)).toStrictEqual([]);
    expect(await store.createPiece(JOB, KEY, 'plan', piece('2'))).toBe('created');
  });
}

function piece(body: string): { body: string; summary: { state: string } } {
  return { body, summary: { state: 'some' } };
}

function undated(pieces: readonly ListedPiece[]): object[] {
  return pieces.map(({ key, name, summary }) => ({ key, name, summary }));
}

async function all(
  store: LeaseStore,
  key: string | undefined,
  limit: number,
  prefix?: string,
): Promise<readonly ListedPiece[]> {
  const found: ListedPiece[] = [];
  let continuation: string | undefined;
  do {
    const page = await store.listPieces(JOB, {
      limit,
      ...(key === undefined ? {} : { key }),
      ...(prefix === undefined ? {} : { prefix }),
      ...(continuation === undefined ? {} : { continuation }),
    });
    found.push(...page.pieces);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
