import { expect } from 'vitest';
import type { ETag } from '../../../src/core/brand';
import type { ListedNotice } from '../../../src/lease/store';
import type { Harness, Test } from '../suite';
import { tally, times } from './support';

/** Notices that wait for their delivery. */
export function noticeCases(test: Test): void {
  test('a notice is created once, whoever creates it, and keeps its text while its state changes', async ({ open }) => {
    const store = open();
    const answers = await Promise.all(
      times(10, (index) => open().createNotice('a_failed_1-s', { body: `"${index}"`, metadata: { by: `p${index}` } })),
    );
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ created: 1, exists: 9 });
    const index = answers.findIndex(({ kind }) => kind === 'created');
    const first = answers[index];
    if (first?.kind !== 'created') throw new Error('none was created');
    expect(await store.readNotice('a_failed_1-s')).toBe(`"${index}"`);
    const { etag } = first;
    expect(await store.writeNotice('a_failed_1-s', { by: 'x' }, '"0xabc"' as ETag)).toEqual({ kind: 'refused' });
    expect(await store.writeNotice('b_failed_1-s', { by: 'x' }, etag)).toEqual({ kind: 'refused' });
    const claims = await Promise.all(times(5, (n) => open().writeNotice('a_failed_1-s', { by: `q${n}` }, etag)));
    expect(tally(claims.map(({ kind }) => kind))).toStrictEqual({ written: 1, refused: 4 });
    expect(await store.readNotice('a_failed_1-s')).toBe(`"${index}"`);
    const [listed] = await all(open, 10);
    expect(claims).toContainEqual({ kind: 'written', etag: listed?.etag });
  });

  test('notices are listed in order of id, page after page, and apart from everything else', async ({ open }) => {
    const store = open();
    expect(await all(open, 10)).toStrictEqual([]);
    expect(await store.readNotice('a_failed_2-s')).toBeUndefined();
    for (const id of ['b_failed_2-s', 'a_recovered_2-s', 'a_failed_2-s']) {
      await store.createNotice(id, { body: '{}', metadata: { id: id.slice(0, 1) } });
    }
    const ids = ['a_failed_2-s', 'a_recovered_2-s', 'b_failed_2-s'];
    for (const limit of [1, 2, 500]) expect((await all(open, limit)).map(({ id }) => id)).toStrictEqual(ids);
    expect((await all(open, 10)).map(({ metadata }) => metadata)).toStrictEqual([
      { id: 'a' },
      { id: 'a' },
      { id: 'b' },
    ]);
    expect((await store.list()).jobs.size).toBe(0);
    await store.deleteNotice('a_recovered_2-s');
    await store.deleteNotice('a_recovered_2-s');
    expect((await all(open, 10)).map(({ id }) => id)).toStrictEqual(['a_failed_2-s', 'b_failed_2-s']);
    expect((await store.createNotice('a_recovered_2-s', { body: '{}', metadata: {} })).kind).toBe('created');
  });
}

async function all(open: Harness['open'], limit: number): Promise<ListedNotice[]> {
  const found: ListedNotice[] = [];
  let continuation: string | undefined;
  do {
    const page = await open().listNotices({ limit, ...(continuation === undefined ? {} : { continuation }) });
    expect(page.notices.length).toBeLessThanOrEqual(limit);
    found.push(...page.notices);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
