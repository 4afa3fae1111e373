import { expect } from 'vitest';
import type { LeaseStore, ListedLog } from '../../../src/lease/store';
import type { Test } from '../suite';
import { JOB, jobName, tally, times } from './support';

const KEY = '8231526400000-s';
const OTHER = '8231526460000-m-abc';

/** What a run's attempts say. */
export function logCases(test: Test): void {
  test('a log is absent until created, created once, and empty at first', async ({ open }) => {
    const store = open();
    expect(await store.readLog(JOB, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
    expect(await store.appendLog(JOB, KEY, '1', { text: 'a', at: 0 })).toBe('refused');
    const answers = await Promise.all(times(10, () => open().createLog(JOB, KEY, '1')));
    expect(tally(answers)).toStrictEqual({ created: 1, exists: 9 });
    expect(await open().readLog(JOB, KEY, '1', { from: 0, limit: 10 })).toBe('');
  });

  test('text is appended at the end alone: a repeated call appends nothing twice', async ({ open }) => {
    const store = open();
    await store.createLog(JOB, KEY, '1');
    expect(await store.appendLog(JOB, KEY, '1', { text: 'one\n', at: 0 })).toBe('appended');
    expect(await open().appendLog(JOB, KEY, '1', { text: 'one\n', at: 0 })).toBe('refused');
    expect(await store.appendLog(JOB, KEY, '1', { text: 'two\n', at: 5 })).toBe('refused');
    expect(await store.appendLog(JOB, KEY, '1', { text: 'two\n', at: 4 })).toBe('appended');
    expect(await read(store, 0)).toBe('one\ntwo\n');
    expect(await store.createLog(JOB, KEY, '1')).toBe('exists');
    expect(await read(store, 0)).toBe('one\ntwo\n');
  });

  test('of many appends at one place side by side one succeeds', async ({ open }) => {
    await open().createLog(JOB, KEY, '1');
    const answers = await Promise.all(
      times(10, (index) => open().appendLog(JOB, KEY, '1', { text: `by ${index}\n`, at: 0 })),
    );
    expect(tally(answers)).toStrictEqual({ appended: 1, refused: 9 });
    expect(await read(open(), 0)).toBe(`by ${answers.indexOf('appended')}\n`);
  });

  test('a log is read from a byte on, up to a limit, and has nothing from its end on', async ({ open }) => {
    const store = open();
    await store.createLog(JOB, KEY, '1');
    await store.appendLog(JOB, KEY, '1', { text: '0123456789', at: 0 });
    expect(await read(store, 3, 4)).toBe('3456');
    expect(await read(store, 8, 4)).toBe('89');
    for (const from of [10, 11, 5_000]) expect(await read(store, from)).toBe('');
  });

  test('the logs of a run are listed in order, page after page, with their lengths', async ({ open }) => {
    const store = open();
    for (const name of ['10', '9', '9-3-1-ab']) await store.createLog(JOB, KEY, name);
    await store.appendLog(JOB, KEY, '9', { text: 'nine', at: 0 });
    await store.createLog(JOB, OTHER, '1');
    await store.createLog(jobName('other'), KEY, '1');
    const own = [
      { name: '10', bytes: 0 },
      { name: '9', bytes: 4 },
      { name: '9-3-1-ab', bytes: 0 },
    ];
    expect(await all(store, 2)).toStrictEqual(own);
    expect(await all(store, 500)).toStrictEqual(own);
    expect((await store.listLogs(JOB, '1-s', { limit: 10 })).logs).toStrictEqual([]);
    expect((await store.listRecords(JOB, { limit: 10 })).records).toStrictEqual([]);
  });

  test('text that is not ASCII, empty or too long is rejected before the call', async ({ open }) => {
    const store = open();
    await store.createLog(JOB, KEY, '1');
    for (const text of ['', 'é', '\u001b[31m', '\0', '\r\n', 'x'.repeat(4 * 1024 * 1024 + 1)]) {
      await expect(store.appendLog(JOB, KEY, '1', { text, at: 0 })).rejects.toMatchObject({ code: 'StoreLimit' });
    }
    const most = 'x'.repeat(4 * 1024 * 1024);
    expect(await store.appendLog(JOB, KEY, '1', { text: most, at: 0 })).toBe('appended');
  });
}

function read(store: LeaseStore, from: number, limit = 1_000): Promise<string | undefined> {
  return store.readLog(JOB, KEY, '1', { from, limit });
}

async function all(store: LeaseStore, limit: number): Promise<readonly ListedLog[]> {
  const found: ListedLog[] = [];
  let continuation: string | undefined;
  do {
    const page = await store.listLogs(JOB, KEY, { limit, ...(continuation === undefined ? {} : { continuation }) });
    found.push(...page.logs);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
