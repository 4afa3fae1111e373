import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { pendingManualRuns } from '../../src/core/control';
import { recordKey, runIdOf } from '../../src/core/key';
import { type Row, encodeRow } from '../../src/core/row';
import type { JobContext } from '../../src/handler/handler';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { readState } from '../../src/operator/job-state';
import { startBackfill } from '../../src/operator/operations/backfill';
import { type JobRecovery, type RecoverRequest, recoverJobs } from '../../src/operator/operations/recover';
import { requestRun } from '../../src/operator/operations/run';
import { cutOffAfter } from '../support/cut-off';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { pauseJob, resumeJob } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const JOB = jobSpec('a', '* * * * *', { catchUp: 'all' });

let ids = 0;

async function recover(
  sim: RivalTicks,
  changes: Partial<RecoverRequest> & { readonly jobs?: readonly JobSpec[]; readonly store?: LeaseStore } = {},
): Promise<readonly JobRecovery[]> {
  const { jobs = [JOB], store = sim.store, ...rest } = changes;
  const desk = {
    ...{ store, clock: sim.clock, waiting: () => undefined },
    newId: () => `aaaaaaaa-0000-4000-8000-${String((ids += 1)).padStart(12, '0')}`,
  };
  const choices = { until: undefined, raiseBy: 1_000_000, runs: 'resume', apply: true } as const;
  const answer = await recoverJobs(desk, { ...choices, file: { revision: 0, jobs }, ...rest });
  return answer.jobs;
}

/** The row as it was once, without its lease. */
async function putBack({ store }: RivalTicks, job: string, row: Row): Promise<void> {
  const name = job as JobName;
  const now = await store.readRow(name);
  if (now === undefined) throw new Error(`no row of ${job}`);
  const leaseId = crypto.randomUUID() as LeaseId;
  expect(await store.acquire(name, { leaseId, leaseMs: 15_000, ifMatch: now.etag })).toMatchObject({
    kind: 'acquired',
  });
  await store.writeRow(name, encodeRow(row), { leaseId, ifMatch: now.etag });
  await store.release(name, leaseId);
}

function stopAll(sim: RivalTicks): void {
  for (const instance of sim.instances) instance.kill();
}

/** Each due time of the span is in exactly one final record, and nothing ran twice. */
async function expectOneOutcomeEach(sim: RivalTicks, from: number, until: number): Promise<void> {
  const records = await sim.records('a');
  for (let due = from; due <= until; due += MINUTE) {
    const covering = records.filter(
      ({ scheduledFor, through = scheduledFor }) => Date.parse(scheduledFor) <= due && due <= Date.parse(through),
    );
    expect(
      covering.map(({ state }) => state),
      new Date(due).toISOString(),
    ).toEqual(['final']);
  }
  const ran = sim.calls.map(({ scheduledFor, attempt }) => `${String(scheduledFor)} ${String(attempt)}`);
  expect(new Set(ran).size).toBe(ran.length);
}

