import { expect } from 'vitest';
import type { ETag } from '../../../src/core/brand';
import type { ListedAudit } from '../../../src/lease/store';
import type { Harness, Test } from '../suite';
import { tally, times } from './support';

/** What people changed. */
export function auditCases(test: Test): void {
  test('an entry is written once under its key, and replaced by whoever knows its last version', async ({ open }) => {
    const store = open();
    const answers = await Promise.all(times(10, (index) => open().writeAudit('1-a', { by: `p${index}` }, undefined)));
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ written: 1, refused: 9 });
    const first = answers.find(({ kind }) => kind === 'written');
    if (first?.kind !== 'written') throw new Error('none was written');
    expect(await store.writeAudit('1-a', { by: 'x' }, '"0xabc"' as ETag)).toEqual({ kind: 'refused' });
    expect(await store.writeAudit('1-b', { by: 'x' }, first.etag)).toEqual({ kind: 'refused' });
    expect(await store.writeAudit('1-a', { by: 'ann', state: 'done' }, first.etag)).toMatchObject({ kind: 'written' });
    expect(await store.writeAudit('1-a', { by: 'x' }, first.etag)).toEqual({ kind: 'refused' });
    expect(await all(open, 10)).toStrictEqual([{ key: '1-a', metadata: { by: 'ann', state: 'done' } }]);
  });

  test('entries are listed in order of key, page after page, and apart from everything else', async ({ open }) => {
    const store = open();
    expect(await all(open, 10)).toStrictEqual([]);
    for (const key of ['82-b', '81-c', '82-a']) await store.writeAudit(key, { key }, undefined);
    const keys = ['81-c', '82-a', '82-b'];
    for (const limit of [1, 2, 500]) expect((await all(open, limit)).map(({ key }) => key)).toStrictEqual(keys);
    expect((await store.list()).jobs.size).toBe(0);
  });
}

async function all(open: Harness['open'], limit: number): Promise<ListedAudit[]> {
  const found: ListedAudit[] = [];
  let continuation: string | undefined;
  do {
    const page = await open().listAudits({ limit, ...(continuation === undefined ? {} : { continuation }) });
    expect(page.audits.length).toBeLessThanOrEqual(limit);
    found.push(...page.audits);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
