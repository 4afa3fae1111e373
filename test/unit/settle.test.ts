import { describe, expect, it } from 'vitest';
import { dispatch } from '../../src/coordinator/attempt/together';
import type { JobName, LeaseId } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { type Control, encodeControl } from '../../src/core/control';
import type { RanOutcome } from '../../src/core/outcome';
import { recordKey } from '../../src/core/key';
import type { Row } from '../../src/core/row';
import { failuresAfter } from '../../src/core/run';
import { NonRetryableError } from '../../src/handler/handler';
import { packRow } from '../../src/coordinator/message';
import { firstInstance, listedRow, withoutTicks } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = 'a' as JobName;

const outcomes = async (sim: RivalTicks): Promise<Record<string, string | null>> =>
  Object.fromEntries((await sim.records('a')).map((record) => [record.scheduledFor.slice(11, 19), record.outcome]));
const no = (): never => {
  throw new NonRetryableError('no');
};

describe('the count of failed runs in a row', () => {
  const known: readonly RanOutcome[] = ['succeeded', 'cancelled', 'failed', 'timedOut', 'stalled'];
  const after = (row: Row) => Object.fromEntries(known.map((outcome) => [outcome, failuresAfter(row, outcome)]));
  const job = jobSpec('a', '@hourly');
  const key = recordKey(T0);

  it('grows with a failure, ends with a success, and is left as it is by a cancel', () => {
    const earlier = recordKey(T0 - HOUR);
    const counted = { failures: 3, lastFailedKey: key, failedBefore: undefined };
    expect(after(ranRow(job, { failures: 2, lastFailedKey: earlier }))).toEqual({
      succeeded: { failures: 0, lastFailedKey: undefined, failedBefore: 2 },
      cancelled: { failures: 2, lastFailedKey: earlier, failedBefore: undefined },
      failed: counted,
      timedOut: counted,
      stalled: counted,
    });
  });

  it('grows with a run once, and no more where that run does not fail after all', () => {
    const counted = { failures: 2, lastFailedKey: key, failedBefore: undefined };
    expect(after(ranRow(job, counted))).toEqual({
      succeeded: { failures: 0, lastFailedKey: undefined, failedBefore: 1 },
      cancelled: { failures: 1, lastFailedKey: undefined, failedBefore: undefined },
      failed: counted,
      timedOut: counted,
      stalled: counted,
    });
  });

  it('grows by one where the holder dies between its row and its record', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly', { pauseAfterFailures: 2 })], handler: no });
    const first = firstInstance(sim);
    interceptStore(first, 'createRecord', (createRecord) => (...given) => {
      first.kill();
      return createRecord(...given);
    });
    await sim.clock.advance(HOUR + MINUTE);
    expect(first.dead).toBe(true);
    expect((await sim.row('a')).failures).toBe(1);
    sim.startInstance('d2');
    await sim.clock.advance(5 * MINUTE);
    expect(await outcomes(sim)).toEqual({ '01:00:00': 'failed' });
    expect((await sim.row('a')).failures).toBe(1);
    expect((await sim.store.readControl(A)).control).toBeUndefined();
  });
});