describe('recover', () => {
  it('goes on where the ledger ends, after a failover to an older row without its lease', async () => {
    const sim = rivalTicks({ jobs: [JOB], deployments: 2 });
    await sim.clock.advanceTo(T0 + 5 * MINUTE + 10_000);
    const older = await sim.row('a');
    await sim.clock.advanceTo(T0 + 12 * MINUTE + 10_000);
    const lost = await sim.row('a');
    stopAll(sim);
    await putBack(sim, 'a', older);
    await sim.clock.advanceTo(T0 + 20 * MINUTE + 10_000);

    const dry = await recover(sim, { apply: false });
    expect(await sim.row('a')).toEqual(older);
    expect(dry).toEqual(await recover(sim));
    expect(dry).toMatchObject([
      {
        ...{ kind: 'recovered', job: 'a', inFile: true, isNew: false, run: { kind: 'settled' }, abandoned: [] },
        token: { from: older.token, to: lost.token + 1_000_000 },
        cursor: { from: T0 + 5 * MINUTE, to: T0 + 20 * MINUTE + 10_000 },
        stretches: [{ reason: 'failedOver', from: T0 + 13 * MINUTE, through: T0 + 20 * MINUTE, count: 8 }],
      },
    ]);
    const calls = sim.calls.length;
    sim.startInstance('d3');
    await sim.clock.advanceTo(T0 + 25 * MINUTE + 10_000);
    expect(sim.calls.slice(calls).map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE)).toEqual([
      21, 22, 23, 24, 25,
    ]);
    for (const { token } of sim.calls.slice(calls)) expect(token).toBeGreaterThan(lost.token + 1_000_000);
    await expectOneOutcomeEach(sim, T0 + MINUTE, T0 + 25 * MINUTE);
  });

  it('would run again what the ledger has, if it were not for it', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 2 * MINUTE + 10_000);
    const older = await sim.row('a');
    await sim.clock.advanceTo(T0 + 4 * MINUTE + 10_000);
    stopAll(sim);
    await putBack(sim, 'a', older);
    sim.startInstance('d2');
    await sim.clock.advance(MINUTE);
    expect(sim.calls.filter(({ scheduledFor }) => scheduledFor === T0 + 3 * MINUTE)).toHaveLength(2);
  });

  it('lets what came after the failover time be caught up', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 2 * MINUTE + 10_000);
    stopAll(sim);
    await sim.clock.advanceTo(T0 + 10 * MINUTE);
    await expect(recover(sim, { until: T0 + 11 * MINUTE })).rejects.toMatchObject({ code: 'FutureTime' });
    const [job] = await recover(sim, { until: T0 + 6 * MINUTE + 30_000 });
    expect(job).toMatchObject({ stretches: [{ from: T0 + 3 * MINUTE, through: T0 + 6 * MINUTE, count: 4 }] });
    sim.startInstance('d2');
    await sim.clock.advanceTo(T0 + 11 * MINUTE + 30_000);
    expect(sim.calls.map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE)).toEqual([1, 2, 7, 8, 9, 10, 11]);
    await expectOneOutcomeEach(sim, T0 + MINUTE, T0 + 11 * MINUTE);
  });

  it('has an interrupted run tried again by the first tick, with a token of its own', async () => {
    const sim = rivalTicks({
      jobs: [JOB],
      handler: ({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : 1),
    });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    const running = await sim.row('a');
    stopAll(sim);
    // The failover took the lease along: the row looks settled.
    await sim.clock.advance(2 * MINUTE);
    await putBack(sim, 'a', running);
    const [job] = await recover(sim);
    expect(job).toMatchObject({ run: { kind: 'goesOn', runId: 'a-20260101T000100Z' } });
    sim.startInstance('d2');
    await sim.clock.advance(20_000);
    expect(sim.calls.slice(0, 2)).toMatchObject([
      { attempt: 1, token: 1 },
      { attempt: 2, token: 1_000_002, scheduledFor: T0 + MINUTE },
    ]);
    const record = (await sim.records('a')).find(({ scheduledFor }) => scheduledFor === '2026-01-01T00:01:00.000Z');
    expect(record).toMatchObject({ outcome: 'succeeded', attempts: [{ outcome: 'holderLost', endedAt: null }, {}] });
    await expectOneOutcomeEach(sim, T0 + MINUTE, T0 + 3 * MINUTE);
  });

  it('ends an interrupted run where that is asked for, and runs that no row goes on with', async () => {
    const handler = ({ attempt }: { attempt: number }): Promise<never> =>
      attempt === 1 ? Promise.reject(new Error('no')) : new Promise(() => undefined);
    const sim = rivalTicks({ jobs: [JOB], handler });
    await sim.clock.advanceTo(T0 + 30_000);
    const first = await sim.row('a');
    // The second attempt leaves its mark, which is all that is left of it.
    await sim.clock.advanceTo(T0 + MINUTE + 20_000);
    const second = await sim.row('a');
    expect(second).toMatchObject({ phase: 'running', attempt: 2 });
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    await putBack(sim, 'a', first);
    expect(await recover(sim)).toMatchObject([{ run: undefined, abandoned: ['a-20260101T000100Z'] }]);
    expect((await sim.records('a')).at(-1)).toMatchObject({
      ...{ state: 'final', outcome: 'failed', reason: 'failedOver', scheduledFor: '2026-01-01T00:01:00.000Z' },
    });

    await putBack(sim, 'a', { ...second, run: { ...(second.run ?? never()), key: recordKey(T0 - MINUTE) } });
    await recover(sim, { runs: 'fail' });
    expect((await sim.records('a')).at(-1)).toMatchObject({
      ...{ outcome: 'failed', reason: 'failedOver', attempts: [{ attempt: 1 }, { attempt: 2, outcome: 'holderLost' }] },
    });
    expect(await sim.row('a')).toMatchObject({ phase: 'running' });
    expect((await sim.store.readRow('a' as JobName))?.lease).toBe('available');
  });

  it('ends the back-filled run that a later row has begun, whose due time is long past', async () => {
    const retry = { attempts: 3, backoffMs: 5_000, maxBackoffMs: 5_000, factor: 1, jitter: 'none' } as const;
    const job = { ...JOB, retry, catchUp: 'latest' } as const;
    const handler = ({ trigger, attempt }: JobContext): Promise<unknown> => {
      if (trigger !== 'backfill') return Promise.resolve(1);
      return attempt === 1 ? Promise.reject(new Error('no')) : new Promise(() => undefined);
    };
    const start = T0 - 10 * 86_400_000;
    const sim = rivalTicks({ jobs: [job], handler, start });
    await sim.clock.advanceTo(start + 5 * MINUTE);
    stopAll(sim);
    await sim.clock.advanceTo(T0);
    sim.startInstance('d2');
    await sim.clock.advance(MINUTE + 30_000);
    const older = await sim.row('a');
    const due = start + 2 * MINUTE;
    const span = { from: due, to: due, order: 'oldest', limit: undefined, includeSucceeded: true } as const;
    await startBackfill(sim, job, { ...span, id: 'f1', origin: { actor: 'ann', channel: 'cli' } });
    const runId = runIdOf(JOB.name, recordKey(due, 'f1'));
    const record = async () => (await sim.records('a')).find((one) => one.runId === runId);
    await sim.clock.advance(2 * MINUTE);
    expect(await record()).toMatchObject({ state: 'open' });
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    await putBack(sim, 'a', older);
    expect(await recover(sim, { jobs: [job] })).toMatchObject([{ abandoned: [runId] }]);
    expect(await record()).toMatchObject({ state: 'final', outcome: 'failed', reason: 'failedOver' });
  });

  it('makes a row anew that is gone, with a token above those of its ledger', async () => {
    const sim = rivalTicks({ jobs: [JOB], deployments: 0, start: T0 + 30 * MINUTE });
    for (const minute of [3, 5, 6]) {
      const summary = { state: 'final', token: String(minute) };
      await sim.store.createRecord(JOB.name, recordKey(T0 + minute * MINUTE), { body: '{}', summary });
    }
    const never = jobSpec('never', '@hourly');
    const [job, other] = await recover(sim, { jobs: [JOB, never] });
    expect(job).toMatchObject({ isNew: true, token: { to: 1_000_006 }, cursor: { to: T0 + 30 * MINUTE } });
    expect(job).toMatchObject({ stretches: [{ count: 1 }, { from: T0 + 7 * MINUTE, count: 24 }] });
    expect(other).toMatchObject({ isNew: true, token: { to: 1_000_000 }, stretches: [] });
    expect(await sim.row('a')).toMatchObject({ token: 1_000_006, cursor: T0 + 30 * MINUTE });
  });

  it('makes a row anew with a token above those of its ledger, wherever it is cut off', async () => {
    let rows = 0;
    for (let calls = 1; calls < 12; calls += 1) {
      const sim = rivalTicks({ jobs: [JOB], deployments: 0, start: T0 + 30 * MINUTE });
      await sim.store.createRecord(JOB.name, recordKey(T0), { body: '{}', summary: { state: 'final', token: '6' } });
      await recover(sim, { store: cutOffAfter(sim.store, calls) }).catch(() => []);
      if ((await sim.store.readRow(JOB.name)) === undefined) continue;
      rows += 1;
      expect((await sim.row('a')).token, `cut off at call ${String(calls)}`).toBeGreaterThan(6);
    }
    expect(rows).toBeGreaterThan(3);
  });

  it('leaves a due time that its spread puts after the failover time to a row that it makes anew', async () => {
    const spread = jobSpec('a', '* * * * *', { offsetMs: 50_000, catchUp: 'all' });
    const until = T0 + 30 * MINUTE + spread.offsetMs - 1;
    const sim = rivalTicks({ jobs: [spread], deployments: 0 });
    await sim.clock.advanceTo(until);
    expect(await recover(sim, { jobs: [spread] })).toMatchObject([{ isNew: true, stretches: [] }]);
    sim.startInstance('d1');
    await sim.clock.advanceTo(T0 + 32 * MINUTE - 1);
    expect(sim.calls.map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE)).toEqual([30, 31]);
  });

  it('gives the one due time of a job its outcome if it was due before, and leaves it if it comes', async () => {
    const jobs = [20, 40].map((minute) =>
      jobSpec(`m${String(minute)}`, `@at ${new Date(T0 + minute * MINUTE).toISOString()}`),
    );
    const sim = rivalTicks({ jobs, deployments: 0 });
    await sim.clock.advanceTo(T0 + 30 * MINUTE);
    expect(await recover(sim, { jobs })).toMatchObject([
      { job: 'm20', isNew: true, stretches: [{ from: T0 + 20 * MINUTE, count: 1, reason: 'failedOver' }] },
      { job: 'm40', isNew: true, stretches: [] },
    ]);
    sim.startInstance('d1');
    await sim.clock.advanceTo(T0 + 50 * MINUTE);
    expect(sim.calls).toMatchObject([{ scheduledFor: T0 + 40 * MINUTE }]);
  });

  it('gives each due time its outcome whose record is lost, although its row is newer', async () => {
    const handler = ({ attempt }: { attempt: number }): Promise<number> =>
      attempt === 1 ? Promise.reject(new Error('no')) : Promise.resolve(1);
    const sim = rivalTicks({ jobs: [JOB], handler });
    await sim.clock.advanceTo(T0 + 9 * MINUTE + 50_000);
    stopAll(sim);
    const key = (minute: number): string => recordKey(T0 + minute * MINUTE);
    for (const minute of [1, 4, 5, 7]) sim.service.deleteRecord(JOB.name, key(minute));
    // Its attempts left a mark, which returned to its first state.
    const open = { job: 'a', scheduledFor: new Date(T0 + 4 * MINUTE).toISOString(), state: 'open', attempts: [] };
    const summary = { state: 'open', token: '7' };
    await sim.store.createRecord(JOB.name, key(4), { body: JSON.stringify(open), summary });
    await sim.clock.advance(20_000);

    const [job] = await recover(sim);
    expect(job).toMatchObject({
      stretches: [1, 5, 7, 10].map((minute) => ({ from: T0 + minute * MINUTE, count: 1, reason: 'failedOver' })),
      abandoned: ['a-20260101T000400Z'],
    });
    await expectOneOutcomeEach(sim, T0 + MINUTE, T0 + 10 * MINUTE);
    const records = await sim.records('a');
    expect(await recover(sim)).toMatchObject([{ run: { kind: 'settled' }, stretches: [], abandoned: [] }]);
    expect(await sim.records('a')).toEqual(records);
  });

  it('gives a request its outcome whose record is lost, although the control was changed meanwhile', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 30_000);
    const subject = { name: JOB.name, spec: JOB };
    await requestRun(sim, JOB, { id: 'asked', time: T0 + 40_000 });
    await sim.clock.advanceTo(T0 + 3 * MINUTE + 10_000);
    const key = recordKey(T0 + 40_000, 'asked');
    expect((await sim.records('a')).map((record) => record.runId)).toContain(runIdOf(JOB.name, key));
    await pauseJob(sim.store, subject, { by: 'ann', note: 'a failover' });
    stopAll(sim);
    sim.service.deleteRecord(JOB.name, key);
    const [job] = await recover(sim, { apply: false });
    expect(job).toMatchObject({
      stretches: expect.arrayContaining([
        {
          outcome: 'expired',
          reason: 'failedOver',
          from: T0 + 40_000,
          through: T0 + 40_000,
          count: 1,
          request: 'asked',
        },
      ]),
    });
    // It is taken all the same, whatever the row says.
    const { control } = await readState(sim.store, JOB.name);
    expect(pendingManualRuns(control, 0)).toEqual([]);
  });

  it('keeps as many requests that were taken as the control has room for', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 30_000);
    const subject = { name: JOB.name, spec: JOB };
    for (let id = 0; id < 12; id += 1) {
      await requestRun(sim, JOB, { id: `asked${id}`, time: T0 + 40_000 + id });
    }
    await sim.clock.advanceTo(T0 + 3 * MINUTE + 10_000);
    await pauseJob(sim.store, subject, { by: 'ann', note: 'x' });
    const taken = async (): Promise<readonly string[]> =>
      (await readState(sim.store, JOB.name)).control.manualRuns.map(({ id }) => id);
    expect(await taken()).toEqual(Array.from({ length: 10 }, (_, index) => `asked${index + 2}`));
    await sim.clock.advance(24 * 60 * MINUTE);
    await resumeJob(sim.store, subject);
    expect(await taken()).toEqual([]);
  });

  it('records a run of unknown outcome whose record is lost', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + MINUTE + 10_000);
    stopAll(sim);
    await putBack(sim, 'a', { ...(await sim.row('a')), phase: 'idle' });
    sim.service.deleteRecord(JOB.name, recordKey(T0 + MINUTE));
    await sim.clock.advance(MINUTE);
    expect(await recover(sim)).toMatchObject([{ run: { kind: 'ends', reason: 'outcomeUnknown' } }]);
    expect((await sim.records('a')).at(-1)).toMatchObject({
      ...{ outcome: 'failed', reason: 'outcomeUnknown', endedAt: null },
    });
    expect(await sim.row('a')).toMatchObject({ phase: 'idle' });
  });

  it.each([
    ['all pieces of a run whose plan is lost', ['item-00000', 'stop'], []],
    [
      'the mark that stops items, which may be newer than their ends',
      ['plan', 'item-00000', 'stop'],
      ['item-00000', 'plan'],
    ],
  ])('deletes %s', async (_what, names, left) => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 10_000);
    const running = await sim.row('a');
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    await putBack(sim, 'a', running);
    const key = running.run?.key ?? never();
    for (const name of names) await sim.store.createPiece(JOB.name, key, name, { body: '{}', summary: {} });
    await recover(sim, { apply: false });
    expect((await sim.store.listPieces(JOB.name, { key, limit: 9 })).pieces).toHaveLength(names.length);
    expect(await recover(sim)).toMatchObject([{ run: { kind: 'goesOn' } }]);
    const { pieces } = await sim.store.listPieces(JOB.name, { key, limit: 9 });
    expect(pieces.map(({ name }) => name)).toEqual(left);
  });

  it('goes on with the others where one job cannot be put right', async () => {
    const names = ['held', 'foreign', 'newer', 'orphan', 'well'];
    const jobs = names.map((name) => jobSpec(name, '@hourly'));
    const sim = rivalTicks({ jobs, revision: 3 });
    await sim.clock.advance(20_000);
    stopAll(sim);
    const held = await sim.store.readRow('held' as JobName);
    const leaseId = crypto.randomUUID() as LeaseId;
    await sim.store.acquire('held' as JobName, { leaseId, leaseMs: 60_000, ifMatch: held?.etag ?? never() });
    await sim.store.createRow('odd' as JobName, { format: '9' });
    const file = {
      revision: 2,
      jobs: [
        ...jobs.filter(({ name }) => name !== 'orphan' && name !== 'newer'),
        jobSpec('newer', '@daily'),
        jobSpec('odd', '@daily'),
      ],
    };
    const answer = await recover(sim, { file });
    expect(answer.map((job) => [job.job, job.kind === 'refused' ? job.code : job.inFile])).toEqual([
      ['foreign', true],
      ['held', 'LeaseHeld'],
      ['newer', 'OlderFile'],
      ['odd', 'ForeignMetadata'],
      ['orphan', false],
      ['well', true],
    ]);
    expect((await recover(sim, { file, apply: false })).filter(({ kind }) => kind === 'refused')).toHaveLength(3);
    expect((await sim.row('well')).token).toBe(1_000_000);
    expect((await sim.row('newer')).token).toBe(0);
  });

  it('waits for a broken lease as long as its old holder may trust it', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 50_000);
    stopAll(sim);
    const row = await sim.store.readRow(JOB.name);
    const request = { leaseId: crypto.randomUUID() as LeaseId, leaseMs: 30_000, ifMatch: row?.etag ?? never() };
    await sim.store.acquire(JOB.name, request);
    await sim.store.breakLease(JOB.name, request.ifMatch);
    const answer = recover(sim);
    // The holder's file may have given it 60 s, which its margin of 6 s comes on top of.
    await sim.clock.advance(65_000);
    expect((await sim.row('a')).token).toBe(0);
    await sim.clock.advance(2_000);
    expect(await answer).toMatchObject([{ kind: 'recovered', token: { to: 1_000_000 } }]);
  });
});

