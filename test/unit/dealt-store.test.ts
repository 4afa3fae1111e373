import { describe, expect, it } from 'vitest';
import { auditKey, encodeAudit } from '../../src/core/audit';
import type { JobName } from '../../src/core/brand';
import { FLEET } from '../../src/core/fleet';
import { shardOf } from '../../src/core/layout';
import { dealtStore } from '../../src/lease/dealt-store';
import { STORE_METHODS, withSignal, type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { requestErrorOf } from '../../src/manage/problem';
import { readOverview } from '../../src/operator/views/overview';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const A = 'https://a.blob.core.windows.net/cronlease';
const B = 'https://b.blob.core.windows.net/cronlease';
const LIST = [A, B];
const NAMES = Array.from({ length: 12 }, (_, index) => `job-${index}` as JobName);
const IN_A = NAMES.filter((name) => shardOf(name, LIST) === 0);
const IN_B = NAMES.filter((name) => shardOf(name, LIST) === 1);

/** A store that can be cut off. */
function account(location: string) {
  const clock = settableClock(Date.UTC(2026, 0, 1));
  const real: LeaseStore = { ...memoryService(clock).open(), location };
  const state = { isDown: false };
  const store = new Proxy(real, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || !state.isDown) return member;
      return () => Promise.reject(new StoreUnavailableError(`${location} does not answer`));
    },
  });
  return { store, real, state };
}

function accounts() {
  const [a, b] = [account(A), account(B)];
  return { a, b, all: dealtStore([a.store, b.store]) };
}

describe('a store with a signal', () => {
  it('gives up each call with it, also in the account of a job', async () => {
    const { all } = accounts();
    const store = withSignal(all, AbortSignal.abort(new Error('given up')));
    for (const one of [store, store.home?.('job-1' as JobName), ...(store.accounts ?? [])]) {
      await expect(one?.list()).rejects.toThrow('given up');
      await expect(one?.readNotice('id')).rejects.toThrow('given up');
    }
  });

  it('passes each call on with its arguments, and the signal behind them', async () => {
    const { signal } = new AbortController();
    const calls = STORE_METHODS.map((name) => [name, (...args: readonly unknown[]) => Promise.resolve(args)] as const);
    const store = withSignal(Object.fromEntries(calls) as unknown as LeaseStore, signal);
    const job = 'job-1' as JobName;
    expect(await store.list({ job })).toStrictEqual([{ job, signal }]);
    expect(await store.readControl(job)).toStrictEqual([job, { signal }]);
    expect(await store.readLog(job, 'key', 'name', { from: 0, limit: 1 })).toStrictEqual([
      job,
      'key',
      'name',
      { from: 0, limit: 1 },
      { signal },
    ]);
  });
});