describe('pauseAfterFailures', () => {
  it('pauses no job for a run that is cancelled, whatever failed before it', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '*/10 * * * *', { pauseAfterFailures: 1 })],
      handler: ({ signal, scheduledFor }) => {
        if (scheduledFor.getTime() === T0 + 10 * MINUTE) return no();
        return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
    await sim.clock.advanceTo(T0 + 11 * MINUTE);
    const resumed = sim.clock.now();
    await sim.control('a', (control) => ({
      ...control,
      pauses: control.pauses.map((pause) => ({ ...pause, until: resumed })),
    }));
    await sim.clock.advanceTo(T0 + 20 * MINUTE + 30 * SECOND);
    await sim.control('a', (control) => ({ ...control, cancel: 'a-20260101T002000Z' }));
    await sim.clock.advance(MINUTE);
    expect(await outcomes(sim)).toMatchObject({ '00:10:00': 'failed', '00:20:00': 'cancelled' });
    let pauses: Control['pauses'] = [];
    await sim.control('a', (control) => {
      pauses = control.pauses;
      return control;
    });
    expect(pauses).toMatchObject([{ until: resumed }]);
  });

  it('pauses no job for a due time whose turn did not come, whatever failed before it', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [
        jobSpec('blocker', '*/10 * * * *', { priority: 9 }),
        jobSpec('a', '*/10 * * * *', { pauseAfterFailures: 1, catchUpWindowMs: MINUTE }),
      ],
      maxConcurrentRuns: 1,
      handler: async ({ job, scheduledFor }) => {
        if (job === 'a') no();
        if (scheduledFor.getTime() === T0 + 20 * MINUTE) await sleep(sim.clock, 3 * MINUTE);
      },
    });
    await sim.clock.advanceTo(T0 + 11 * MINUTE);
    const resumed = sim.clock.now();
    await sim.control('a', (control) => ({
      ...control,
      pauses: control.pauses.map((pause) => ({ ...pause, until: resumed })),
    }));
    await sim.clock.advanceTo(T0 + 24 * MINUTE);
    expect(await outcomes(sim)).toMatchObject({ '00:10:00': 'failed', '00:20:00': 'expired' });
    let pauses: Control['pauses'] = [];
    await sim.control('a', (control) => {
      pauses = control.pauses;
      return control;
    });
    expect(pauses).toMatchObject([{ until: resumed }]);
  });

  it('does not keep a failed run from its record where the control record has no room for a pause', async () => {
    const retry = { ...jobSpec('a', '@hourly').retry, attempts: 1 };
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly', { pauseAfterFailures: 1, retry })], handler: no });
    await sim.clock.advance(MINUTE);
    await sim.control('a', fill);
    await sim.clock.advance(3 * HOUR);
    expect(await outcomes(sim)).toEqual({ '01:00:00': 'failed', '02:00:00': 'failed', '03:00:00': 'failed' });
  });

  /** Pauses that are long over, as many as may be stored. */
  function fill(control: Control): Control {
    const pauses = [...control.pauses, { by: 'x', note: 'n', since: T0, until: T0 + 500 }];
    const next = { ...control, pauses };
    return Object.entries(encodeControl(next)).flat().join('').length > 8192 ? control : fill(next);
  }
});

describe('what passed during a run', () => {
  it('is overlapped, also where a take-over finds the final record of the run', async () => {
    let hangs = true;
    const sim = rivalTicks({
      jobs: [jobSpec('a', '* * * * *')],
      handler: () => (hangs ? new Promise(() => undefined) : 'ok'),
    });
    await sim.clock.advanceTo(T0 + MINUTE + SECOND);
    expect(sim.calls).toHaveLength(1);
    firstInstance(sim).kill();
    hangs = false;
    await sim.clock.advanceTo(T0 + 2 * MINUTE + 6 * SECOND);
    const second = sim.startInstance('d2');
    // The first one only stood still: it comes to write its record between its successor's look and mark.
    let endedAt: string | undefined;
    interceptStore(second, 'createRecord', (createRecord) => async (job, key, record, options) => {
      if (endedAt === undefined && record.summary['state'] === 'open') {
        endedAt = new Date(sim.clock.now()).toISOString();
        const end = { state: 'final', outcome: 'succeeded', reason: 'completed' };
        const body = { ...(JSON.parse(record.body) as object), ...end, endedAt, token: 1, execution: 'first' };
        await sim.store.createRecord(job, key, { body: JSON.stringify(body), summary: end });
      }
      return createRecord(job, key, record, options);
    });
    await sim.clock.advance(5 * MINUTE);
    const records = await sim.records('a');
    expect(records.find(({ execution }) => execution === 'first')).toMatchObject({ outcome: 'succeeded', endedAt });
    expect(await outcomes(sim)).toMatchObject({ '00:01:00': 'succeeded', '00:02:00': 'overlapped' });
  });

  it('is overlapped, also where the row could not be told until when the run went on', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '* * * * *')],
      handler: async ({ scheduledFor }) => {
        if (scheduledFor.getTime() === T0 + MINUTE) await sleep(sim.clock, 70 * SECOND);
      },
    });
    let refused = 0;
    interceptStore(firstInstance(sim), 'writeRow', (writeRow) => async (...given) => {
      const [, metadata] = given;
      if (metadata['busyuntil'] === undefined || refused > 0) return writeRow(...given);
      refused += 1;
      return { kind: 'refused' };
    });
    await sim.clock.advance(5 * MINUTE);
    expect(refused).toBe(1);
    expect(await outcomes(sim)).toMatchObject({ '00:01:00': 'succeeded', '00:02:00': 'overlapped' });
  });
});