describe('recover that is interrupted', () => {
  /** More gaps than a row may owe: what ran every other minute is known. */
  async function wrecked(): Promise<RivalTicks> {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 30_000);
    stopAll(sim);
    const summary = { state: 'final' };
    for (let minute = 2; minute <= 80; minute += 2) {
      await sim.store.createRecord(JOB.name, recordKey(T0 + minute * MINUTE), { body: '{}', summary });
    }
    const open = { ...{ job: 'a', scheduledFor: new Date(T0 + MINUTE).toISOString(), state: 'open', attempts: [] } };
    await sim.store.createRecord(JOB.name, recordKey(T0 + MINUTE), {
      ...{ body: JSON.stringify(open), summary: { state: 'open', token: '4' } },
    });
    for (let id = 0; id < 20; id += 1) {
      await sim.control('a', (control) => ({
        ...control,
        manualRuns: [...control.manualRuns, { number: id + 1, id: `r${String(id)}`, time: T0 + 40_000 + id }],
      }));
    }
    await sim.clock.advanceTo(T0 + 81 * MINUTE + 10_000);
    return sim;
  }

  const summaries = async (sim: RivalTicks): Promise<string[]> => {
    const { records } = await sim.store.listRecords(JOB.name, { limit: 500 });
    return records.map(({ key, summary: { state, outcome, reason, count, through } }) =>
      [key, state, outcome, reason, count, through].join(' '),
    );
  };

  it('keeps its lease while storage is slow', async () => {
    const sim = await wrecked();
    const slow = new Proxy(sim.store, {
      get(target, property: keyof LeaseStore) {
        const member = target[property];
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          const answer: unknown = await Reflect.apply(member, target, args);
          await sleep(sim.clock, 3_000);
          return answer;
        };
      },
    });
    const answer = recover(sim, { store: slow });
    await sim.clock.advance(10 * MINUTE);
    expect(await answer).toMatchObject([{ kind: 'recovered' }]);
  });

  it.each(['resume', 'fail'] as const)(
    'leaves each due time one outcome if it dies at any call and deployments start (runs: %s)',
    async (runs) => {
      // What comes due after the timeout was missed, so that ticks run whatever the command has not decided.
      const job = jobSpec('a', '* * * * *', { catchUp: 'all', timeoutMs: 20_000 });
      const hangs = new Promise(() => undefined);
      const handler = ({ scheduledFor, attempt }: JobContext): unknown =>
        scheduledFor.getTime() === T0 + 3 * MINUTE && attempt === 1 ? hangs : 1;
      let calls = 0;
      for (let isCut = true; isCut; calls += 1) {
        const sim = rivalTicks({ jobs: [job], handler });
        await sim.clock.advanceTo(T0 + 3 * MINUTE + 10_000);
        stopAll(sim);
        await sim.clock.advanceTo(T0 + 10 * MINUTE + 10_000);
        const store = cutOffAfter(sim.store, calls);
        const [answer] = await recover(sim, { runs, jobs: [job], store }).catch(() => []);
        isCut = answer?.kind !== 'recovered';
        const records = await sim.records('a');
        const token = Math.max((await sim.row('a')).token, ...records.map((record) => record.token ?? 0));
        const before = sim.calls.length;
        sim.startInstance('d2');
        await sim.clock.advanceTo(T0 + 15 * MINUTE + 10_000);
        await expectOneOutcomeEach(sim, T0 + MINUTE, T0 + 15 * MINUTE);
        for (const call of sim.calls.slice(before)) expect(call.token).toBeGreaterThan(token);
      }
      expect(calls).toBeGreaterThan(8);
    },
  );

  it('repeats no run that a later one shows to be over, when it is asked for again', async () => {
    for (let calls = 1, isCut = true; isCut; calls += 1) {
      const sim = rivalTicks({ jobs: [JOB] });
      await sim.clock.advanceTo(T0 + 3 * MINUTE + 10_000);
      const older = await sim.row('a');
      await sim.clock.advanceTo(T0 + 6 * MINUTE + 10_000);
      stopAll(sim);
      await putBack(sim, 'a', older);
      sim.service.deleteRecord(JOB.name, recordKey(T0 + 3 * MINUTE));
      const [answer] = await recover(sim, { store: cutOffAfter(sim.store, calls) }).catch(() => []);
      isCut = answer?.kind !== 'recovered';
      await sim.clock.advance(16_000);
      await recover(sim);
      sim.startInstance('d2');
      await sim.clock.advance(2 * MINUTE);
      const ran = sim.calls.filter(({ scheduledFor }) => scheduledFor === T0 + 3 * MINUTE);
      expect(ran, `cut off at call ${String(calls)}`).toHaveLength(1);
      const record = (await sim.records('a')).find(({ scheduledFor }) => scheduledFor === '2026-01-01T00:03:00.000Z');
      expect(record).toMatchObject({ state: 'final', outcome: 'failed', reason: 'failedOver' });
      expect(record?.attempts).toMatchObject([{ attempt: 1 }]);
    }
  });

  it('ends the back-filled run that waits while due times go first, wherever it was cut off', async () => {
    const minutes = 10 * MINUTE;
    const retry = { attempts: 3, backoffMs: minutes, maxBackoffMs: minutes, factor: 1, jitter: 'none' } as const;
    const jobs = [{ ...JOB, retry }] as const;
    const handler = ({ trigger }: JobContext): void => {
      if (trigger === 'backfill') throw new Error('down');
    };
    const due = T0 + 2 * MINUTE;
    const span = { from: due, to: due, order: 'oldest', limit: undefined, includeSucceeded: true } as const;
    for (let calls = 1, isCut = true; isCut; calls += 1) {
      const sim = rivalTicks({ jobs, handler });
      await sim.clock.advance(5 * MINUTE);
      await startBackfill(sim, jobs[0], { ...span, id: 'f1', origin: { actor: 'ann', channel: 'cli' } });
      await sim.clock.advance(2 * MINUTE);
      stopAll(sim);
      await sim.clock.advance(MINUTE);
      const [answer] = await recover(sim, { jobs, store: cutOffAfter(sim.store, calls) }).catch(() => []);
      const runId = runIdOf(JOB.name, recordKey(due, 'f1'));
      isCut = answer?.kind !== 'recovered';
      if (!isCut) expect(answer).toMatchObject({ abandoned: [runId] });
      await sim.clock.advance(16_000);
      await recover(sim, { jobs });
      const record = (await sim.records('a')).find((one) => one.runId === runId);
      expect(record, `cut off at call ${String(calls)}`).toMatchObject({
        ...{ state: 'final', outcome: 'failed', reason: 'failedOver', trigger: 'backfill' },
        attempts: [{ attempt: 1, outcome: 'failed' }],
      });
    }
  });

  it('takes a row that it has not listed for no lost one', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advance(5 * MINUTE);
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    const before = await sim.row('a');
    const { location } = sim.store;
    const list: LeaseStore['list'] = async () => ({ ...(await sim.store.list()), jobs: new Map() });
    expect(await recover(sim, { store: { ...sim.store, list } })).toMatchObject([{ job: 'a', code: 'Contended' }]);
    const missing = [{ location, reason: 'it does not answer' }];
    const store: LeaseStore = { ...sim.store, list: async () => ({ ...(await list()), missing }) };
    expect(await recover(sim, { store })).toMatchObject([{ job: location, code: 'StoreUnavailable' }]);
    expect(await sim.row('a')).toEqual(before);
  });

  it('is finished when it is asked for again, wherever it was cut off', async () => {
    const whole = await wrecked();
    let calls = 0;
    const counted = new Proxy(whole.store, {
      get(target, property: keyof LeaseStore) {
        const member = target[property];
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          calls += 1;
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
    await recover(whole, { store: counted });
    const expected = await summaries(whole);
    expect(expected).toHaveLength(101);
    expect(expected.filter((text) => text.includes('open'))).toEqual([]);
    expect(await whole.row('a')).toMatchObject({ cursor: T0 + 81 * MINUTE + 10_000, manualTaken: 20 });

    for (let last = 1; last < calls; last += 7) {
      const sim = await wrecked();
      const cut = cutOffAfter(sim.store, last);
      const first = await recover(sim, { store: cut, until: T0 + 81 * MINUTE + 10_000 }).catch(
        (error: unknown) => error,
      );
      if (Array.isArray(first)) expect(first).toMatchObject([{ kind: 'refused', code: 'StoreUnavailable' }]);
      else expect(first).toBeInstanceOf(StoreUnavailableError);
      const token = (await sim.row('a')).token;
      await sim.clock.advance(16_000);
      expect(await recover(sim, { until: T0 + 81 * MINUTE + 10_000 })).toMatchObject([{ kind: 'recovered' }]);
      expect(await summaries(sim), `cut off at call ${String(last)}`).toEqual(expected);
      expect((await sim.row('a')).token).toBeGreaterThan(token);
      expect((await sim.row('a')).manualTaken).toBe(20);
    }
  });
});

function never(): never {
  throw new Error('it is there');
}
