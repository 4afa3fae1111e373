import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { cancelRun, pauseJob, resumeJob } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

const iso = (ms: number): string => new Date(ms).toISOString();
const outcomes = async (sim: RivalTicks, job: string): Promise<Record<string, string | null>> =>
  Object.fromEntries((await sim.records(job)).map((record) => [record.scheduledFor.slice(11, 19), record.outcome]));

describe('what was missed while nobody was there', () => {
  it.each([
    ['latest', { '00:31:00': 'collapsed', '00:45:00': 'succeeded', '00:46:00': 'succeeded' }],
    ['none', { '00:31:00': 'expired', '00:46:00': 'succeeded' }],
    ['all', { '00:31:00': 'succeeded', '00:40:00': 'succeeded', '00:45:00': 'succeeded' }],
  ] as const)('catchUp %s', async (catchUp, expected) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *', { catchUp })] });
    await sim.clock.advance(30 * MINUTE + 30_000);
    sim.instances[0]?.kill();
    await sim.clock.advance(15 * MINUTE + 5_000);
    sim.startInstance('d1');
    await sim.clock.advance(2 * MINUTE);
    expect(await outcomes(sim, 'a')).toMatchObject(expected);
  });

  it('expires what is older than the window', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/10 * * * *', { catchUp: 'all', catchUpWindowMs: 18 * MINUTE })] });
    await sim.clock.advance(5 * MINUTE);
    sim.instances[0]?.kill();
    await sim.clock.advance(60 * MINUTE);
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    const records = await sim.records('a');
    expect(records.at(-1)).toMatchObject({ outcome: 'expired', reason: 'catchUpWindow', count: 4 });
    expect(await outcomes(sim, 'a')).toMatchObject({ '00:50:00': 'succeeded', '01:00:00': 'succeeded' });
  });
});

describe('a hand-over that fails', () => {
  it('costs no due time of a job with catchUp none, however long its lease is', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { catchUp: 'none', leaseMs: 60_000 });
    const sim = rivalTicks({ jobs: [job] });
    await sim.clock.advance(4 * MINUTE);
    const [first] = sim.instances;
    if (first === undefined) throw new Error('no instance');
    first.hubDead = true;
    await sim.clock.advance(MINUTE - 2_000);
    expect((await sim.store.readRow('a' as JobName))?.lease).toBe('leased');
    first.kill();
    sim.startInstance('d2');
    await sim.clock.advance(2 * MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded' }]);
  });
});

describe('a job that is seen for the first time', () => {
  it('owes nothing, but for an @at that is seen late', async () => {
    const sim = rivalTicks({
      jobs: [
        jobSpec('cron', '0 * * * *', { catchUp: 'all', catchUpWindowMs: 24 * 60 * MINUTE }),
        jobSpec('late', '@at 2025-12-31T23:50:00Z'),
        jobSpec('too-late', '@at 2025-12-31T21:00:00Z'),
      ],
      deployments: 2,
    });
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.map(({ job, trigger }) => [job, trigger])).toEqual([['late', 'catchUp']]);
    expect(await sim.records('cron')).toEqual([]);
    expect(await sim.records('late')).toMatchObject([{ outcome: 'succeeded' }]);
    expect(await sim.records('too-late')).toMatchObject([{ outcome: 'expired', reason: 'catchUpWindow' }]);
    await sim.clock.advance(60 * MINUTE);
    expect(sim.calls).toHaveLength(2);
  });

  it('comes at its nominal time plus its spread', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/5 * * * *', { offsetMs: 42_000 })], deployments: 2 });
    await sim.clock.advance(16 * MINUTE);
    expect(sim.calls.map((call) => call.at - call.scheduledFor)).toEqual([42_000, 42_000, 42_000]);
    expect((await sim.records('a')).map((record) => record.latenessMs)).toEqual([0, 0, 0]);
  });
});

describe('a job that is disabled', () => {
  it('runs only by hand, and what passed is recorded once a higher revision enables it', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *', { enabled: false, scheduleHash: 'off' })], revision: 1 });
    await sim.clock.advance(5 * MINUTE + 20_000);
    await sim.control('a', () => ({
      pauses: [],
      cancel: undefined,
      acknowledgement: undefined,
      backfill: undefined,
      manualRuns: [{ number: 1, id: 'byhand', time: sim.clock.now() }],
    }));
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls.map((call) => call.trigger)).toEqual(['manual']);
    sim.instances[0]?.kill();
    sim.startInstance('d1', { jobs: [jobSpec('a', '* * * * *')], revision: 2 });
    await sim.clock.advance(3 * MINUTE);
    const scheduled = (await sim.records('a')).filter((record) => record.trigger !== 'manual');
    expect(scheduled.at(-1)).toMatchObject({ outcome: 'disabled', reason: 'scheduleChanged' });
    expect(scheduled[0]?.outcome).toBe('succeeded');
  });
});

