import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseId, Token } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import type { Situation } from '../../src/core/decide/situation';
import { decide } from '../../src/core/decide/decide';
import { recordKey } from '../../src/core/key';
import { decodeRow, encodeRow, forgottenRow, newRow } from '../../src/core/row';
import type { JobContext } from '../../src/handler/handler';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { listAudit } from '../../src/operator/audit';
import { cancel } from '../../src/operator/operations/cancel';
import { explainTime } from '../../src/operator/views/explain';
import { type Forgotten, forgetJob } from '../../src/operator/operations/forget';
import { readBackfillStatus, startBackfill } from '../../src/operator/operations/backfill';
import { requestRun } from '../../src/operator/operations/run';
import { cutOffAfter } from '../support/cut-off';
import { intercepted } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { cancelOrEnd, pauseJob } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const JOB = jobSpec('a', '* * * * *');

function forget(
  sim: RivalTicks,
  { endRun = false, revision = 0, store = sim.store }: { endRun?: boolean; revision?: number; store?: LeaseStore } = {},
): Promise<Forgotten> {
  const newId = (): string => crypto.randomUUID();
  return forgetJob({ store, clock: sim.clock, newId, waiting: () => undefined }, { job: JOB.name, revision, endRun });
}

function stopAll(sim: RivalTicks): void {
  for (const instance of sim.instances) instance.kill();
}

describe('a job that was forgotten', () => {
  const situation = fc.record({
    cursor: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    token: fc.nat(),
    manualTaken: fc.nat(),
    rowRevision: fc.nat({ max: 3 }),
    revision: fc.nat({ max: 3 }),
    lease: fc.constantFrom('available', 'expired', 'held'),
    schedule: fc.constantFrom(
      '* * * * *',
      '@always',
      '@manual',
      '@at 2026-01-01T00:05:00Z',
      '@at 2025-12-31T23:55:00Z',
    ),
    fast: fc.nat({ max: 600_000 }),
  });

  it('is seen for the first time when it is back, and nothing of it goes back', () => {
    fc.assert(
      fc.property(situation, ({ cursor, token, manualTaken, rowRevision, revision, lease, schedule, fast }) => {
        const job = jobSpec('a', schedule);
        const was = { ...newRow(T0 + cursor, rowRevision, 'h'), token: token as Token, manualTaken };
        const row = forgottenRow(was, T0 + Math.max(0, cursor));
        expect(decodeRow(encodeRow(row))).toEqual(row);
        const seen: Situation = {
          ...{ job, revision, row, lease, control: NO_CONTROL, listedAt: T0, now: T0 + fast, record: 'unread' },
          ...{
            firstSeenAt: T0,
            lookAheadMs: 5_000,
            sweepIntervalMs: 60_000,
            itemsLimitMs: 0,
            attemptLimitMs: Infinity,
          },
        };
        const decision = decide(seen);
        const lower = revision < rowRevision;
        const first = job.at === undefined ? T0 : Math.min(T0, job.at - 1);
        const back = newRow(Math.max(T0 + cursor, first), revision, job.scheduleHash);
        if (lower) expect(decision).toEqual({ kind: 'lowerRevision' });
        else if (lease === 'held') expect(decision.kind).toBe('nothing');
        else expect(decision).toEqual({ kind: 'record', row: { ...back, token, manualTaken } });
      }),
    );
  });

  it('runs when it is back, from then on, with a higher token', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + 3 * MINUTE + 10_000);
    await pauseJob(sim.store, { name: JOB.name }, { by: 'x', note: 'n' });
    await sim.clock.advance(10_000);
    stopAll(sim);
    expect(await forget(sim)).toEqual({
      forgottenAt: T0 + 3 * MINUTE + 20_000,
      already: false,
      endedRun: undefined,
      dropped: [],
    });
    expect((await sim.store.readControl(JOB.name)).control).toBeUndefined();
    expect(await sim.row('a')).toMatchObject({ token: 3, phase: 'idle', forgotten: T0 + 3 * MINUTE + 20_000 });
    expect(await sim.records('a')).toHaveLength(3);
    await sim.clock.advanceTo(T0 + 7 * MINUTE + 30_000);
    expect(await explainTime(sim.store, JOB, 0, T0 + 5 * MINUTE)).toMatchObject({ outcome: 'notDue' });
    expect(await forget(sim)).toEqual({
      forgottenAt: T0 + 3 * MINUTE + 20_000,
      already: true,
      endedRun: undefined,
      dropped: [],
    });
    sim.startInstance('d2');
    await sim.clock.advanceTo(T0 + 9 * MINUTE + 10_000);
    expect(sim.calls.map(({ scheduledFor, token }) => [(scheduledFor - T0) / MINUTE, token])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [8, 4],
      [9, 5],
    ]);
    expect((await sim.row('a')).forgotten).toBeUndefined();
  });

  it('is not brought back by an older file, which says so', async () => {
    const sim = rivalTicks({ jobs: [JOB], revision: 4 });
    await sim.clock.advance(20_000);
    stopAll(sim);
    await forget(sim, { revision: 5 });
    const old = sim.startInstance('old', { revision: 4 });
    await sim.clock.advance(2 * MINUTE);
    expect([...old.coordinator.health.troubles.values()]).toEqual([
      expect.stringContaining('was forgotten with revision 5 of the jobs file, and this deployment has revision 4'),
    ]);
    expect((await sim.row('a')).forgotten).toBeDefined();
    sim.startInstance('new', { revision: 5 });
    await sim.clock.advance(2 * MINUTE);
    expect((await sim.row('a')).forgotten).toBeUndefined();
    expect(old.coordinator.health.healthy).toBe(true);
  });

  it('never takes a request twice, whatever its number', async () => {
    const job = jobSpec('a', '@manual');
    const sim = rivalTicks({ jobs: [job] });
    await sim.clock.advance(20_000);
    await requestRun(sim, job, { id: 'one' });
    await sim.clock.advance(MINUTE);
    stopAll(sim);
    await requestRun(sim, job, { id: 'two' });
    await forget(sim);
    await requestRun(sim, job, { id: 'three' });
    expect((await sim.row('a')).manualTaken).toBe(2);
    sim.startInstance('d2');
    await sim.clock.advance(2 * MINUTE);
    expect((await sim.records('a')).map(({ runId }) => runId.slice(-5))).toEqual(['three', 'm-one']);
  });
});

