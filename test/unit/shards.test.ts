import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { decodeControl, encodeControl, NO_CONTROL } from '../../src/core/control';
import { encodeFleet, FLEET } from '../../src/core/fleet';
import { decodeLayout, LAYOUT, shardOf } from '../../src/core/layout';
import { recordKey } from '../../src/core/key';
import { decodeRow } from '../../src/core/row';
import { dealtStore } from '../../src/lease/dealt-store';
import type { LeaseStore } from '../../src/lease/store';
import { copyRecord } from '../../src/operator/shards/move';
import { applyShards, surveyAccounts } from '../../src/operator/shards/apply';
import { LOCATIONS, NAMES, T0, WAIT_MS, type World, makeRow, world } from '../support/accounts';

/** Where the rows that count lie, by job, with their tokens. */
async function rowsOf({ stores }: World): Promise<Record<string, readonly [account: number, token: number]>> {
  const found: Record<string, readonly [number, number]> = {};
  for (const [index, store] of stores.entries()) {
    for (const [name, { row }] of (await store.list()).jobs) {
      if (row?.metadata['format'] !== '1') continue;
      expect(found[name], `${name} has two rows`).toBeUndefined();
      found[name] = [index, decodeRow(row.metadata).token];
    }
  }
  return found;
}

function dealt(list: readonly number[], token = 7): Record<string, readonly [number, number]> {
  const accounts = list.map((index) => LOCATIONS[index] ?? '');
  return Object.fromEntries(NAMES.map((name) => [name, [list[shardOf(name, accounts)] ?? -1, token]]));
}

async function layoutIn(store: LeaseStore | undefined) {
  const control = (await store?.readControl(LAYOUT))?.control;
  return control === undefined ? undefined : decodeLayout(control.metadata);
}

function movers(list: readonly number[]): JobName {
  const name = NAMES.find((one) => dealt(list)[one]?.[0] !== 0);
  if (name === undefined) throw new Error('every job stays');
  return name;
}