describe('the store of several accounts', () => {
  it('is the store of the only one', () => {
    const { store } = account(A);
    expect(dealtStore([store])).toBe(store);
  });

  it('makes the calls of a job in its account, and lists the jobs of all', async () => {
    const { a, b, all } = accounts();
    for (const name of NAMES) expect(await all.createRow(name, { token: '1' })).toBe('created');
    expect([...(await a.store.list()).jobs.keys()]).toStrictEqual(IN_A);
    expect([...(await b.store.list()).jobs.keys()]).toStrictEqual(IN_B);
    const listing = await all.list();
    expect([...listing.jobs.keys()].sort()).toStrictEqual([...NAMES].sort());
    expect(listing.missing).toBeUndefined();
    for (const name of NAMES) expect([...(await all.list({ job: name })).jobs.keys()]).toStrictEqual([name]);
  });

  it('shows a job from its own account alone', async () => {
    const { a, b, all } = accounts();
    const [name] = IN_A;
    if (name === undefined) throw new Error('no job is dealt to A');
    await a.store.createRow(name, { token: '2' });
    await b.store.createRow(name, { token: '1' });
    expect((await all.list()).jobs.get(name)?.row?.metadata).toStrictEqual({ token: '2' });
    a.state.isDown = true;
    expect((await all.list()).jobs.has(name)).toBe(false);
  });

  it('names an account that does not answer, and shows the jobs of the others', async () => {
    const { b, all } = accounts();
    for (const name of NAMES) await all.createRow(name, { token: '1' });
    b.state.isDown = true;
    const listing = await all.list();
    expect([...listing.jobs.keys()]).toStrictEqual(IN_A);
    expect(listing.missing).toStrictEqual([{ location: B, reason: `${B} does not answer` }]);
    expect((await all.listPresences()).missing).toHaveLength(1);
    const { problems } = await readOverview(all, []);
    expect(problems.join()).toMatch(/b\.blob.*does not answer.*its jobs are shown without their state/);
  });

  it('fails only if none answers', async () => {
    const { a, b, all } = accounts();
    a.state.isDown = true;
    b.state.isDown = true;
    await expect(all.list()).rejects.toThrow(`${A} does not answer`);
  });

  it('puts cordons into each account, and the first one last', async () => {
    const { a, b, all } = accounts();
    b.state.isDown = true;
    await expect(all.writeControl(FLEET, { by: 'ann' }, undefined)).rejects.toThrow(B);
    expect((await all.list()).fleet).toBeUndefined();
    b.state.isDown = false;
    expect(await all.writeControl(FLEET, { by: 'ann' }, undefined)).toBe('written');
    const { control } = await all.readControl(FLEET);
    expect(await all.writeControl(FLEET, { by: 'bob' }, control?.etag)).toBe('written');
    for (const { store } of [a, b]) expect((await store.list()).fleet?.metadata).toStrictEqual({ by: 'bob' });
    expect(await all.writeControl(FLEET, { by: 'eve' }, control?.etag)).toBe('refused');
    for (const { store } of [a, b]) expect((await store.list()).fleet?.metadata).toStrictEqual({ by: 'bob' });
  });

  it('shows the oldest report of a deployment, since it ticks as a whole only if it ticks in each', async () => {
    const { a, b, all } = accounts();
    await a.store.writePresence('eu', { ticked: '2026-01-01T00:05:00.000Z' }, undefined);
    await b.store.writePresence('eu', { ticked: '2026-01-01T00:01:00.000Z' }, undefined);
    const { presences } = await all.listPresences();
    expect(presences.get('eu')?.metadata).toStrictEqual({ ticked: '2026-01-01T00:01:00.000Z' });
  });

  it.each([1, 2, 3, 7, 100])('pages through the changes of all accounts, newest first, %i at a time', async (limit) => {
    const { all } = accounts();
    const keys: string[] = [];
    for (const [index, target] of [...NAMES, ...NAMES].entries()) {
      const at = Date.UTC(2026, 0, 1, 0, index);
      const key = auditKey(at, `id${index}`);
      keys.push(key);
      const entry = { at, origin: { actor: 'ann', channel: 'cli' }, action: 'pause', target, state: 'done' } as const;
      await all.writeAudit(key, encodeAudit(entry), undefined);
    }
    const found: string[] = [];
    let continuation: string | undefined;
    do {
      const page = await all.listAudits({ limit, ...(continuation !== undefined && { continuation }) });
      expect(page.audits.length).toBeLessThanOrEqual(limit);
      found.push(...page.audits.map(({ key }) => key));
      ({ continuation } = page);
    } while (continuation !== undefined);
    expect(found).toStrictEqual(keys.sort());
  });

  it.each([
    ...['', 'x', 'null', '[]', '{}', '{"pages":[]}', '{"after":"","pages":{}}'],
    '{"after":"","pages":[{"page":5}]}',
    '{"after":1,"pages":[]}',
  ])('refuses a place that no page has given: %j', async (continuation) => {
    const { all } = accounts();
    const error = await all.listAudits({ limit: 5, continuation }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'BadCursor' });
    expect(requestErrorOf(error)).toMatchObject({ status: 400, code: 'BadCursor' });
  });

  it.each([1, 2, 5])('shows no change twice while others are made, %i at a time', async (limit) => {
    const { all } = accounts();
    const keys: string[] = [];
    const add = async (index: number): Promise<void> => {
      const [at, target] = [Date.UTC(2026, 0, 1, 0, index), NAMES[index % NAMES.length] as JobName];
      const entry = { at, origin: { actor: 'ann', channel: 'cli' }, action: 'pause', target, state: 'done' } as const;
      keys.push(auditKey(at, `id${index}`));
      await all.writeAudit(auditKey(at, `id${index}`), encodeAudit(entry), undefined);
    };
    for (let index = 0; index < 24; index += 1) await add(index);
    const before = keys.toSorted();
    const found: string[] = [];
    let continuation: string | undefined;
    do {
      const page = await all.listAudits({ limit, ...(continuation !== undefined && { continuation }) });
      found.push(...page.audits.map(({ key }) => key));
      ({ continuation } = page);
      await add(keys.length);
    } while (continuation !== undefined && keys.length < 200);
    expect(found).toStrictEqual(before);
  });
});