describe('what people want', () => {
  it('a pause holds due times back, and is one record', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 2 });
    await sim.clock.advance(3 * MINUTE + 20_000);
    await sim.control('a', (control) => ({
      ...control,
      pauses: [{ by: 'x', note: 'n', since: sim.clock.now(), until: undefined }],
    }));
    await sim.clock.advance(5 * MINUTE);
    await sim.control('a', (control) => ({
      ...control,
      pauses: control.pauses.map((pause) => ({ ...pause, until: sim.clock.now() })),
    }));
    await sim.clock.advance(2 * MINUTE);
    const paused = (await sim.records('a')).filter((record) => record.outcome === 'paused');
    expect(paused).toMatchObject([{ scheduledFor: iso(T0 + 4 * MINUTE), count: 5 }]);
    expect(await outcomes(sim, 'a')).toMatchObject({ '00:03:00': 'succeeded', '00:09:00': 'succeeded' });
  });

  it('a pause that began before the cursor still counts at its end', async () => {
    const job = jobSpec('a', '*/10 * * * *');
    const subject = { name: job.name, spec: job };
    const sim = rivalTicks({ jobs: [job] });
    await sim.clock.advanceTo(T0 + 10 * MINUTE - 2_000);
    expect((await sim.row('a')).cursor).toBe(T0 + 10 * MINUTE);
    await pauseJob(sim.store, subject, { by: 'x', note: 'n' });
    await sim.clock.advanceTo(T0 + 25 * MINUTE);
    await resumeJob(sim.store, subject);
    await sim.clock.advance(2 * MINUTE);
    expect(await outcomes(sim, 'a')).toEqual({ '00:10:00': 'succeeded', '00:20:00': 'paused' });
  });

  it('a due time that lies in a pause cancels no attempt', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '* * * * *', { overlap: 'cancel' })],
      handler: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
    });
    await sim.clock.advance(MINUTE + 10_000);
    await sim.control('a', (control) => ({
      ...control,
      pauses: [{ by: 'x', note: 'n', since: sim.clock.now(), until: undefined }],
    }));
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toEqual([]);
    expect(sim.calls).toHaveLength(1);
  });

  it('requests run one after another, also while paused, and do not move the schedule', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], deployments: 2 });
    await sim.clock.advance(2 * MINUTE);
    const now = sim.clock.now();
    await sim.control('a', () => ({
      pauses: [{ by: 'x', note: 'n', since: now, until: undefined }],
      cancel: undefined,
      acknowledgement: undefined,
      backfill: undefined,
      manualRuns: [
        { number: 1, id: 'one', time: now },
        { number: 2, id: 'two', time: now },
      ],
    }));
    const before = (await sim.row('a')).cursor;
    await sim.clock.advance(2 * MINUTE);
    expect(sim.calls.map((call) => call.trigger)).toEqual(['manual', 'manual']);
    expect((await sim.records('a')).map((record) => record.runId.slice(-5))).toEqual(['m-one', 'm-two']);
    expect((await sim.row('a')).cursor).toBe(before);
  });

  it('a cancel ends the attempt that runs', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')],
      handler: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
    });
    await sim.clock.advance(6 * MINUTE);
    const runId = 'a-20260101T000500Z';
    await sim.control('a', (control) => ({ ...control, cancel: runId }));
    await sim.clock.advance(20_000);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'cancelled', reason: 'cancelRequested', runId }]);
  });

  it('a cancel ends a run whose holder has died, without its handler', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      handler: ({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : 'done'),
    });
    await sim.clock.advanceTo(T0 + 60 * MINUTE + 5_000);
    sim.instances[0]?.kill();
    await sim.clock.advance(MINUTE);
    expect(await cancelRun(sim.store, { name: 'a' as JobName })).toMatchObject({ endedBy: 'tick' });
    sim.startInstance('d2');
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'cancelled', reason: 'cancelRequested' }]);
    expect(sim.calls).toHaveLength(1);
  });

  it('a cancel ends a run that waits between attempts', async () => {
    const retry = { ...jobSpec('a', '@hourly').retry, backoffMs: 250_000 };
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z', { retry })],
      deployments: 2,
      handler: () => {
        throw new Error('no');
      },
    });
    await sim.clock.advance(6 * MINUTE);
    await sim.control('a', (control) => ({ ...control, cancel: 'a-20260101T000500Z' }));
    await sim.clock.advance(90_000);
    expect(sim.calls).toHaveLength(1);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'cancelled', state: 'final' }]);
    await sim.clock.advance(10 * MINUTE);
    expect(sim.calls).toHaveLength(1);
  });

  it('pauseAfterFailures pauses the job with a note', async () => {
    const retry = { ...jobSpec('a', '@hourly').retry, attempts: 1 };
    const sim = rivalTicks({
      jobs: [jobSpec('a', '* * * * *', { retry, pauseAfterFailures: 2 })],
      handler: () => {
        throw new Error('no');
      },
    });
    await sim.clock.advance(6 * MINUTE);
    expect(sim.calls).toHaveLength(2);
    const { control } = await sim.store.readControl('a' as never);
    expect(control?.metadata['pauses']).toContain('2 runs in a row failed');
  });
});

