import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { noticeId } from '../../src/core/notice';
import { type Row, decodeRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { migrate } from '../../src/operator/shards/apply';
import { moveJob } from '../../src/operator/shards/move';
import type { LeaseTaker } from '../../src/operator/operations/take-lease';
import { makeRow, T0, world } from '../support/accounts';

const JOB = 'report' as JobName;
const HOLDER = '00000000-0000-4000-8000-000000000000' as LeaseId;
const LEASE_MS = 15_000;
const MINUTE = 60_000;
const RUN = { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule', since: T0 } as const;
const EARLIER = recordKey(T0 - MINUTE);

/** A row whose holder has died: its lease has run out, or was broken. */
async function left(changes: Partial<Row>, end: 'expired' | 'broken' = 'expired') {
  const { clock, stores, desks } = world();
  const [a, b] = stores as [LeaseStore, LeaseStore];
  const [from, to] = desks as [LeaseTaker, LeaseTaker];
  await makeRow(a, JOB, { run: RUN, phase: 'running', attempt: 1, ...changes });
  const row = await a.readRow(JOB);
  await a.acquire(JOB, { leaseId: HOLDER, leaseMs: LEASE_MS, ifMatch: row?.etag ?? ('' as never) });
  if (end === 'broken') await a.breakLease?.(JOB, row?.etag ?? ('' as never));
  await clock.advance(LEASE_MS + 1_000);
  const record = async (key: string, changed: object = {}): Promise<void> => {
    const body = { job: JOB, scheduledFor: new Date(T0).toISOString(), runId: `${JOB}-x`, attempts: [], ...changed };
    await a.createRecord(JOB, key, { body: JSON.stringify(body), summary: { state: 'final' } });
  };
  const move = async (endRuns = false): Promise<Row> => {
    const moving = moveJob({ job: JOB, from, to, endRuns, history: 'all' });
    moving.catch(() => undefined);
    await clock.advance(2 * MINUTE);
    await moving;
    return decodeRow((await b.readRow(JOB))?.metadata ?? {});
  };
  return { clock, a, b, record, move };
}

const FINAL = { state: 'final', outcome: 'succeeded', reason: 'completed', trigger: 'schedule', token: 7 };

describe('the copy of a row that a dead holder has left', () => {
  it('shows the end of the run that only its record has', async () => {
    const { record, move } = await left({});
    const endedAt = T0 + 12_000;
    await record(RUN.key, { ...FINAL, startedAt: null, endedAt: new Date(endedAt).toISOString(), latenessMs: null });
    expect((await move()).busyUntil).toBe(endedAt);
  });

  it('shows until when a run lasted that the move has ended, and the failures before it', async () => {
    const notice = { change: 'failed', of: RUN.key, at: T0, failures: 3, since: undefined, skipped: 0 } as const;
    const { move } = await left({ failures: 3, lastFailedKey: RUN.key, telling: [notice] });
    const copy = await move(true);
    expect(copy.busyUntil).toBeGreaterThan(T0 + LEASE_MS);
    expect(copy).toMatchObject({ token: 8, failures: 2, lastFailedKey: undefined, telling: [] });
  });

  it.each([
    { what: 'owes the notices that nobody has created, under a lease that runs out', isCreated: false },
    { what: 'owes no notice that exists in the former store, and is released', isCreated: true },
  ])('$what', async ({ isCreated }) => {
    const notice = { change: 'failed', of: EARLIER, at: T0, failures: 1, since: undefined, skipped: 0 } as const;
    const { a, b, record, move } = await left({ telling: [notice] });
    await record(RUN.key, { ...FINAL, startedAt: null, endedAt: null, latenessMs: null });
    if (isCreated) await a.createNotice(noticeId(JOB, 'failed', EARLIER), { body: '{}', metadata: {} });
    expect((await move()).telling).toEqual(isCreated ? [] : [notice]);
    expect((await b.readRow(JOB))?.lease).toBe(isCreated ? 'available' : 'expired');
  });

  it('has the pieces of a back-filled run that has given way to due times', async () => {
    const run = { scheduledFor: T0 - 5 * MINUTE, since: T0, attempt: 1, uncountedAttempts: 0, notBefore: T0, past: [] };
    const { a, b, record, move } = await left({ backfill: { id: 'b1', at: T0, ran: 1, skipped: 0, aside: run } });
    await record(RUN.key, { ...FINAL, startedAt: null, endedAt: null, latenessMs: null });
    const key = recordKey(run.scheduledFor, 'b1');
    for (const name of ['plan', 'item-1'])
      await a.createPiece(JOB, key, name, { body: `"${name}"`, summary: { name } });
    await a.createPiece(JOB, EARLIER, 'plan', { body: '[]', summary: {} });
    await move();
    const { pieces } = await b.listPieces(JOB, { limit: 10 });
    expect(pieces.map(({ name, summary }) => [name, summary])).toEqual([
      ['item-1', { name: 'item-1' }],
      ['plan', { name: 'plan' }],
    ]);
    expect(await b.readPiece(JOB, key, 'plan')).toBe('"plan"');
  });

  it('is not made while the record of the last run may be missing, also if its lease was broken', async () => {
    const { move } = await left({ phase: 'idle' }, 'broken');
    await expect(move()).rejects.toMatchObject({ code: 'RunGoesOn' });
  });
});

describe('a move of several jobs', () => {
  it('leaves a job whose last record another program has written, and moves the others', async () => {
    const { stores, desks, clock } = world();
    const [a] = stores as [LeaseStore];
    const [from, to] = desks as [LeaseTaker, LeaseTaker];
    await makeRow(a, 'other' as JobName);
    await makeRow(a, JOB, { run: RUN, phase: 'running', attempt: 1 });
    const row = await a.readRow(JOB);
    await a.acquire(JOB, { leaseId: HOLDER, leaseMs: LEASE_MS, ifMatch: row?.etag ?? ('' as never) });
    await a.createRecord(JOB, RUN.key, { body: 'hello', summary: {} });
    const answer = migrate({ from, to, waitMs: MINUTE, endRuns: false, copied: () => undefined });
    await clock.advance(2 * MINUTE);
    const refused = [expect.objectContaining({ job: JOB, code: 'ForeignRecord' })];
    expect(await answer).toMatchObject({ settled: false, moved: ['other'], refused });
  });
});

describe('the copy of a released row', () => {
  it('owes no notices: they exist in the former store', async () => {
    const { stores, desks, clock } = world();
    const [a, b] = stores as [LeaseStore, LeaseStore];
    const [from, to] = desks as [LeaseTaker, LeaseTaker];
    const notice = { change: 'failed', of: EARLIER, at: T0, failures: 1, since: undefined, skipped: 0 } as const;
    await makeRow(a, JOB, { run: RUN, phase: 'running', attempt: 1, telling: [notice] });
    await moveJob({ job: JOB, from, to, endRuns: false, history: 'all' });
    await clock.advance(MINUTE);
    expect((await b.readRow(JOB))?.lease).toBe('available');
    expect(decodeRow((await b.readRow(JOB))?.metadata ?? {}).telling).toEqual([]);
  });
});