/** A back-filled run that has failed once and waits while due times go first. No instance is left. */
async function backfilledAside(): Promise<{ readonly sim: RivalTicks; readonly runId: string }> {
  const minutes = 10 * MINUTE;
  const retry = { attempts: 3, backoffMs: minutes, maxBackoffMs: minutes, factor: 1, jitter: 'none' } as const;
  const job = { ...JOB, retry };
  const handler = ({ trigger }: JobContext): void => {
    if (trigger === 'backfill') throw new Error('down');
  };
  const sim = rivalTicks({ jobs: [job], handler });
  await sim.clock.advance(5 * MINUTE);
  const due = T0 + 2 * MINUTE;
  const origin = { actor: 'ann', channel: 'cli', note: 'again' };
  const span = { from: due, to: due, order: 'oldest', limit: undefined, includeSucceeded: true } as const;
  await startBackfill(sim, job, { ...span, id: 'f1', origin });
  await sim.clock.advance(2 * MINUTE);
  stopAll(sim);
  await sim.clock.advance(MINUTE);
  const status = await readBackfillStatus(sim.store, job);
  return { sim, runId: status?.runId ?? '' };
}

describe('forget', () => {
  it('refuses a job that nobody has seen, whose lease is held, or whose run is not over', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await expect(forget(sim)).rejects.toMatchObject({ code: 'Unseen' });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    await expect(forget(sim, { endRun: true })).rejects.toMatchObject({ code: 'LeaseHeld' });
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    const before = await sim.store.readRow(JOB.name);
    await expect(forget(sim)).rejects.toMatchObject({
      ...{ code: 'RunGoesOn', message: expect.stringContaining('--end-run') as unknown },
    });
    expect(await sim.store.readRow(JOB.name)).toEqual(before);
  });

  it('ends the run of a holder that died, where that is asked for', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    expect(await forget(sim, { endRun: true })).toMatchObject({ endedRun: 'a-20260101T000100Z' });
    expect(await sim.records('a')).toMatchObject([
      { state: 'final', outcome: 'cancelled', reason: 'cancelRequested', attempts: [{ outcome: 'holderLost' }] },
    ]);
    expect(await sim.row('a')).toMatchObject({ token: 2, phase: 'idle' });
  });

  it('leaves the outcome of a run open whose record may have been deleted long ago', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    await sim.clock.advance(JOB.keepMs + MINUTE);
    expect(await forget(sim, { endRun: true })).toMatchObject({ endedRun: 'a-20260101T000100Z' });
    expect(await sim.records('a')).toMatchObject([
      { state: 'final', outcome: 'failed', reason: 'outcomeUnknown', token: 1, endedAt: null },
    ]);
    expect(await sim.row('a')).toMatchObject({ token: 1, phase: 'idle' });
  });

  it('records the unknown outcome of a run that a tick has noted, and died before its record', async () => {
    const sim = rivalTicks({ jobs: [JOB] });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    const seen = await sim.store.readRow(JOB.name);
    if (seen === undefined) throw new Error('no row');
    const leaseId = crypto.randomUUID() as LeaseId;
    await sim.store.acquire(JOB.name, { leaseId, leaseMs: 15_000, ifMatch: seen.etag });
    const unknown = encodeRow({ ...decodeRow(seen.metadata), phase: 'idle' });
    await sim.store.writeRow(JOB.name, unknown, { leaseId, ifMatch: seen.etag });
    sim.service.deleteRecord(JOB.name, recordKey(T0 + MINUTE));
    await sim.clock.advance(MINUTE);
    expect(await forget(sim)).toMatchObject({ already: false, endedRun: undefined });
    expect(await sim.records('a')).toMatchObject([{ state: 'final', outcome: 'failed', reason: 'outcomeUnknown' }]);
  });

  it('ends a run that waits for its next attempt, over its mark', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => Promise.reject(new Error('no')) });
    await sim.clock.advanceTo(T0 + MINUTE + 15_000);
    expect(await sim.row('a')).toMatchObject({ phase: 'retrying', attempt: 2 });
    stopAll(sim);
    await forget(sim, { endRun: true });
    expect(await sim.records('a')).toMatchObject([
      { outcome: 'cancelled', attempts: [{ attempt: 1 }, { attempt: 2 }] },
    ]);
  });

  it('leaves a record that its paused leader has written meanwhile', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    await sim.clock.advance(MINUTE);
    const late: LeaseStore = {
      ...sim.store,
      createRecord: async (job, key, record) => {
        const { body } = record;
        await sim.store.createRecord(job, key, { ...record, body: body.replace('"cancelled"', '"succeeded"') });
        return sim.store.createRecord(job, key, record);
      },
    };
    await forget(sim, { endRun: true, store: late });
    expect(await sim.records('a')).toMatchObject([{ state: 'final', outcome: 'succeeded' }]);
  });

  it('writes what the row owes, and removes what a fan-out run left', async () => {
    const sim = rivalTicks({ jobs: [JOB], deployments: 0 });
    const from = T0 - 2 * MINUTE;
    const owed = [{ outcome: 'collapsed', reason: 'catchUpLatest', from, through: T0, count: 3 }] as const;
    await sim.store.createRow(JOB.name, encodeRow({ ...newRow(T0, 0, JOB.scheduleHash), owed }));
    const row = await sim.store.readRow(JOB.name);
    if (row === undefined) throw new Error('no row');
    const leaseId = crypto.randomUUID() as LeaseId;
    await sim.store.acquire(JOB.name, { leaseId, leaseMs: 15_000, ifMatch: row.etag });
    await sim.clock.advance(16_000);
    for (const name of ['p', 'q']) await sim.store.createPiece(JOB.name, 'key', name, { body: '{}', summary: {} });
    await forget(sim);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'collapsed', count: 3 }]);
    expect((await sim.store.listPieces(JOB.name, { limit: 10 })).pieces).toEqual([]);
  });

  it('removes a control without a row', async () => {
    const sim = rivalTicks({ jobs: [JOB], deployments: 0 });
    await requestRun(sim, JOB, { id: 'one' });
    expect(await forget(sim)).toMatchObject({ already: false });
    expect((await sim.store.list()).jobs.size).toBe(0);
  });

  it('waits for a broken lease as long as its old holder may trust it', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    const { etag } = (await sim.store.readRow(JOB.name)) ?? { etag: undefined };
    if (etag === undefined) throw new Error('no row');
    await sim.store.breakLease(JOB.name, etag);
    const answer = forget(sim, { endRun: true });
    await sim.clock.advance(65_000);
    expect((await sim.row('a')).forgotten).toBeUndefined();
    await sim.clock.advance(2_000);
    expect(await answer).toMatchObject({ endedRun: 'a-20260101T000100Z' });
  });

  it('leaves the run to a higher token that has taken it over while the machine slept', async () => {
    let finish = (): void => undefined;
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      handler: ({ attempt }) =>
        new Promise<void>((resolve) => {
          if (attempt > 1) finish = resolve;
        }),
    });
    await sim.clock.advanceTo(T0 + 60 * MINUTE + 5_000);
    stopAll(sim);
    await sim.clock.advance(40_000);
    // It sleeps between the row and the record, and its lease runs out.
    const asleep = intercepted(sim.store, 'createRecord', (createRecord) => async (...given) => {
      sim.startInstance('d2');
      await sim.clock.advance(MINUTE);
      return createRecord(...given);
    });
    await forget(sim, { endRun: true, revision: 1, store: asleep }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'Contended' });
    });
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 3]);
    expect(await sim.records('a')).toMatchObject([{ state: 'open', token: sim.calls[1]?.token }]);
    finish();
    await sim.clock.advance(MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it.each([
    ['before', 'release'],
    ['after', 'release'],
    ['after', 'listPieces'],
    ['after', 'readControl'],
  ] as const)(
    'removes nothing of a job that is at work again when the machine wakes, which slept %s %s',
    async (when, method) => {
      const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
      await sim.clock.advance(MINUTE + 5_000);
      await pauseJob(sim.store, { name: JOB.name }, { by: 'x', note: 'n' });
      stopAll(sim);
      await sim.clock.advance(40_000);
      const piece = { body: '{}', summary: {} };
      const sleep = async (): Promise<void> => {
        sim.startInstance('d2', { revision: 2 });
        await sim.clock.advance(2 * MINUTE);
        await sim.control('a', (control) => ({ ...control, cancel: 'kept' }));
        await sim.store.createPiece(JOB.name, 'key', 'plan', piece);
      };
      const around = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
        if (when === 'before') await sleep();
        const answer = await call();
        if (when === 'after') await sleep();
        return answer;
      };
      const { release, listPieces, readControl } = sim.store;
      const asleep: LeaseStore = {
        ...sim.store,
        ...(method === 'release' && { release: (...given) => around(() => release(...given)) }),
        ...(method === 'listPieces' && { listPieces: (...given) => around(() => listPieces(...given)) }),
        ...(method === 'readControl' && { readControl: (...given) => around(() => readControl(...given)) }),
      };
      await expect(forget(sim, { revision: 1, store: asleep })).rejects.toMatchObject({ code: 'Contended' });
      expect((await sim.store.readControl(JOB.name)).control?.metadata).toMatchObject({ cancel: 'kept' });
      expect((await sim.store.listPieces(JOB.name, { limit: 10 })).pieces).toMatchObject([{ name: 'plan' }]);
    },
  );

  it('ends the back-filled run that waits while due times go first, wherever it is cut off', async () => {
    for (let last = 1; last < 12; last += 1) {
      const { sim, runId } = await backfilledAside();
      await expect(forget(sim)).rejects.toMatchObject({ code: 'RunGoesOn' });
      await forget(sim, { endRun: true, store: cutOffAfter(sim.store, last) }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
      });
      await sim.clock.advance(16_000);
      await forget(sim, { endRun: true });
      const record = (await sim.records('a')).find((one) => one.runId === runId);
      expect(record).toMatchObject({ outcome: 'cancelled', trigger: 'backfill' });
      expect(record?.attempts[0]).toMatchObject({ attempt: 1, outcome: 'failed' });
      expect(await sim.row('a')).toMatchObject({ phase: 'idle', forgotten: expect.any(Number) as unknown });
    }
  });

  it('is finished when it is asked for again, wherever it was cut off', async () => {
    for (let last = 1; last < 14; last += 1) {
      const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
      await sim.clock.advanceTo(T0 + MINUTE + 5_000);
      stopAll(sim);
      await pauseJob(sim.store, { name: JOB.name }, { by: 'x', note: 'n' });
      await sim.clock.advance(MINUTE);
      const cut = cutOffAfter(sim.store, last);
      await forget(sim, { endRun: true, store: cut }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
      });
      await sim.clock.advance(16_000);
      await forget(sim, { endRun: true });
      expect(await sim.records('a')).toMatchObject([{ outcome: 'cancelled' }]);
      expect((await sim.store.readControl(JOB.name)).control).toBeUndefined();
      expect(await sim.row('a')).toMatchObject({ phase: 'idle', forgotten: expect.any(Number) as unknown });
      expect((await sim.store.readRow(JOB.name))?.lease).not.toBe('leased');
    }
  });
});

