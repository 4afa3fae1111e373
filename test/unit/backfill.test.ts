import { describe, expect, it } from 'vitest';
import type { Backfill } from '../../src/core/backfill';
import type { JobName, LeaseId } from '../../src/core/brand';
import { type Control, NO_CONTROL } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import type { LedgerRecord } from '../../src/core/record';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

const minute = (n: number): number => T0 + n * MINUTE;

function backfill(spec: JobSpec, given: Partial<Backfill> = {}): Backfill {
  return {
    ...{ id: 'fill', from: minute(1), through: minute(5), order: 'oldest', includeSucceeded: true },
    ...{ scheduleHash: spec.scheduleHash, origin: { actor: 'ann', channel: 'shell' }, at: T0, stopped: undefined },
    ...given,
  };
}

const start = (sim: RivalTicks, given: Backfill): Promise<void> =>
  sim.control('a', () => ({ ...NO_CONTROL, backfill: given }));

const filled = (records: readonly LedgerRecord[]): readonly (string | null)[][] =>
  records
    .filter(({ trigger }) => trigger === 'backfill')
    .map((record) => [record.scheduledFor.slice(11, 16), record.outcome]);

const of = (sim: RivalTicks): readonly number[] =>
  sim.calls.filter(({ trigger }) => trigger === 'backfill').map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE);

/** Writes the row as an older build does, which does not know back-fills. */
async function dropProgress({ store }: RivalTicks): Promise<void> {
  const found = await store.readRow('a' as JobName);
  if (found === undefined) throw new Error('no row');
  const leaseId = '00000009-0000-4000-8000-000000000000' as LeaseId;
  const { backfill: dropped, ...metadata } = found.metadata;
  expect(dropped).toBeDefined();
  await store.acquire('a' as JobName, { leaseId, leaseMs: 15_000, ifMatch: found.etag });
  const written = await store.writeRow('a' as JobName, metadata, { leaseId, ifMatch: found.etag });
  expect(written.kind).toBe('written');
  await store.release('a' as JobName, leaseId);
}

