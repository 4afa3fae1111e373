import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { decodeControl } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import {
  readBackfillStatus,
  startBackfill,
  stopBackfill,
  type WantedBackfill,
  planBackfill,
} from '../../src/operator/operations/backfill';
import { requestRun, requestRerun } from '../../src/operator/operations/run';
import { jobsIn } from '../../src/operator/views/list-jobs';
import { pagedJob, pageOfRuns } from '../../src/operator/views/run-pages';
import { showRun } from '../../src/operator/views/runs';
import type { JobContext } from '../../src/handler/handler';
import { aborted } from '../support/election';
import { jobSpec } from '../support/job';
import { type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';
import { isoOf } from '../../src/core/iso';
import { pauseJob, resumeJob, cancelRun } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const minute = (n: number): number => T0 + n * MINUTE;

const origin = { actor: 'ann', channel: 'shell', note: 'the table was empty' };
const WANTED: WantedBackfill = {
  ...{ from: minute(1), to: minute(5), order: 'oldest', limit: undefined, includeSucceeded: false },
};

/** A job whose runs at :02 and :04 have failed. */
async function seen(
  spec: JobSpec = jobSpec('a', '* * * * *', { retry: { ...jobSpec('a', '@daily').retry, attempts: 1 } }),
  options: Partial<SimulationOptions> = {},
): Promise<{ readonly sim: RivalTicks; readonly spec: JobSpec }> {
  const sim = rivalTicks({
    jobs: [spec],
    handler: ({ trigger, scheduledFor }) => {
      if (trigger === 'schedule' && [minute(2), minute(4)].includes(scheduledFor.getTime())) throw new Error('down');
    },
    ...options,
  });
  await sim.clock.advance(6 * MINUTE + 20_000);
  return { sim, spec };
}

const minutes = (dueTimes: readonly { readonly scheduledFor: number; readonly runs: boolean }[]): readonly number[] =>
  dueTimes.filter(({ runs }) => runs).map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE);

describe('the dry run of a back-fill', () => {
  it('names each due time with its outcome, and writes nothing', async () => {
    const { sim, spec } = await seen();
    const before = await sim.store.readControl('a' as JobName);
    const plan = await planBackfill(sim.store, spec, WANTED);
    expect(plan).toMatchObject({ running: 2, skipped: 3 });
    expect(plan.dueTimes.map(({ outcome }) => outcome)).toEqual([
      ...['succeeded', 'failed', 'succeeded', 'failed', 'succeeded'],
    ]);
    expect(minutes(plan.dueTimes)).toEqual([2, 4]);
    expect(await sim.store.readControl('a' as JobName)).toEqual(before);
  });

  it('calls a due time running whose run has no record yet', async () => {
    const { sim, spec } = await seen(jobSpec('a', '* * * * *', { timeoutMs: 10 * MINUTE }), {
      handler: async ({ scheduledFor, signal }) => {
        if (scheduledFor.getTime() === minute(4)) await aborted(signal);
      },
    });
    const plan = await planBackfill(sim.store, spec, { ...WANTED, from: minute(3) });
    expect(plan.dueTimes[1]).toEqual({ scheduledFor: minute(4), outcome: 'running', runs: true });
  });

  it('keeps to the order and the limit, and takes all if those that succeeded are included', async () => {
    const { sim, spec } = await seen();
    const newest = await planBackfill(sim.store, spec, { ...WANTED, order: 'newest', limit: 1 });
    expect(minutes(newest.dueTimes)).toEqual([4]);
    const all = await planBackfill(sim.store, spec, { ...WANTED, includeSucceeded: true, limit: 3 });
    expect(minutes(all.dueTimes)).toEqual([1, 2, 3]);
  });

  it('finds the outcome of due times that share a record, and of those without one', async () => {
    const spec = jobSpec('a', '* * * * *', { catchUp: 'none' });
    const sim = rivalTicks({ jobs: [spec] });
    await sim.clock.advance(MINUTE + 20_000);
    sim.instances[0]?.kill();
    await sim.clock.advance(20 * MINUTE);
    sim.startInstance('d1');
    await sim.clock.advance(2 * MINUTE);
    const plan = await planBackfill(sim.store, spec, { ...WANTED, from: minute(-2), to: minute(12) });
    expect(plan.dueTimes.map(({ outcome }) => outcome)).toEqual([
      ...[null, null, null, 'succeeded'],
      ...Array.from({ length: 11 }, () => 'expired'),
    ]);
    const within = await planBackfill(sim.store, spec, { ...WANTED, from: minute(10), to: minute(11) });
    expect(within.dueTimes.map(({ outcome }) => outcome)).toEqual(['expired', 'expired']);
    // The first of them has been run since, and the others have the record that begins before.
    await startBackfill(sim, spec, { ...WANTED, from: minute(7), to: minute(7), id: 'f1', origin });
    await sim.clock.advance(MINUTE);
    const later = await planBackfill(sim.store, spec, { ...WANTED, from: minute(7), to: minute(9) });
    expect(later.dueTimes.map(({ outcome }) => outcome)).toEqual(['succeeded', 'expired', 'expired']);
  });

  it.each([
    ['@manual', 'NoDueTimes', {}],
    ['@always', 'NoDueTimes', {}],
    ['* * * * *', 'FutureTime', { to: minute(60) }],
    ['* * * * *', 'EmptyRange', { from: minute(1) + 1, to: minute(2) - 1 }],
    ['* * * * *', 'TooManyDueTimes', { from: minute(-20_000) }],
  ])('of a job with schedule %s is refused: %s', async (schedule, code, given) => {
    const { sim, spec } = await seen(jobSpec('a', schedule));
    await expect(planBackfill(sim.store, spec, { ...WANTED, ...given })).rejects.toMatchObject({ code });
  });

  it('is refused for a job that nobody has seen, or that follows another schedule', async () => {
    const { sim } = await seen();
    await expect(planBackfill(sim.store, jobSpec('b', '* * * * *'), WANTED)).rejects.toMatchObject({ code: 'Unseen' });
    const changed = jobSpec('a', '*/5 * * * *');
    await expect(planBackfill(sim.store, changed, WANTED)).rejects.toMatchObject({ code: 'OtherSchedule' });
  });
});