describe('a changed schedule', () => {
  it('counts from when a higher revision was first seen, and a lower one claims no more', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/10 * * * *')], revision: 1 });
    await sim.clock.advance(5 * MINUTE);
    sim.startInstance('d2', { jobs: [jobSpec('a', '*/2 * * * *')], revision: 2 });
    await sim.clock.advance(6 * MINUTE);
    expect(sim.calls.map((call) => call.scheduledFor - T0)).toEqual([6, 8, 10].map((minute) => minute * MINUTE));
    expect(new Set(sim.calls.map((call) => call.deployment))).toEqual(new Set(['d2']));
    expect(sim.instances[0]?.coordinator.health.healthy).toBe(false);
    expect(await sim.records('a')).toHaveLength(5 - 1);
    expect((await sim.records('a')).at(-1)).toMatchObject({
      ...{ outcome: 'disabled', reason: 'scheduleChanged' },
      ...{ scheduledFor: iso(T0 + 10_001), through: iso(T0 + 5 * MINUTE + 10_000) },
    });
    expect((await sim.records('a')).at(-1)).not.toHaveProperty('count');
  });
});

describe('a dead task hub', () => {
  it('does not shut out the healthy deployment', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 2 });
    await sim.clock.advance(3 * MINUTE);
    const incumbent = (await sim.row('a')).incumbent;
    const sick = sim.instances.find((instance) => instance.deployment === incumbent);
    if (sick !== undefined) sick.hubDead = true;
    await sim.clock.advance(10 * MINUTE);
    expect(sick?.coordinator.health.healthy).toBe(false);
    const records = await sim.records('a');
    expect(records.filter((record) => record.outcome === 'succeeded').length).toBeGreaterThanOrEqual(11);
    expect(sim.calls.at(-1)?.deployment).not.toBe(incumbent);
  });
});

describe('metadata that is not ours', () => {
  it.each(['row', 'control'] as const)('in a %s puts that job aside, and the others go on', async (what) => {
    const names = ['good', 'odd'];
    const sim = rivalTicks({
      jobs: names.map((name) => jobSpec(name, '* * * * *', { leaseMs: 15_000 })),
      deployments: 2,
    });
    await sim.clock.advance(3 * MINUTE + 20_000);
    const odd = 'odd' as JobName;
    const row = await sim.store.readRow(odd);
    if (row === undefined) throw new Error('no row');
    const leaseId = '99999999-9999-4999-8999-999999999999' as LeaseId;
    if (what === 'control') await sim.store.writeControl(odd, { format: '1', pauses: 'soon' }, undefined);
    else {
      await sim.store.acquire(odd, { leaseId, leaseMs: 15_000, ifMatch: row.etag });
      await sim.store.writeRow(odd, { token: '7' }, { leaseId, ifMatch: row.etag });
    }
    const ran = sim.calls.filter((call) => call.job === 'odd').length;
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls.filter((call) => call.job === 'odd')).toHaveLength(ran);
    expect(sim.calls.filter((call) => call.job === 'good')).toHaveLength(8);
    for (const { deployment, coordinator } of sim.instances) {
      expect(coordinator.health.healthy).toBe(false);
      const said = sim.events.filter((event) => event.event === 'unhealthy' && event.deployment === deployment);
      // Once a sweep, whatever the number of looks.
      expect(said.length).toBeGreaterThanOrEqual(4);
      expect(said.length).toBeLessThanOrEqual(6);
      for (const event of said) expect(event).toMatchObject({ job: 'odd', reason: said[0]?.reason });
      expect(said[0]?.reason).toContain('is left alone');
    }
  });
});

describe('clocks', () => {
  it.each([30_000, -30_000, 300_000, -300_000])('an instance that is %i ms off runs nothing twice', async (skew) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 3 });
    const odd = sim.instances[1];
    if (odd !== undefined) odd.skewMs = skew;
    await sim.clock.advance(20 * MINUTE);
    const times = sim.calls.map((call) => call.scheduledFor);
    expect(new Set(times).size).toBe(times.length);
    expect(times.length).toBe(20);
  });
});

describe('a leader job', () => {
  it('begins one term a tick, also when its handler returns at once', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@always')], sweepIntervalMs: 2_000 });
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(20);
  });

  it('has its own grace to obey its signal when its term ends, not that of a shutdown', async () => {
    const windDownMs = 5_000;
    let terms = 0;
    let mayWrite: boolean | undefined;
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@always', { graceMs: 8_000 })],
      handler: async ({ fence, signal }) => {
        terms += 1;
        if (terms > 1) await new Promise(() => undefined);
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        await sleep(sim.clock, windDownMs);
        mayWrite = false;
        fence.check();
        mayWrite = true;
      },
    });
    await sim.clock.advance(31 * MINUTE);
    expect(mayWrite).toBe(true);
  });

  it('runs term after term, one at a time', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@always')],
      deployments: 2,
      handler: () => sleep(sim.clock, 40_000),
    });
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(4);
    expect((await sim.records('a')).every((record) => record.outcome === 'succeeded')).toBe(true);
  });
});
