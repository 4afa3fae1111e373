import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { followLog } from '../../src/cli/show/logs';
import type { JobName, Token } from '../../src/core/brand';
import { type LogEntry, storeEntries } from '../../src/core/log-entry';
import { recordKey } from '../../src/core/key';
import { type RecordedEnd, finalRecord, openRecord, storeRecord, stretchRecord } from '../../src/core/record';
import type { LeaseStore } from '../../src/lease/store';
import { findRun } from '../../src/operator/views/find-record';
import { type LogRequest, type TokenedEntry, inOrder, readLog } from '../../src/operator/views/read-log';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../../src/testing/clock';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';
import { runs } from '../support/runs';

const A = 'a' as JobName;
const KEY = recordKey(T0);
const SPEC = jobSpec('a', '@daily');

let store: LeaseStore;
let calls: string[];
beforeEach(() => {
  calls = [];
  store = new Proxy(memoryService(settableClock(T0)).open(), {
    get: (target, method: keyof LeaseStore) => {
      calls.push(method);
      return target[method];
    },
  });
});

const entry = (n: number, text: string, at = n, attempt = 1): LogEntry => ({
  ...{ n, at: new Date(T0 + at).toISOString(), attempt, level: 'info', text },
});

async function append(name: string, entries: readonly LogEntry[] | string, on = store): Promise<void> {
  await on.createLog(A, KEY, name);
  const before = await on.readLog(A, KEY, name, { from: 0, limit: Infinity });
  const text = typeof entries === 'string' ? entries : storeEntries(entries);
  expect(await on.appendLog(A, KEY, name, { text, at: before?.length ?? 0 })).toBe('appended');
}

async function end(said: Pick<RecordedEnd, 'log' | 'progress'>, token = 1, on = store): Promise<void> {
  const row = ranRow(SPEC, { token: token as Token });
  const record = finalRecord(SPEC, row, [], { outcome: 'succeeded', reason: 'completed', at: T0 + 9_000, ...said });
  await on.createRecord(A, row.run?.key ?? '', storeRecord(record));
}

const texts = (entries: readonly (LogEntry | TokenedEntry)[]): string[] =>
  entries.map((one) => ('text' in one ? one.text : JSON.stringify(one)));

async function read(request: LogRequest = {}) {
  calls = [];
  const page = await readLog(store, A, KEY, request);
  return { ...page, texts: texts(page.entries) };
}