describe('what a row owes', () => {
  it('is written before a take-over that finds the final record lets go', async () => {
    const spec = jobSpec('a', '* * * * *');
    const sim = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    const { etag } = await listedRow(sim, A);
    const leaseId = on.coordinator.newId() as LeaseId;
    const { leaseMs } = spec;
    const acquired = await sim.store.acquire(A, { leaseId, leaseMs, ifMatch: etag });
    if (acquired.kind !== 'acquired') throw new Error(acquired.kind);
    const end = { state: 'final', outcome: 'succeeded' };
    const body = { job: 'a', scheduledFor: new Date(T0).toISOString(), ...end, attempts: [] };
    await sim.store.createRecord(A, recordKey(T0), { body: JSON.stringify(body), summary: end });
    const before = { from: T0 - MINUTE, through: T0 - MINUTE, count: 1 };
    const owed = [{ outcome: 'overlapped', reason: 'overlapSkip', ...before }] as const;
    const row = packRow(ranRow(spec, { attempt: 2, owed }));
    const attempt = dispatch(
      on.coordinator,
      {
        ...{ kind: 'handedOver', job: 'a', leaseId, leaseMs, etag, lease: 'expired', acquiredAt: acquired.date, row },
        ...{ what: 'takeOver', end: null },
      },
      on.report,
    );
    await sim.clock.advance(SECOND);
    expect(await attempt).toMatchObject({ kind: 'ended' });
    expect((await listedRow(sim, A)).lease).toBe('available');
    expect(await outcomes(sim)).toEqual({ '23:59:00': 'overlapped', '00:00:00': 'succeeded' });
    expect(sim.calls).toEqual([]);
  });
});

describe('an attempt that lasts for longer than records are kept', () => {
  it('is recorded although retention has deleted its mark', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@hourly', { keepMs: 10 * MINUTE, timeoutMs: 30 * MINUTE })],
      handler: async ({ attempt }) => {
        if (attempt === 1) throw new Error('first');
        await sleep(sim.clock, 20 * MINUTE);
        return 'done';
      },
    });
    await sim.clock.advance(HOUR + 5 * MINUTE);
    expect(await sim.row('a')).toMatchObject({ phase: 'running', attempt: 2 });
    expect(await sim.records('a')).toMatchObject([{ state: 'open' }]);
    sim.service.deleteRecord(A, recordKey(T0 + HOUR));
    await sim.clock.advance(20 * MINUTE);
    expect(await sim.records('a')).toMatchObject([
      { state: 'final', outcome: 'succeeded', result: 'done', attempts: [{ attempt: 1 }, { attempt: 2 }] },
    ]);
    expect((await listedRow(sim, A)).lease).toBe('available');
  });
});

describe('what is superseded', () => {
  it('is not released after a record that a successor wrote', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@at 2026-01-01T00:01:00Z')] });
    const instance = firstInstance(sim);
    interceptStore(instance, 'createRecord', (create) => async (job, key, _record, options) => {
      const end = { state: 'final', outcome: 'succeeded' };
      const body = { job, scheduledFor: new Date(T0).toISOString(), ...end, execution: 'a successor', attempts: [] };
      await create(job, key, { body: JSON.stringify(body), summary: end }, options);
      return { kind: 'exists' };
    });
    await sim.clock.advance(70 * SECOND);
    expect(sim.calls).toHaveLength(1);
    expect(sim.events.map(({ event }) => event)).toContain('superseded');
    expect(instance.calls.get('release')).toBeUndefined();
  });

  it('is not released by a decision whose row was refused', async () => {
    const job = jobSpec('a', '@hourly');
    const sim = rivalTicks({ jobs: [job] });
    const instance = firstInstance(sim);
    await sim.clock.advance(20 * SECOND);
    interceptStore(instance, 'writeRow', () => async () => ({ kind: 'refused' }));
    const pause = { by: 'x', note: 'n', since: T0 + 30 * MINUTE, until: T0 + 70 * MINUTE };
    await sim.control('a', (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advance(71 * MINUTE);
    expect(instance.calls.get('acquire')).toBeGreaterThan(0);
    expect(instance.calls.get('release')).toBeUndefined();
  });
});