describe('a back-fill', () => {
  it.each([
    ['oldest', [1, 2, 3, 4, 5]],
    ['newest', [5, 4, 3, 2, 1]],
  ] as const)('runs each due time once, the %s first, with a record of its own', async (order, expected) => {
    const spec = jobSpec('a', '* * * * *');
    const sim = rivalTicks({ jobs: [spec], deployments: 2 });
    await sim.clock.advance(6 * MINUTE + 5_000);
    const before = (await sim.records('a')).filter(({ trigger }) => trigger !== 'backfill');
    await start(sim, backfill(spec, { order }));
    await sim.clock.advance(2 * MINUTE);
    expect(of(sim)).toEqual(expected);
    const records = await sim.records('a');
    expect(filled(records)).toEqual([5, 4, 3, 2, 1].map((n) => [`00:0${String(n)}`, 'succeeded']));
    expect(records).toEqual(expect.arrayContaining(before));
    expect(records.find(({ trigger }) => trigger === 'backfill')).toMatchObject({
      runId: 'a-20260101T000500Z-m-fill',
      origin: { actor: 'ann' },
    });
    await sim.clock.advance(10 * MINUTE);
    expect(of(sim)).toEqual(expected);
  });

  it('skips what has succeeded, and writes the row once where nothing is left', async () => {
    const spec = jobSpec('a', '* * * * *', { retry: { ...jobSpec('a', '@daily').retry, attempts: 1 } });
    const failing = new Set([minute(2), minute(4)]);
    const sim = rivalTicks({
      jobs: [spec],
      handler: ({ trigger, scheduledFor }) => {
        if (trigger !== 'backfill' && failing.has(scheduledFor.getTime())) throw new Error('down');
      },
    });
    await sim.clock.advance(6 * MINUTE + 5_000);
    await start(sim, backfill(spec, { includeSucceeded: false }));
    await sim.clock.advance(2 * MINUTE);
    expect(of(sim)).toEqual([2, 4]);
    expect((await sim.row('a')).backfill).toEqual({
      id: 'fill',
      at: minute(5),
      ran: 2,
      skipped: 3,
      aside: undefined,
    });
  });

  it('continues after the death of every instance, and after its own run was taken over', async () => {
    const spec = jobSpec('a', '0 * * * *');
    const sim = rivalTicks({ jobs: [spec], start: T0 + 30_000, handler: () => undefined });
    await sim.clock.advance(10 * 60 * MINUTE);
    await start(sim, backfill(spec, { from: minute(60), through: minute(480) }));
    while (of(sim).length < 3) await sim.clock.advance(100);
    for (const instance of sim.instances) instance.kill();
    await sim.clock.advance(5 * MINUTE);
    sim.startInstance('d9');
    await sim.clock.advance(5 * MINUTE);
    const records = (await sim.records('a')).filter(({ trigger }) => trigger === 'backfill');
    expect(filled(records).map(([at]) => at)).toEqual([8, 7, 6, 5, 4, 3, 2, 1].map((hour) => `0${String(hour)}:00`));
    expect(new Set(records.map(({ outcome }) => outcome))).toEqual(new Set(['succeeded']));
  });

  it.each(['skip', 'queue', 'cancel'] as const)(
    'keeps a due time waiting that comes during its run, and never overlaps it, with overlap %s',
    async (overlap) => {
      const spec = jobSpec('a', '* * * * *', { overlap, catchUp: 'none' });
      const sim = rivalTicks({
        jobs: [spec],
        handler: async ({ trigger }, on) => {
          if (trigger === 'backfill')
            await new Promise<void>((resolve) => on.coordinator.clock.after(150_000, resolve));
        },
      });
      await sim.clock.advance(6 * MINUTE + 5_000);
      await start(sim, backfill(spec, { from: minute(1), through: minute(3) }));
      await sim.clock.advance(12 * MINUTE);
      const records = await sim.records('a');
      expect(filled(records)).toEqual([3, 2, 1].map((n) => [`00:0${String(n)}`, 'succeeded']));
      const others = records.filter(({ trigger }) => trigger !== 'backfill').map(({ outcome }) => outcome);
      expect(new Set(others)).toEqual(new Set(['succeeded', 'collapsed']));
      const collapsed = records.find(({ outcome }) => outcome === 'collapsed');
      expect(collapsed).toMatchObject({ reason: 'catchUpLatest' });
    },
  );

  it('lets due times go first between two attempts of one run', async () => {
    const spec = jobSpec('a', '* * * * *', {
      retry: { attempts: 3, backoffMs: 4 * MINUTE, factor: 1, maxBackoffMs: 4 * MINUTE, jitter: 'none' },
    });
    const sim = rivalTicks({
      jobs: [spec],
      handler: ({ trigger, attempt }) => {
        if (trigger === 'backfill' && attempt < 3) throw new Error('down');
      },
    });
    await sim.clock.advance(6 * MINUTE + 5_000);
    await start(sim, backfill(spec, { from: minute(2), through: minute(2) }));
    await sim.clock.advance(12 * MINUTE);
    const records = await sim.records('a');
    const [run] = records.filter(({ trigger }) => trigger === 'backfill');
    expect(run).toMatchObject({ outcome: 'succeeded', attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }] });
    const scheduled = records.filter(({ trigger }) => trigger !== 'backfill');
    expect(scheduled.every(({ outcome, latenessMs }) => outcome === 'succeeded' && (latenessMs ?? 0) < 1_000)).toBe(
      true,
    );
    expect(scheduled).toHaveLength(18);
  });

  it('runs nothing twice after an older build dropped its progress', async () => {
    const spec = jobSpec('a', '0 * * * *');
    const sim = rivalTicks({ jobs: [spec], start: T0 + 30_000 });
    await sim.clock.advance(10 * 60 * MINUTE);
    await start(sim, backfill(spec, { from: minute(60), through: minute(480) }));
    while (of(sim).length < 4) await sim.clock.advance(100);
    for (const instance of sim.instances) instance.kill();
    await sim.clock.advance(2 * MINUTE);
    await dropProgress(sim);
    sim.startInstance('d9');
    await sim.clock.advance(5 * MINUTE);
    const calls = sim.calls.filter(({ trigger, attempt }) => trigger === 'backfill' && attempt === 1);
    expect(new Set(calls.map(({ scheduledFor }) => scheduledFor)).size).toBe(calls.length);
    expect(filled(await sim.records('a'))).toHaveLength(8);
  });

  it('leaves a run aside without an end if it was stopped and an older build dropped its progress', async () => {
    const spec = jobSpec('a', '* * * * *', {
      retry: { attempts: 4, backoffMs: 4 * MINUTE, factor: 1, maxBackoffMs: 4 * MINUTE, jitter: 'none' },
    });
    const sim = rivalTicks({
      jobs: [spec],
      handler: ({ trigger, runId }) => {
        if (trigger === 'backfill' && !runId.endsWith('-again')) throw new Error('down');
      },
    });
    await sim.clock.advance(6 * MINUTE + 5_000);
    const fill = backfill(spec, { from: minute(2), through: minute(2) });
    await start(sim, fill);
    const isAside = async (): Promise<boolean> => (await sim.row('a')).backfill?.aside?.attempt === 2;
    for (let steps = 0; !(await isAside()); steps += 1) {
      if (steps > 1_200) throw new Error('no second attempt was put aside');
      await sim.clock.advance(1_000);
    }
    await sim.control('a', () => ({ ...NO_CONTROL, backfill: { ...fill, stopped: sim.clock.now() } }));
    // The lease of the due time is free again then, and the next attempt of the run is still to wait.
    await sim.clock.advance(20_000);
    await dropProgress(sim);
    await sim.clock.advance(20 * MINUTE);
    expect(of(sim)).toEqual([2, 2]);
    expect(filled(await sim.records('a'))).toEqual([['00:02', null]]);
    await start(sim, { ...fill, id: 'again' });
    await sim.clock.advance(2 * MINUTE);
    const records = await sim.records('a');
    expect(filled(records).map(([, outcome]) => outcome)).toEqual(expect.arrayContaining([null, 'succeeded']));
    // The due times of the schedule ran as before.
    const scheduled = records.filter(({ trigger }) => trigger !== 'backfill');
    expect(new Set(scheduled.map(({ outcome }) => outcome))).toEqual(new Set(['succeeded']));
  });

  it('waits while its job is paused, and ends when it is stopped', async () => {
    const spec = jobSpec('a', '0 * * * *');
    const sim = rivalTicks({ jobs: [spec], start: T0 + 30_000 });
    await sim.clock.advance(10 * 60 * MINUTE);
    const pause = { by: 'ann', note: 'wait', since: sim.clock.now() - 1_000, until: undefined };
    const fill = backfill(spec, { from: minute(60), through: minute(480) });
    await sim.control('a', () => ({ ...NO_CONTROL, pauses: [pause], backfill: fill }));
    await sim.clock.advance(5 * MINUTE);
    expect(of(sim)).toEqual([]);
    await sim.control('a', () => ({ ...NO_CONTROL, backfill: fill }));
    while (of(sim).length < 3) await sim.clock.advance(100);
    const stop = (control: Control): Control => ({ ...control, backfill: { ...fill, stopped: sim.clock.now() } });
    await sim.control('a', stop);
    await sim.clock.advance(5 * MINUTE);
    expect(of(sim).length).toBeLessThan(5);
    expect(filled(await sim.records('a'))).toHaveLength(of(sim).length);
  });

  it('has nothing more to run once the schedule has changed', async () => {
    const spec = jobSpec('a', '0 * * * *');
    const sim = rivalTicks({ jobs: [spec], start: T0 + 30_000 });
    await sim.clock.advance(10 * 60 * MINUTE);
    await start(sim, backfill(spec, { from: minute(60), through: minute(480), scheduleHash: 'another' }));
    await sim.clock.advance(5 * MINUTE);
    expect(of(sim)).toEqual([]);
  });

  it('runs the items of a job that fans out', async () => {
    const spec = jobSpec('a', '0 * * * *');
    let items: number[] = [];
    const sim = rivalTicks({
      jobs: [spec],
      start: T0 + 30_000,
      fanOut: {
        a: () =>
          defineFanOut({
            plan: () => ['one', 'two'],
            each: ({ scheduledFor }) => {
              items.push((scheduledFor.getTime() - T0) / MINUTE);
            },
            gather: () => undefined,
          }),
      },
    });
    await sim.clock.advance(4 * 60 * MINUTE);
    items = [];
    await start(sim, backfill(spec, { from: minute(60), through: minute(120) }));
    await sim.clock.advance(5 * MINUTE);
    expect(items).toEqual([60, 60, 120, 120]);
    expect(filled(await sim.records('a'))).toHaveLength(2);
  });

  it('keeps its plan and its finished items while due times of the job run in between', async () => {
    const spec = jobSpec('a', '* * * * *', {
      retry: { attempts: 3, backoffMs: 4 * MINUTE, factor: 1, maxBackoffMs: 4 * MINUTE, jitter: 'none' },
    });
    let plans = 0;
    const items: string[] = [];
    const sim = rivalTicks({
      jobs: [spec],
      fanOut: {
        a: () =>
          defineFanOut({
            plan: ({ trigger }) => {
              if (trigger === 'backfill') plans += 1;
              return ['one', 'two'];
            },
            each: ({ scheduledFor }, item) => {
              if (scheduledFor.getTime() === minute(2)) items.push(item);
            },
            gather: ({ trigger, attempt }) => {
              if (trigger === 'backfill' && attempt < 3) throw new Error('down');
            },
          }),
      },
    });
    await sim.clock.advance(6 * MINUTE + 5_000);
    items.length = 0;
    await start(sim, backfill(spec, { from: minute(2), through: minute(2) }));
    await sim.clock.advance(14 * MINUTE);
    expect(filled(await sim.records('a'))).toEqual([['00:02', 'succeeded']]);
    expect(items).toEqual(['one', 'two']);
    expect(plans).toBe(1);
    const left = await sim.store.listPieces('a' as JobName, { limit: 10 });
    expect(left.pieces).toEqual([]);
  });
});
