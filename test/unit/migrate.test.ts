import { describe, expect, it } from 'vitest';
import type { ETag, JobName } from '../../src/core/brand';
import { decodeControl, encodeControl, NO_CONTROL } from '../../src/core/control';
import { given } from '../../src/core/given';
import { parseRecordKey, parseRunId, recordKey } from '../../src/core/key';
import { allowanceOf, decodeLayout, LAYOUT } from '../../src/core/layout';
import { storeRecord, stretchRecord } from '../../src/core/record';
import { decodeRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { changeControl } from '../../src/operator/change-control';
import { migrate, surveyMigration, type Applied } from '../../src/operator/shards/apply';
import { once, type RequestedRun } from '../../src/operator/operations/once';
import { requestRun } from '../../src/operator/operations/run';
import type { LeaseTaker } from '../../src/operator/operations/take-lease';
import { T0, WAIT_MS, type World, makeRow, world } from '../support/accounts';
import { jobSpec } from '../support/job';

const JOBS = ['daily', 'hourly'] as JobName[];
const RECORDS = 60;
const PAUSED = { ...NO_CONTROL, pauses: [{ by: 'ann', note: 'moving', since: T0, until: undefined }] };

/** Two stores; the first one has jobs, with more records than a change of accounts takes along. */
async function stores() {
  const all = world();
  const [a, b] = all.stores as [LeaseStore, LeaseStore];
  const [from, to] = all.desks as [LeaseTaker, LeaseTaker];
  for (const job of JOBS) {
    await makeRow(a, job);
    for (let index = 0; index < RECORDS; index += 1) {
      const key = recordKey(T0 - index * 60_000);
      await a.createRecord(job, key, { body: `{"of":"${key}"}`, summary: { outcome: 'succeeded' } });
    }
  }
  const [job] = JOBS as [JobName];
  const open = { body: '{"state":"open"}', summary: { outcome: 'open' } };
  await a.createRecord(job, recordKey(T0 + 60_000), open);
  await a.writeControl(job, encodeControl(PAUSED), undefined);
  const copies: (readonly [job: string, records: number])[] = [];
  const move = async (endRuns = false): Promise<Applied> => {
    const copied = (name: JobName, records: number) => void copies.push([name, records]);
    const answer = migrate({ from, to, waitMs: WAIT_MS, endRuns, copied });
    answer.catch(() => undefined);
    await all.clock.advance(2 * WAIT_MS);
    return answer;
  };
  return { all, a, b, from, to, job, copies, move };
}

/** Whether a deployment with only this store may claim there. */
async function mayClaim(store: LeaseStore): Promise<string> {
  const { control } = await store.readControl(LAYOUT);
  const layout = control === undefined ? undefined : decodeLayout(control.metadata);
  return allowanceOf({ accounts: [store.location], index: 0 }, layout).claims;
}

async function keysIn(store: LeaseStore, job: JobName): Promise<number> {
  return (await store.listRecords(job, { limit: 500 })).records.length;
}

describe('a move to another store', () => {
  it('takes rows with their tokens, controls and the whole ledger, and leaves one store that may claim', async () => {
    const { a, b, job, copies, move, from, to } = await stores();
    expect((await surveyMigration({ from, to })).misplaced.map((one) => one.job)).toEqual(JOBS);
    expect(await move()).toMatchObject({ settled: true, moved: JOBS, refused: [] });
    expect(copies).toEqual([
      ['daily', RECORDS],
      ['hourly', RECORDS],
    ]);
    for (const name of JOBS) expect(decodeRow((await b.readRow(name))?.metadata ?? {}).token).toBe(7);
    expect([await keysIn(b, JOBS[0] as JobName), await keysIn(b, JOBS[1] as JobName)]).toEqual([RECORDS + 1, RECORDS]);
    expect(decodeControl((await b.readControl(job)).control?.metadata ?? {}).pauses).toHaveLength(1);
    expect([await mayClaim(a), await mayClaim(b)]).toEqual(['none', 'all']);
    expect((await surveyMigration({ from, to })).isSettled).toBe(true);
  });

  it('takes the inputs of manual runs along, so that a rerun has the same', async () => {
    const { a, b, job, move } = await stores();
    const body = JSON.stringify({ state: 'final' });
    for (const [id, trigger] of [
      ['r1', 'manual'],
      ['f1', 'backfill'],
    ] as const) {
      await a.createRequest(id, `{"of":"${id}"}`);
      await a.createRecord(job, recordKey(T0 - 30_000, id), { body, summary: { state: 'final', trigger } });
    }
    await move();
    expect([await b.readRequest('r1'), await b.readRequest('f1')]).toEqual(['{"of":"r1"}', undefined]);
  });

  it('takes the keys of requests along, so that one that is sent again is the same request', async () => {
    const { a, b, move } = await stores();
    const ask = (store: LeaseStore, name: JobName): Promise<RequestedRun> => {
      const spec = jobSpec(name, '@manual');
      const key = { name: `of ${name}`, content: 'a request' };
      return once(store, spec, key, (named) => requestRun({ store }, spec, named));
    };
    const [waits, over] = JOBS as [JobName, JobName];
    const [waiting, ended] = [await ask(a, waits), await ask(a, over)];
    const { request } = parseRecordKey(parseRunId(ended.runId)?.key ?? '') ?? {};
    const at = { from: ended.requestedAt, through: ended.requestedAt, count: 1, ...given({ request }) };
    const { key, record } = stretchRecord(over, { outcome: 'expired', reason: 'catchUpWindow', ...at });
    await a.createRecord(over, key, storeRecord(record));
    await a.removeControl(over, (await a.readControl(over)).control?.etag as ETag);
    await move();
    expect(await ask(b, waits)).toMatchObject({ runId: waiting.runId });
    expect(await ask(b, over)).toMatchObject({ runId: ended.runId });
    expect((await b.readControl(over)).control).toBeUndefined();
  });

  it('says of a row that has moved, or is on its way, where its job is', async () => {
    const { a, b, job, move } = await stores();
    await move();
    const moved = (await a.readRow(job))?.metadata ?? {};
    expect(() => decodeRow(moved)).toThrow(`the job has moved to ${b.location}: look for it there`);
    const arriving = { ...(await b.readRow(job))?.metadata, format: 'arriving' };
    expect(() => decodeRow(arriving)).toThrow('on its way here from another store: repeat the command that moves it');
  });

  it('takes the end of a run along whose open record an interrupted move has copied', async () => {
    const { a, b, job, move } = await stores();
    const key = recordKey(T0 + 60_000);
    await b.createRecord(job, key, { body: '{"state":"open"}', summary: { state: 'open' } });
    const etag = (await a.readRecord(job, key))?.etag as ETag;
    await a.replaceRecord(job, key, { body: '{"state":"final"}', summary: { state: 'final' } }, etag);
    await move();
    expect((await b.readRecord(job, key))?.body).toBe('{"state":"final"}');
  });

  it('leaves the record of an attempt that the other store has claimed since', async () => {
    const { a, b, job, move } = await stores();
    const key = recordKey(T0 - 45_000);
    const later = { body: '{"state":"open","token":8}', summary: { state: 'open' } };
    await b.createRecord(job, key, later);
    await a.createRecord(job, key, { body: '{"state":"final","token":7}', summary: { state: 'final' } });
    await move();
    expect((await b.readRecord(job, key))?.body).toBe(later.body);
  });

  it('copies most of the ledger before any run has to wait', async () => {
    const { all, from, to, a } = await stores();
    let claims: string | undefined;
    const copied = async (): Promise<void> => {
      claims = await mayClaim(a);
    };
    const answer = migrate({ from, to, waitMs: WAIT_MS, endRuns: false, copied: () => void copied() });
    await all.clock.advance(2 * WAIT_MS);
    await answer;
    expect(claims).toBe('all');
  });

  it('lets no deployment of the new store begin a run while the jobs move', async () => {
    const { all, a, b, from, to } = await stores();
    const answer = migrate({ from, to, waitMs: WAIT_MS, endRuns: false, copied: () => undefined });
    await all.clock.advance(WAIT_MS / 2);
    expect([await mayClaim(a), await mayClaim(b)]).toEqual(['begun', 'begun']);
    await all.clock.advance(2 * WAIT_MS);
    await answer;
  });

  it('is refused where the new store has run a job by itself, and copies nothing', async () => {
    const { b, copies, move } = await stores();
    await makeRow(b, JOBS[1] as JobName);
    await expect(move()).rejects.toMatchObject({ code: 'TwoRows' });
    expect(copies).toEqual([]);
    expect(await keysIn(b, JOBS[0] as JobName)).toBe(0);
  });

  it('leaves a run that is not over, until it is to be ended', async () => {
    const { a, b, move } = await stores();
    const run = { key: recordKey(T0 + 120_000), scheduledFor: T0 + 120_000, trigger: 'schedule', since: T0 } as const;
    await makeRow(a, 'waits' as JobName, { run, phase: 'retrying', attempt: 1, notBefore: T0 + 3_600_000 });
    expect(await move()).toMatchObject({ settled: false, refused: [{ job: 'waits', code: 'RunGoesOn' }] });
    expect([await mayClaim(a), await mayClaim(b)]).toEqual(['begun', 'begun']);
    expect(await move(true)).toMatchObject({ settled: true });
    expect(JSON.parse((await b.readRecord('waits' as JobName, run.key))?.body ?? '{}')).toMatchObject({
      outcome: 'cancelled',
    });
  });

  it('refuses a command that began before the move and writes after it, whose job nobody reads there any more', async () => {
    const { a, b, move } = await stores();
    const name = JOBS[1] as JobName;
    const late = changeControl({ store: a }, { name, spec: undefined }, async () => {
      await move();
      return { control: PAUSED, result: 'done' };
    });
    await expect(late).rejects.toMatchObject({
      code: 'Contended',
      message: expect.stringContaining(b.location) as string,
    });
    for (const store of [a, b]) expect((await store.readControl(name)).control).toBeUndefined();
  });

  it('takes along what a command has written just before', async () => {
    const { a, b, move } = await stores();
    const name = JOBS[1] as JobName;
    const slow: LeaseStore = {
      ...a,
      async writeControl(...parameters) {
        const answer = await a.writeControl(...parameters);
        await move();
        return answer;
      },
    };
    const change = () => ({ control: PAUSED, result: 'done' });
    expect(await changeControl({ store: slow }, { name, spec: undefined }, change)).toBe('done');
    expect(decodeControl((await b.readControl(name)).control?.metadata ?? {}).pauses).toHaveLength(1);
    expect((await a.readControl(name)).control).toBeUndefined();
  });

  it('names both controls of a job, of which one was written late', async () => {
    const { a, b, job, move } = await stores();
    const run = { key: recordKey(T0 + 120_000), scheduledFor: T0 + 120_000, trigger: 'schedule', since: T0 } as const;
    await makeRow(a, 'waits' as JobName, { run, phase: 'retrying', attempt: 1, notBefore: T0 + 3_600_000 });
    await move();
    await a.writeControl(job, encodeControl(NO_CONTROL), undefined);
    const { refused } = await move(true);
    expect(refused).toEqual([{ job, code: 'TwoRows', message: expect.stringContaining(a.location) as string }]);
    expect(decodeControl((await b.readControl(job)).control?.metadata ?? {}).pauses).toHaveLength(1);
    await a.removeControl(job, (await a.readControl(job)).control?.etag as ETag);
    expect(await move()).toMatchObject({ settled: true });
  });

  it.each([
    { isLost: false, end: 'before any of its calls' },
    { isLost: true, end: 'with the answer of any of its calls lost' },
  ])('cut off $end and begun again, loses and doubles nothing', async ({ isLost }) => {
    let cuts = 0;
    for (let cut = 0; ; cut += 7) {
      const { all, a, b, move } = await stores();
      Object.assign(all.state, { left: cut, isLost });
      const end = await move().then(
        () => 'done',
        () => 'cut',
      );
      await expectOneClaimant(all);
      all.state.left = Infinity;
      await all.clock.advance(60_000);
      expect(await move()).toMatchObject({ settled: true });
      for (const name of JOBS) expect(decodeRow((await b.readRow(name))?.metadata ?? {}).token).toBe(7);
      expect([await keysIn(b, JOBS[0] as JobName), await keysIn(b, JOBS[1] as JobName)]).toEqual([
        RECORDS + 1,
        RECORDS,
      ]);
      expect([await mayClaim(a), await mayClaim(b)]).toEqual(['none', 'all']);
      cuts += 1;
      if (end === 'done') break;
    }
    expect(cuts).toBeGreaterThan(20);
  });
});

/** A store without a layout has no rows, or the move has not been announced in the other one. */
async function expectOneClaimant({ stores: [a, b], state }: World): Promise<void> {
  const { left } = state;
  state.left = Infinity;
  const [first, second] = [await mayClaim(a as LeaseStore), await mayClaim(b as LeaseStore)];
  const rows = (await (b as LeaseStore).list()).jobs.size;
  if (first === 'all' && second === 'all') expect(rows).toBe(0);
  state.left = left;
}
