import { expect } from 'vitest';
import type { ETag } from '../../../src/core/brand';
import { BODY_BYTES } from '../../../src/stores/limits';
import type { Test } from '../suite';
import { tally, times } from './support';

/** Groups of jobs. */
export function groupCases(test: Test): void {
  test('a group is absent until written, and comes back as it was', async ({ open }) => {
    const store = open();
    expect(await store.readGroup('db')).toBeUndefined();
    expect(await store.writeGroup('db', '{}', '"0xabc"' as ETag)).toEqual({ kind: 'refused' });
    const first = await store.writeGroup('db', '{"by":"é漢😀"}', undefined);
    if (first.kind !== 'written') throw new Error('refused');
    expect(await open().readGroup('db')).toStrictEqual({ body: '{"by":"é漢😀"}', etag: first.etag });
    expect(await store.readGroup('d')).toBeUndefined();
    expect(await store.readGroup('db-2')).toBeUndefined();
  });

  test('of many writers who have read the same version one writes', async ({ open }) => {
    const write = (etag: ETag | undefined) => async (index: number) => open().writeGroup('db', String(index), etag);
    let etag: ETag | undefined;
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(times(8, write(etag)));
      expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ written: 1, refused: 7 });
      const written = answers.findIndex(({ kind }) => kind === 'written');
      const found = await open().readGroup('db');
      expect(found?.body).toBe(String(written));
      expect(answers[written]).toStrictEqual({ kind: 'written', etag: found?.etag });
      etag = found?.etag;
    }
  });

  test('a text that is larger than any of cronlease is refused unread', async ({ open }) => {
    await open().writeGroup('db', 'x'.repeat(BODY_BYTES + 1), undefined);
    await expect(open().readGroup('db')).rejects.toMatchObject({ code: 'ForeignRecord' });
  });

  test('a listing of jobs does not show it', async ({ open }) => {
    const store = open();
    await store.writeGroup('db', '{}', undefined);
    const { jobs, strays } = await store.list();
    expect(jobs.size).toBe(0);
    expect(strays).toBeUndefined();
  });
}