describe('a back-fill that a person starts', () => {
  it('runs what the dry run said, and shows how far it is', async () => {
    const { sim, spec } = await seen();
    expect(await readBackfillStatus(sim.store, spec)).toBeUndefined();
    const started = await startBackfill(sim, spec, { ...WANTED, id: 'fill', origin });
    expect(started).toEqual({
      ...{ id: 'fill', from: isoOf(minute(2)), through: isoOf(minute(4)), running: 2, skipped: 3, paused: false },
    });
    expect(await readBackfillStatus(sim.store, spec)).toMatchObject({ state: 'active', dueTimes: 3, left: 3, origin });
    await sim.clock.advance(MINUTE);
    expect(await readBackfillStatus(sim.store, spec)).toMatchObject({
      ...{ state: 'done', left: 0, skipped: 1, outcomes: { succeeded: 2 }, runId: null },
    });
    await expect(startBackfill(sim, spec, { ...WANTED, id: 'again', origin })).rejects.toMatchObject({
      code: 'NothingToRun',
    });
  });

  it('has ended with the due times that it had come to, if the schedule has changed', async () => {
    const { sim, spec } = await seen();
    await startBackfill(sim, spec, { ...WANTED, id: 'fill', origin });
    await sim.clock.advance(MINUTE);
    const changed = jobSpec('a', '*/2 * * * *');
    expect(await readBackfillStatus(sim.store, changed)).toMatchObject({
      ...{ state: 'scheduleChanged', dueTimes: 3, left: 0, skipped: 1, outcomes: { succeeded: 2 } },
    });
  });

  it('has a run that waits while due times go first, which lists and its own page show', async () => {
    const minutes = 10 * MINUTE;
    const retry = { attempts: 3, backoffMs: minutes, maxBackoffMs: minutes, factor: 1, jitter: 'none' } as const;
    const { sim, spec } = await seen(jobSpec('a', '* * * * *', { retry }), {
      handler: ({ trigger }) => {
        if (trigger === 'backfill') throw new Error('down');
      },
    });
    await startBackfill(sim, spec, { ...WANTED, includeSucceeded: true, id: 'fill', origin });
    await sim.clock.advance(3 * MINUTE);
    const listing = await sim.store.list();
    const [job] = jobsIn(listing, [spec]).jobs.map(pagedJob);
    expect(job?.aside).toBeDefined();
    const { runId } = (await readBackfillStatus(sim.store, spec)) ?? {};
    const filter = { trigger: 'backfill', actor: 'ann' };
    const { runs } = await pageOfRuns(sim.store, job ? [job] : [], filter, { limit: 5, start: undefined });
    expect(runs).toMatchObject([{ runId, outcome: 'retrying', startedAt: expect.any(Number) as unknown }]);
    const all = await pageOfRuns(sim.store, job ? [job] : [], {}, { limit: 50, start: undefined });
    expect(all.runs.map(({ scheduledFor }) => scheduledFor)).toEqual(
      all.runs.map(({ scheduledFor }) => scheduledFor).toSorted((one, other) => other - one),
    );
    expect(await showRun(sim.store, spec.name, runs[0]?.key ?? '', listing)).toMatchObject({
      ...{ runId, outcome: 'retrying', trigger: 'backfill', origin, attempts: [{ attempt: 1, outcome: 'failed' }] },
    });
  });

  it('has runs that cannot be run again before they are over, though their due times are', async () => {
    const retry = {
      attempts: 2,
      backoffMs: 10 * MINUTE,
      maxBackoffMs: 10 * MINUTE,
      factor: 1,
      jitter: 'none',
    } as const;
    const { sim, spec } = await seen(jobSpec('a', '* * * * *', { retry, timeoutMs: 2 * MINUTE }), {
      handler: async ({ trigger, signal }) => {
        if (trigger === 'backfill') await aborted(signal);
      },
    });
    await startBackfill(sim, spec, { ...WANTED, includeSucceeded: true, id: 'fill', origin });
    const again = (): Promise<unknown> =>
      requestRerun(sim, spec, 0, { id: 'r1', time: minute(1), request: 'fill', origin });
    await sim.clock.advance(MINUTE);
    await expect(again()).rejects.toThrow(/is not over/);
    await sim.clock.advance(3 * MINUTE);
    const [job] = jobsIn(await sim.store.list(), [spec]).jobs.map(pagedJob);
    expect(job?.aside).toBeDefined();
    await expect(again()).rejects.toThrow(/is not over/);
  });

  it('is one at a time for a job, and can be stopped', async () => {
    const { sim, spec } = await seen();
    await pauseJob(sim.store, { name: spec.name, spec }, { by: 'ann', note: 'wait' });
    const subject = { name: spec.name, spec };
    await expect(stopBackfill(sim, subject)).rejects.toMatchObject({ code: 'NoBackfill' });
    expect(await startBackfill(sim, spec, { ...WANTED, id: 'fill', origin })).toMatchObject({ paused: true });
    expect(await readBackfillStatus(sim.store, spec)).toMatchObject({ state: 'paused' });
    await expect(startBackfill(sim, spec, { ...WANTED, id: 'two', origin })).rejects.toMatchObject({
      code: 'BackfillGoesOn',
    });
    // A call whose answer was lost is sent again.
    expect(await startBackfill(sim, spec, { ...WANTED, id: 'fill', origin })).toMatchObject({ id: 'fill' });
    expect(await stopBackfill(sim, subject)).toMatchObject({ id: 'fill' });
    expect(await readBackfillStatus(sim.store, spec)).toMatchObject({ state: 'stopped', left: 3 });
    await expect(stopBackfill(sim, subject)).rejects.toMatchObject({ code: 'NoBackfill' });
    expect(await startBackfill(sim, spec, { ...WANTED, id: 'two', origin })).toMatchObject({ id: 'two' });
  });

  it('has a run that can be cancelled while due times go before its next attempt', async () => {
    const retry = {
      attempts: 3,
      backoffMs: 10 * MINUTE,
      maxBackoffMs: 10 * MINUTE,
      factor: 1,
      jitter: 'none',
    } as const;
    const handler = ({ trigger }: JobContext): void => {
      if (trigger === 'backfill') throw new Error('down');
    };
    const { sim, spec } = await seen(jobSpec('a', '* * * * *', { retry }), { handler });
    const span = { from: minute(2), to: minute(2), includeSucceeded: true };
    await startBackfill(sim, spec, { ...WANTED, ...span, id: 'f1', origin });
    await sim.clock.advance(2 * MINUTE);
    const { runId } = (await readBackfillStatus(sim.store, spec)) ?? {};
    expect(runId).toBe('a-20260101T000200Z-m-f1');
    const subject = { name: spec.name, spec };
    await expect(cancelRun(sim.store, subject, 'a-20260101T000300Z')).rejects.toThrow(`${runId} is in progress`);
    expect(await cancelRun(sim.store, subject, runId ?? undefined)).toMatchObject({
      runId,
      endedBy: 'tick',
    });
    // Another change of the control keeps it.
    await pauseJob(sim.store, subject, { by: 'ann', note: 'wait' });
    await resumeJob(sim.store, subject);
    await sim.clock.advance(MINUTE);
    expect((await sim.records('a')).find((record) => record.runId === runId)).toMatchObject({ outcome: 'cancelled' });
    await expect(cancelRun(sim.store, subject)).rejects.toMatchObject({ code: 'NothingRuns' });
  });

  it('stays in the control when a person changes something else, and lets requests in during its runs', async () => {
    const { sim, spec } = await seen(undefined, {
      handler: async ({ trigger }, on) => {
        if (trigger === 'backfill') await new Promise<void>((resolve) => on.coordinator.clock.after(40_000, resolve));
      },
    });
    await startBackfill(sim, spec, { ...WANTED, includeSucceeded: true, id: 'fill', origin });
    while (!sim.calls.some(({ trigger }) => trigger === 'backfill')) await sim.clock.advance(1_000);
    await requestRun(sim, spec, { id: 'byhand' });
    const { control } = await sim.store.readControl('a' as JobName);
    expect(decodeControl(control?.metadata ?? {}).backfill?.id).toBe('fill');
    await sim.clock.advance(2 * MINUTE);
    expect(sim.calls.some(({ trigger }) => trigger === 'manual')).toBe(true);
    await sim.clock.advance(15 * MINUTE);
    expect(await readBackfillStatus(sim.store, spec)).toMatchObject({ state: 'done', outcomes: { succeeded: 5 } });
  });
});