describe('a change of the list of accounts', () => {
  it('moves the jobs that are dealt elsewhere, with their tokens, and settles the layouts', async () => {
    const all = world();
    for (const name of NAMES) await makeRow(all.stores[0] as LeaseStore, name);
    const { settled, moved, version } = await all.apply([0, 1]);
    expect([settled, version]).toStrictEqual([true, 1]);
    expect(moved).toStrictEqual(NAMES.filter((name) => dealt([0, 1])[name]?.[0] === 1));
    expect(await rowsOf(all)).toStrictEqual(dealt([0, 1]));
    for (const index of [0, 1]) {
      expect(await layoutIn(all.stores[index])).toMatchObject({ state: 'settled', version: 1, left: false });
    }
    expect(await layoutIn(all.stores[2])).toBeUndefined();
  });

  it('writes layouts alone into accounts that are empty, and nothing if nothing is to do', async () => {
    const all = world();
    expect((await surveyAccounts(all.changeTo([0, 1]))).isSettled).toBe(false);
    expect(await all.apply([0, 1])).toStrictEqual({ settled: true, moved: [], refused: [], version: 1 });
    expect(await all.apply([1, 0])).toStrictEqual({ settled: true, moved: [], refused: [], version: 1 });
    expect(await layoutIn(all.stores[0])).toMatchObject({ version: 1 });
  });

  it('needs no layout for one account that never had a list', async () => {
    const all = world();
    await makeRow(all.stores[0] as LeaseStore, 'job-0' as JobName);
    expect(await all.apply([0])).toMatchObject({ settled: true, version: 0 });
    expect(await layoutIn(all.stores[0])).toBeUndefined();
  });

  it('lets no token go back, however often a job moves', async () => {
    const all = world();
    for (const name of NAMES) await makeRow(all.stores[0] as LeaseStore, name);
    await all.apply([0, 1]);
    await all.apply([0], [1]);
    expect(await rowsOf(all)).toStrictEqual(dealt([0]));
    expect(await layoutIn(all.stores[1])).toMatchObject({ state: 'settled', left: true, version: 2 });
    await all.apply([0, 1, 2]);
    expect(await rowsOf(all)).toStrictEqual(dealt([0, 1, 2]));
    expect(await layoutIn(all.stores[1])).toMatchObject({ left: false, version: 3 });
  });

  it('takes control, inputs of waiting requests and the newest records along', async () => {
    const all = world();
    const [a, b] = all.stores as [LeaseStore, LeaseStore];
    const job = movers([0, 1]);
    const keys = Array.from({ length: 30 }, (_, index) => recordKey(T0 - index * 60_000));
    for (const key of keys)
      await a.createRecord(job, key, { body: `{"of":"${key}"}`, summary: { outcome: 'succeeded' } });
    await makeRow(a, job);
    const asked = { number: 1, id: 'r1', time: T0, hasInput: true } as const;
    const pause = { by: 'ann', note: 'moving', since: T0, until: undefined };
    const control = encodeControl({ ...NO_CONTROL, pauses: [pause], manualRuns: [asked] });
    await a.writeControl(job, control, undefined);
    await a.createRequest('r1', '{"x":1}');
    await all.apply([0, 1]);
    expect(decodeControl((await b.readControl(job)).control?.metadata ?? {})).toMatchObject({ pauses: [pause] });
    expect((await a.readControl(job)).control).toBeUndefined();
    expect(await b.readRequest('r1')).toBe('{"x":1}');
    const { records } = await b.listRecords(job, { limit: 100 });
    expect(records.map(({ key }) => key)).toStrictEqual(keys.slice(0, 20));
    expect(records[0]?.summary).toStrictEqual({ outcome: 'succeeded' });
    expect((await a.listRecords(job, { limit: 100 })).records).toHaveLength(30);
  });

  it('takes the records of a back-fill along, by which it skips and counts', async () => {
    const all = world();
    const [a, b] = all.stores as [LeaseStore, LeaseStore];
    const job = movers([0, 1]);
    const minute = (n: number): number => T0 - n * 60_000;
    for (let n = 0; n < 60; n += 1) {
      await a.createRecord(job, recordKey(minute(n)), { body: '{}', summary: { outcome: 'succeeded' } });
    }
    const filled = recordKey(minute(50), 'f1');
    const summary = { state: 'final', outcome: 'failed', trigger: 'backfill' };
    await a.createRecord(job, filled, { body: '{"state":"final"}', summary });
    await makeRow(a, job);
    const backfill = {
      ...{ id: 'f1', from: minute(51), through: minute(41), order: 'oldest' as const, includeSucceeded: false, at: T0 },
      ...{ scheduleHash: 'f'.repeat(16), origin: { actor: 'ann', channel: 'shell' }, stopped: undefined },
    };
    await a.writeControl(job, encodeControl({ ...NO_CONTROL, backfill }), undefined);
    await all.apply([0, 1]);
    const { records } = await b.listRecords(job, { limit: 100 });
    const span = Array.from({ length: 11 }, (_, n) => recordKey(minute(41 + n)));
    const newest = Array.from({ length: 20 }, (_, n) => recordKey(minute(n)));
    expect(records.map(({ key }) => key)).toStrictEqual([...newest, ...span, filled].toSorted());
  });

  it('takes cordons into accounts that join the list, in the place of what they had when they left it', async () => {
    const all = world();
    const [a, b] = all.stores as [LeaseStore, LeaseStore];
    for (const name of NAMES) await makeRow(a, name);
    const cordoned = (deployment: string) =>
      encodeFleet({ cordons: [{ deployment, by: 'ann', note: 'a bad build', since: T0 }], maintenance: [] });
    await a.writeControl(FLEET, cordoned('east'), undefined);
    await all.apply([0, 1]);
    expect((await b.list()).fleet?.metadata).toStrictEqual(cordoned('east'));
    await all.apply([0], [1]);
    await a.writeControl(FLEET, cordoned('west'), (await a.list()).fleet?.etag);
    await all.apply([0, 1]);
    expect((await b.list()).fleet?.metadata).toStrictEqual(cordoned('west'));
  });

  it('leaves a job whose lease is held where it is, stays unsettled, and ends when it is repeated', async () => {
    const all = world();
    const [a] = all.stores as [LeaseStore];
    for (const name of NAMES) await makeRow(a, name);
    const job = movers([0, 1]);
    const hold = async (): Promise<void> => {
      const row = await a.readRow(job);
      await a.acquire(job, {
        leaseId: `${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}` as LeaseId,
        leaseMs: 60_000,
        ifMatch: row?.etag ?? ('' as never),
      });
    };
    const answer = applyShards(all.changeTo([0, 1]));
    await all.clock.advance(WAIT_MS - 1_000);
    await hold();
    await all.clock.advance(WAIT_MS);
    expect(await answer).toMatchObject({ settled: false, refused: [{ job, code: 'LeaseHeld' }] });
    expect(await layoutIn(a)).toMatchObject({ state: 'changing' });
    await all.clock.advance(60_000);
    expect(await all.apply([0, 1])).toMatchObject({ settled: true, moved: [job], version: 1 });
    expect(await rowsOf(all)).toStrictEqual(dealt([0, 1]));
  });

  it('moves a job too that a deployment creates in its former account before it has seen the change', async () => {
    const all = world();
    const [a] = all.stores as [LeaseStore];
    const job = movers([0, 1]);
    const answer = applyShards(all.changeTo([0, 1]));
    await all.clock.advance(WAIT_MS - 1_000);
    await makeRow(a, job);
    await all.clock.advance(WAIT_MS);
    expect(await answer).toMatchObject({ settled: true, moved: [job] });
    expect(await rowsOf(all)).toStrictEqual({ [job]: [1, 7] });
  });

  it('stays unsettled if a job is created in its former account while others move, and moves it when repeated', async () => {
    const all = world();
    const [a, b] = all.stores as [LeaseStore, LeaseStore];
    const [mover, late] = NAMES.filter((name) => dealt([0, 1])[name]?.[0] === 1) as [JobName, JobName];
    await makeRow(a, mover);
    const createRow = b.createRow.bind(b);
    Object.assign(b, {
      createRow: async (...parameters: Parameters<typeof createRow>) => {
        await makeRow(a, late);
        return createRow(...parameters);
      },
    });
    await expect(all.apply([0, 1])).rejects.toMatchObject({
      code: 'Contended',
      message: expect.stringContaining(`"${late}"`),
    });
    for (const store of [a, b]) expect(await layoutIn(store)).toMatchObject({ state: 'changing' });
    expect(await all.apply([0, 1])).toMatchObject({ settled: true, moved: [late], version: 1 });
    expect(await rowsOf(all)).toStrictEqual({ [mover]: [1, 7], [late]: [1, 7] });
  });

  it('moves no run that is not over, unless it is to be ended', async () => {
    const all = world();
    const [a, b] = all.stores as [LeaseStore, LeaseStore];
    const job = movers([0, 1]);
    const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule', since: T0 } as const;
    await makeRow(a, job, { run, phase: 'retrying', attempt: 1, notBefore: T0 + 3_600_000 });
    expect(await all.apply([0, 1])).toMatchObject({ settled: false, refused: [{ job, code: 'RunGoesOn' }] });
    expect(await all.apply([0, 1], [], true)).toMatchObject({ settled: true, moved: [job] });
    expect((await b.readRow(job))?.metadata['token']).toBe('8');
    const record = await b.readRecord(job, run.key);
    expect(JSON.parse(record?.body ?? '{}')).toMatchObject({ outcome: 'cancelled' });
  });

  it('is refused where an account is missing that may hold jobs', async () => {
    const all = world();
    await all.apply([0, 1]);
    await expect(all.apply([0, 2])).rejects.toMatchObject({
      code: 'AccountMissing',
      message: expect.stringContaining('--leaving'),
    });
    expect(await all.apply([0, 2], [1])).toMatchObject({ settled: true, version: 2 });
  });

  it('is refused where both accounts have run a job by themselves', async () => {
    const all = world();
    const job = movers([0, 1]);
    for (const index of [0, 1]) await makeRow(all.stores[index] as LeaseStore, job);
    await expect(all.apply([0, 1])).rejects.toMatchObject({ code: 'TwoRows' });
    expect(await layoutIn(all.stores[0])).toBeUndefined();
  });

  it('leaves what another program wrote unreadable, and moves the others', async () => {
    const all = world();
    const [a] = all.stores as [LeaseStore];
    const job = movers([0, 1]);
    for (const name of NAMES) if (name !== job) await makeRow(a, name);
    await a.createRow(job, { hello: 'world' });
    expect(await all.apply([0, 1])).toMatchObject({ settled: false, refused: [{ job, code: 'ForeignMetadata' }] });
  });

  it.each([
    { isLost: false, end: 'before any of its calls' },
    { isLost: true, end: 'with the answer of any of its calls lost' },
  ])('cut off $end and begun again, leaves each job in one account, with its token', async ({ isLost }) => {
    let calls = 0;
    for (let cut = 0; ; cut += 1) {
      const all = world();
      const [a] = all.stores as [LeaseStore];
      for (const name of NAMES.slice(0, 3)) await makeRow(a, name);
      const job = movers([0, 1, 2]);
      await makeRow(a, job);
      await a.writeControl(job, encodeControl({ ...NO_CONTROL, cancel: 'x' }), undefined);
      await a.createRecord(job, recordKey(T0), { body: '{}', summary: { outcome: 'succeeded' } });
      Object.assign(all.state, { left: cut, isLost });
      const end = await all.apply([0, 1, 2]).then(
        () => 'done',
        () => 'cut',
      );
      all.state.left = Infinity;
      // Meanwhile its leases end. Every other time the operator has changed their mind.
      await all.clock.advance(60_000);
      const list = cut % 2 === 0 ? [0, 1, 2] : [1, 2];
      const answer = await all.apply(list, list.length === 3 ? [] : [0]);
      expect(answer).toMatchObject({ settled: true });
      const expected = dealt(list);
      const rows = await rowsOf(all);
      expect(new Set(Object.keys(rows))).toStrictEqual(new Set([...NAMES.slice(0, 3), job]));
      for (const [name, place] of Object.entries(rows)) expect(place).toStrictEqual(expected[name]);
      const composite = dealtStore(list.map((index) => all.stores[index] as LeaseStore));
      expect((await composite.readControl(job)).control?.metadata).toMatchObject({ cancel: 'x' });
      expect((await composite.listRecords(job, { limit: 5 })).records).toHaveLength(1);
      calls = cut;
      if (end === 'done') break;
    }
    expect(calls).toBeGreaterThan(40);
  });
});

describe('a record that is copied alone', () => {
  it('has its summary, although the first page of the listing is empty', async () => {
    const [job, key] = ['j' as JobName, '8231526400000-s'];
    const summary = { outcome: 'open' };
    const copies: unknown[] = [];
    const from = {
      readRecord: () => Promise.resolve({ body: '{}', etag: '"1"' }),
      listRecords: (_job: JobName, { continuation }: { readonly continuation?: string }) =>
        Promise.resolve(
          continuation === undefined
            ? { records: [], continuation: 'next' }
            : { records: [{ key, etag: '"1"', summary }], continuation: undefined },
        ),
    } as unknown as LeaseStore;
    const to = {
      createRecord: (...args: readonly unknown[]) => {
        copies.push(args[2]);
        return Promise.resolve({ kind: 'created' });
      },
    } as unknown as LeaseStore;
    expect(await copyRecord({ job, from: { store: from }, to: { store: to } }, key)).toBe(true);
    expect(copies).toEqual([{ body: '{}', summary }]);
  });
});