describe('the log of a run', () => {
  it('that is silent so far is empty, and has not ended', async () => {
    expect(await read()).toMatchObject({ texts: [], ended: false, leftOut: 0, progress: undefined });
  });

  it('that lies in the record costs one call', async () => {
    await end({ progress: { fraction: 1 }, log: { kept: 'inline', entries: [entry(1, 'a'), entry(2, 'b')] } });
    expect(await read()).toMatchObject({ texts: ['a', 'b'], ended: true, progress: { fraction: 1 } });
    expect(calls).toEqual(['readRecord']);
  });

  it('ends with what each attempt threw, with its causes and without the frames of packages', async () => {
    const sim = rivalTicks({
      jobs: [
        jobSpec('a', '@hourly', { retry: { attempts: 2, backoffMs: 0, factor: 1, maxBackoffMs: 0, jitter: 'none' } }),
      ],
      handler({ log, attempt }) {
        log(`attempt ${String(attempt)}`);
        const cause = Object.assign(new Error(''), { code: 'ECONNREFUSED', stack: undefined });
        const error = new TypeError('fetch failed', { cause });
        error.stack =
          'TypeError: fetch failed\n    at charge (/app/charge.js:4:2)\n    at run (/app/node_modules/x/y.js:1:1)';
        throw error;
      },
    });
    await sim.clock.advance(65 * 60_000);
    const { records } = await sim.store.listRecords(A, { limit: 1 });
    const page = await readLog(sim.store, A, records[0]?.key ?? '');
    const thrown = 'TypeError: fetch failed\n    at charge (/app/charge.js:4:2)\nCaused by: Error: ECONNREFUSED';
    expect(page.entries.map((one) => ('error' in one ? one.error : texts([one])[0]))).toEqual([
      ...['attempt 1', thrown, 'attempt 2', thrown],
    ]);
    expect(page.entries[1]).toMatchObject({ n: 1, attempt: 1, token: page.entries[0]?.token });
    // Whoever follows it gets each of them once.
    expect((await readLog(sim.store, A, records[0]?.key ?? '', { from: page.next })).entries).toEqual([]);
  });

  it('is followed from page to page, each line once, for two calls and one for each log that grew', async () => {
    await append('1', [entry(1, 'a')]);
    const first = await read();
    expect(first).toMatchObject({ texts: ['a'], ended: false });
    expect(calls).toEqual(['readRecord', 'listLogs', 'readLog']);
    const second = await read({ from: first.next });
    expect(second).toMatchObject({ texts: [], ended: false });
    expect(calls).toEqual(['readRecord', 'listLogs']);
    await append('1', [entry(2, 'b'), entry(3, 'c')]);
    // The record repeats a line whose append was under way.
    await end({ log: { kept: 'blob', entries: [entry(3, 'c'), entry(4, 'd')] } });
    const third = await read({ from: second.next });
    expect(third).toMatchObject({ texts: ['b', 'c', 'd'], ended: true });
    expect(await read({ from: third.next })).toMatchObject({ texts: [], ended: true });
  });

  it('names a gap of the record without the lines that were written after all', async () => {
    await append('1', [entry(1, 'a'), entry(2, 'b')]);
    const gap = { n: 2, at: new Date(T0 + 2).toISOString(), attempt: 1, gap: { lines: 3, why: 'storage' as const } };
    await end({ log: { kept: 'blob', entries: [gap, entry(5, 'e')] } });
    const { entries } = await read();
    expect(entries).toMatchObject([{ n: 1 }, { n: 2, text: 'b' }, { n: 3, gap: { lines: 2 } }, { n: 5, text: 'e' }]);
  });

  it('has its attempts in order, and within each the time', async () => {
    await append('10', [entry(1, 'second attempt', 50, 2)]);
    await append('9', [entry(1, 'first', 10), entry(2, 'later', 90)]);
    await append('9-4-1-abc', [{ ...entry(1, 'item', 20), item: 4 }]);
    await end({ log: { kept: 'blob', entries: [entry(2, 'last', 60, 2)] } }, 10);
    const page = await read();
    expect(page.texts).toEqual(['first', 'item', 'later', 'second attempt', 'last']);
    expect(page.entries.map(({ token }) => token)).toEqual([9, 9, 9, 10, 10]);
    expect((await read({ item: 4 })).texts).toEqual(['item']);
    expect((await read({ item: 5 })).texts).toEqual([]);
  });

  it('keeps the order of lines whose clock was set back', async () => {
    await append('9', [entry(1, 'a', 500), entry(2, 'b', 100), entry(3, 'c', 600)]);
    await append('9-4-1-abc', [{ ...entry(1, 'item', 550), item: 4 }]);
    expect((await read()).texts).toEqual(['a', 'b', 'item', 'c']);
  });

  it('shows 200 logs of items at most, and how many are left out', async () => {
    await append('9', [entry(1, 'planned')]);
    for (let item = 0; item < 250; item += 1)
      await append(`9-${String(item)}-1-a`, [{ ...entry(1, `item ${String(item)}`), item }]);
    const page = await read();
    expect(page.leftOut).toBe(51);
    expect(page.texts).toHaveLength(200);
    expect((await read({ item: 249 })).texts).toEqual(['item 249']);
    await end({});
    let { next, ended } = page;
    for (let more = 0; more < 3 && !ended; more += 1) ({ next, ended } = await read({ from: next }));
    expect(ended).toBe(true);
  });

  it('is followed while more items begin than it shows, in any order', async () => {
    const begin = async (from: number): Promise<void> => {
      for (let item = from; item < 400; item += 2) {
        const name = String(item);
        await append(`1-${name}-1-${name}`, [{ ...entry(1, `item ${name}`), item }]);
      }
    };
    await begin(1);
    const first = await read();
    expect(first.texts).toHaveLength(200);
    await begin(0);
    const second = await read({ from: first.next });
    expect(second.texts).toEqual(Array.from({ length: 100 }, (_, index) => `item ${String(2 * index)}`));
    expect(await read({ from: second.next })).toMatchObject({ texts: [], ended: false, leftOut: 200 });
  });

  it('is followed on a terminal, which tells once that items are left out', async () => {
    const said: string[] = [];
    const take = (text: unknown): boolean => said.push(String(text)) > 0;
    const spies = [process.stdout, process.stderr].map((to) => vi.spyOn(to, 'write').mockImplementation(take as never));
    await append('1', [entry(1, 'begun')]);
    const followed = followLog(store, { name: A }, { key: KEY, runId: 'r', isOver: false }, {});
    await vi.waitFor(() => expect(said.join('')).toContain('begun'));
    for (let item = 0; item < 202; item += 1) {
      const name = String(item);
      await append(`1-${name}-1-${name}`, [{ ...entry(1, `item ${name}`), item }]);
    }
    await vi.waitFor(() => expect(said.join('')).toContain('item 0'), { timeout: 10_000 });
    await end({ log: { kept: 'blob', entries: [entry(2, 'over')] } });
    expect(await followed).toBe(0);
    for (const spy of spies) spy.mockRestore();
    expect(said.filter((text) => text.includes('left out'))).toEqual([expect.stringMatching(/3 logs of items/)]);
  });

  it('is read past what others wrote', async () => {
    await append('1', `{"n":1}\nnonsense\n${storeEntries([entry(2, 'mine')])}`);
    await append('1', 'x'.repeat(300_000));
    await append('1', `\n${storeEntries([entry(3, 'too')])}`);
    await append('foreign', 'a\n');
    await append('1-x-1-a', 'a\n');
    await end({});
    const found: string[] = [];
    let page = await read({ bytes: 1_000 });
    for (let turns = 0; turns < 20 && !page.ended; turns += 1) {
      found.push(...page.texts);
      page = await read({ bytes: 1_000, from: page.next });
    }
    expect([...found, ...page.texts]).toEqual(['mine', 'too']);
    expect(page.ended).toBe(true);
  });

  it('of a record that cannot be read has what the logs have', async () => {
    await append('1', [entry(1, 'a')]);
    await store.createRecord(A, KEY, { body: 'nonsense', summary: {} });
    expect(await read()).toMatchObject({ texts: ['a'], ended: true });
  });

  it('with a record that is open has not ended', async () => {
    await store.createRecord(A, KEY, storeRecord(openRecord(SPEC, ranRow(SPEC, {}), [])));
    await append('1', [entry(1, 'a')]);
    expect(await read()).toMatchObject({ texts: ['a'], ended: false });
  });

  it.each(['x', '_', 'r_1', '_1.2', '_a/b.1.2', `_${'1.1.1_'.repeat(300)}`, '_1.-1.0', '_1.1.1e9'])(
    'cannot be read from %j',
    async (from) => {
      await expect(read({ from })).rejects.toMatchObject({ code: 'BadCursor' });
    },
  );

  it('is the same in pages of any size, whatever is appended meanwhile', async () => {
    const logs = fc.array(
      fc.record({
        name: fc.constantFrom('1', '2', '2-0-1-a', '2-1-2-b'),
        text: fc.string({ unit: 'binary', maxLength: 60 }),
        length: fc.constantFrom(1, 1, 1, 40_000),
      }),
      { minLength: 1, maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(logs, fc.integer({ min: 1, max: 400_000 }), fc.nat(30), async (said, bytes, before) => {
        const own = memoryService(settableClock(T0)).open();
        const numbers = new Map<string, number>();
        const say = async ({ name, text, length }: (typeof said)[number]): Promise<void> => {
          const n = (numbers.get(name) ?? 0) + 1;
          numbers.set(name, n);
          await append(name, [entry(n, `${name} ${String(n)} ${text.repeat(length).slice(0, 8_000)}`)], own);
        };
        for (const one of said.slice(0, before)) await say(one);
        const found = [];
        let page = await readLog(own, A, KEY, { bytes });
        found.push(...page.entries);
        for (const one of said.slice(before)) await say(one);
        await end({ log: { kept: 'blob', entries: [entry(1_000, 'the end', 1_000, 2)] } }, 2, own);
        for (let turns = 0; turns < 200 && !page.ended; turns += 1) {
          page = await readLog(own, A, KEY, { bytes, from: page.next });
          found.push(...page.entries);
        }
        expect(page.ended).toBe(true);
        const whole = await readLog(own, A, KEY, { bytes: Infinity });
        expect(whole.entries).toHaveLength(said.length + 1);
        const sorted = (entries: readonly TokenedEntry[]): string[] => texts(entries).toSorted();
        expect(sorted(found)).toEqual(sorted(whole.entries));
        expect(inOrder(whole.entries)).toEqual(whole.entries);
      }),
      { numRuns: runs(60) },
    );
  });
});

describe('the run whose log is meant', () => {
  it('is the current or the last one, or that of a time', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '0 * * * *')] });
    await sim.clock.advance(20_000);
    await expect(findRun(sim.store, A, undefined)).rejects.toMatchObject({
      code: 'NoRun',
      message: 'job "a" has not run yet',
    });
    await sim.clock.advance(2 * 3_600_000);
    const last = { key: recordKey(T0 + 2 * 3_600_000), runId: 'a-20260101T020000Z', isOver: true };
    expect(await findRun(sim.store, A, undefined)).toEqual(last);
    expect(await findRun(sim.store, A, T0 + 2 * 3_600_000)).toEqual(last);
    expect(await findRun(sim.store, A, T0 + 3_600_000)).toMatchObject({ runId: 'a-20260101T010000Z' });
    await expect(findRun(sim.store, A, T0 + 1)).rejects.toMatchObject({ code: 'NoRun' });
    // Retention deletes its record: no caller waits for its end all the same.
    sim.service.deleteRecord(A, last.key);
    const { key, isOver } = await findRun(sim.store, A, undefined);
    expect((await readLog(sim.store, A, key, { isOver })).ended).toBe(true);
    expect((await readLog(sim.store, A, key)).ended).toBe(false);
  });

  it('is none where nothing ran, and says why not', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '0 * * * *')] });
    await sim.clock.advance(20_000);
    const stretch = { outcome: 'disabled', reason: 'disabled', from: T0, through: T0 + 7_200_000, count: 3 } as const;
    const { key, record } = stretchRecord(A, stretch);
    await sim.store.createRecord(A, key, storeRecord(record));
    await expect(findRun(sim.store, A, T0 + 3_600_000)).rejects.toMatchObject({
      code: 'NoRun',
      message: expect.stringMatching(/did not run at 2026-01-01T01:00:00.000Z: disabled\. "cronlease why a 2026/),
    });
  });
});