describe('a run that waits while no file has its job', () => {
  const failing = { ...JOB, retry: { ...JOB.retry, attempts: 3, backoffMs: 30 * MINUTE, maxBackoffMs: 30 * MINUTE } };

  it('is ended by "cancel" at once, and one of a job in the file by a tick', async () => {
    const sim = rivalTicks({ jobs: [failing], handler: () => Promise.reject(new Error('no')) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    const desk = { store: sim.store, clock: sim.clock, newId: () => crypto.randomUUID(), waiting: () => undefined };
    const inFile = await cancelOrEnd(desk, { name: failing.name, spec: failing });
    expect(inFile).toMatchObject({ endedBy: 'tick' });
    expect((await sim.records('a')).map(({ outcome }) => outcome)).not.toContain('cancelled');
    await expect(cancelOrEnd(desk, { name: failing.name }, 'a-other')).rejects.toMatchObject({
      code: 'OtherRun',
      // It may be a manual run that waits.
      message: `run a-other of job "a" has not begun, or is over: ${inFile.runId} is in progress`,
    });
    expect(await cancelOrEnd(desk, { name: failing.name })).toEqual({ ...inFile, endedBy: 'caller' });
    expect(await sim.records('a')).toMatchObject([{ runId: inFile.runId, outcome: 'cancelled', state: 'final' }]);
    await expect(cancelOrEnd(desk, { name: failing.name })).rejects.toMatchObject({ code: 'NothingRuns' });
    const row = decodeRow((await sim.store.readRow(failing.name))?.metadata ?? {});
    expect(row).toMatchObject({ phase: 'running', attempt: 2 });
  });

  it('has no audit entry that calls the request refused, if another took its lease after it was written', async () => {
    const sim = rivalTicks({ jobs: [failing], handler: () => Promise.reject(new Error('no')) });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    stopAll(sim);
    const store = intercepted(sim.store, 'acquire', () => () => Promise.resolve({ kind: 'lost' }));
    const origin = { actor: 'ann', channel: 'cli', note: 'n' } as const;
    const desk = { store, clock: sim.clock, newId: () => crypto.randomUUID(), waiting: () => undefined, origin };
    await expect(cancel(desk, { name: failing.name }, { hasFile: true })).rejects.toMatchObject({ code: 'Contended' });
    expect((await sim.store.readControl(failing.name)).control?.metadata).toHaveProperty('cancel');
    const { entries } = await listAudit(sim.store, { limit: 5 });
    expect(entries).toMatchObject([{ action: 'cancel', target: 'a', state: 'begun' }]);
  });

  it('is ended by "cancel" at once, also as a back-filled one that waits while due times go first', async () => {
    const { sim, runId } = await backfilledAside();
    const desk = { store: sim.store, clock: sim.clock, newId: () => crypto.randomUUID(), waiting: () => undefined };
    expect(await cancelOrEnd(desk, { name: JOB.name })).toMatchObject({ runId, endedBy: 'caller' });
    const record = (await sim.records('a')).find((one) => one.runId === runId);
    expect(record).toMatchObject({ state: 'final', outcome: 'cancelled', trigger: 'backfill' });
    expect((await sim.row('a')).backfill?.aside).toBeUndefined();
    await expect(cancelOrEnd(desk, { name: JOB.name })).rejects.toMatchObject({ code: 'NothingRuns' });
  });
});
