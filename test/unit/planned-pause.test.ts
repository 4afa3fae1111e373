import { describe, expect, it } from 'vitest';
import { currentPause, NO_CONTROL } from '../../src/core/control';
import { outsidePauses } from '../../src/core/decide/verdict';
import { FLEET } from '../../src/core/fleet';
import type { JobSpec } from '../../src/core/job';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { endMaintenance, startMaintenance } from '../../src/operator/operations/fleet';
import { readOverview } from '../../src/operator/views/overview';
import { pauseMany, resumeMany, skippedTimes, timesNotRun } from '../../src/operator/operations/pause';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { pauseJob, resumeJob } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ANN = { by: 'ann', note: 'new database' };

async function paused(job: JobSpec, minutes: number): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [job], start: T0 });
  await sim.clock.advance(90 * SECOND);
  await pauseJob(sim.store, { name: job.name, spec: job }, { ...ANN, until: T0 + minutes * MINUTE });
  return sim;
}

function runTimes(sim: RivalTicks): readonly number[] {
  return sim.calls.map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE);
}

describe('a pause', () => {
  it('without an end counts as soon as it can be read, although its start is by a clock that is ahead', () => {
    const pause = { by: 'ann', note: '', since: T0 + 2 * SECOND, until: undefined };
    expect(currentPause({ ...NO_CONTROL, pauses: [pause] }, T0)).toEqual(pause);
    expect(currentPause({ ...NO_CONTROL, pauses: [{ ...pause, until: T0 + MINUTE }] }, T0)).toBeUndefined();
  });

  it('hides the due times whose spread puts them into it, and no others', () => {
    const spread = jobSpec('a', '*/10 * * * *', { offsetMs: 30 * MINUTE });
    const pause = { by: 'ann', note: '', since: T0 + 60 * MINUTE, until: T0 + 120 * MINUTE };
    const outside = (due: number): number | undefined =>
      outsidePauses(spread, { ...NO_CONTROL, pauses: [pause] }, T0 + due * MINUTE);
    expect([20, 30, 80, 90].map(outside)).toEqual([20, 90, 90, 90].map((due) => T0 + due * MINUTE));
  });
});

describe('a pause with a planned end', () => {
  const job = jobSpec('a', '@every 1m');

  it('ends by itself, and one record covers its due times', async () => {
    const sim = await paused(job, 5);
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toHaveLength(1);
    await sim.clock.advance(3 * MINUTE);
    expect(runTimes(sim)).toEqual([1, 5, 6, 7]);
    const record = (await sim.records('a')).find(({ outcome }) => outcome === 'paused');
    expect(record).toMatchObject({
      scheduledFor: '2026-01-01T00:02:00.000Z',
      through: '2026-01-01T00:04:00.000Z',
      count: 3,
    });
  });

  it('starts the first due time after it on time, without waiting for a sweep', async () => {
    const sim = await paused(job, 3);
    await sim.clock.advance(5 * MINUTE);
    for (const { scheduledFor, at } of sim.calls) expect(at - scheduledFor).toBeLessThan(100);
  });

  it('can be ended before', async () => {
    const sim = await paused(job, 60);
    await sim.clock.advance(150 * SECOND);
    const { until } = await resumeJob(sim.store, { name: job.name, spec: job });
    expect(until).toBe(T0 + 4 * MINUTE);
    await sim.clock.advance(3 * MINUTE);
    expect(runTimes(sim)).toEqual([1, 4, 5, 6, 7]);
  });

  it('holds a leader job back, and lets it go on by itself', async () => {
    const leader = jobSpec('a', '@always');
    const sim = await paused(leader, 5);
    await sim.clock.advance(SECOND);
    const before = sim.calls.length;
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls).toHaveLength(before);
    await sim.clock.advance(2 * MINUTE);
    expect(sim.calls.length).toBeGreaterThan(before);
  });

  it('is refused with an end that is past, or while the job is paused already', async () => {
    const sim = await paused(job, 5);
    const subject = { name: job.name, spec: job };
    await expect(pauseJob(sim.store, subject, ANN)).rejects.toMatchObject({ code: 'AlreadyPaused' });
    await resumeJob(sim.store, subject);
    await expect(pauseJob(sim.store, subject, { ...ANN, until: T0 })).rejects.toMatchObject({ code: 'PastEnd' });
  });

  it.each([9_999, 275_000])('is refused with an end in %i, which no instance could read again', async (year) => {
    const sim = rivalTicks({ jobs: [job], start: T0 });
    await sim.clock.advance(30 * SECOND);
    const subject = { name: job.name, spec: job };
    const until = Date.UTC(year, 11, 31);
    await expect(pauseJob(sim.store, subject, { ...ANN, until })).rejects.toMatchObject({ code: 'EndTooLate' });
    await sim.clock.advance(3 * MINUTE);
    expect(runTimes(sim)).toEqual([1, 2, 3]);
  });

  it('is shown with its end, and with the next due time after it', async () => {
    const sim = await paused(job, 5);
    const [status] = (await readOverview(sim.store, [job])).jobs;
    expect(status).toMatchObject({
      ...{ state: 'paused', pause: { until: '2026-01-01T00:05:00.000Z' } },
      nextDueAt: '2026-01-01T00:05:00.000Z',
    });
    await sim.clock.advance(4 * MINUTE);
    expect((await readOverview(sim.store, [job])).jobs[0]).toMatchObject({ state: 'idle', pause: null });
  });

  it('of a disabled job is followed by no due time', async () => {
    const disabled = { ...job, enabled: false };
    const sim = await paused(disabled, 5);
    const [status] = (await readOverview(sim.store, [disabled])).jobs;
    expect(status).toMatchObject({ pause: { until: '2026-01-01T00:05:00.000Z' }, nextDueAt: null });
  });
});

describe('the due times that a pause skips', () => {
  it('are those in it, up to its end and without it', () => {
    const job = jobSpec('a', '@every 1m');
    const pause = { since: T0 + 30 * SECOND, until: T0 + 4 * MINUTE };
    const minutes = [1, 2, 3].map((minute) => T0 + minute * MINUTE);
    expect(skippedTimes(job, pause, 10)).toEqual({ first: minutes, count: 3, isMore: false });
    expect(skippedTimes(job, pause, 2)).toEqual({ first: minutes.slice(0, 2), count: 3, isMore: false });
    expect(skippedTimes({ ...job, offsetMs: 45 * SECOND }, pause, 10).first).toEqual([T0, ...minutes.slice(0, 3)]);
  });

  it('are without the one that was claimed before the pause, and ran', async () => {
    const job = jobSpec('a', '@every 1m');
    const sim = rivalTicks({ jobs: [job], start: T0 });
    await sim.clock.advance(2 * MINUTE - SECOND);
    await pauseJob(sim.store, { name: job.name, spec: job }, ANN);
    const since = T0 + 2 * MINUTE - SECOND;
    const notRun = (until: number) => timesNotRun(sim.store, job.name, job, { since, until: T0 + until * MINUTE }, 1);
    await sim.clock.advance(30 * SECOND);
    expect(runTimes(sim)).toEqual([1, 2]);
    expect(await notRun(2.4)).toEqual({ first: [], count: 0, isMore: false });
    await sim.clock.advance(150 * SECOND);
    expect(runTimes(sim)).toEqual([1, 2]);
    expect(await notRun(5)).toEqual({ first: [T0 + 3 * MINUTE], count: 2, isMore: false });
  });

  it('are counted up to 10,000', () => {
    const job = jobSpec('a', '@every 1s');
    expect(skippedTimes(job, { since: T0, until: T0 + 86_400_000 }, 0)).toEqual({
      first: [],
      count: 10_000,
      isMore: true,
    });
  });
});

describe('planned work', () => {
  it('is shown to everybody until a person ends it, or its time is over', async () => {
    const sim = rivalTicks({ jobs: [], start: T0 });
    const shown = async (): Promise<readonly string[]> =>
      (await readOverview(sim.store, [])).maintenance.map(({ jobs, note }) => `${jobs}: ${note}`);
    await startMaintenance(sim.store, { ...ANN, until: T0 + MINUTE, jobs: 'all jobs' });
    await startMaintenance(sim.store, { ...ANN, until: undefined, jobs: 'tag billing' });
    expect(await shown()).toEqual(['all jobs: new database', 'tag billing: new database']);
    await sim.clock.advance(2 * MINUTE);
    expect(await shown()).toEqual(['tag billing: new database']);
    expect(await endMaintenance(sim.store, 'all jobs')).toEqual([]);
    expect(await endMaintenance(sim.store, 'tag billing')).toMatchObject([{ by: 'ann' }]);
    expect(await shown()).toEqual([]);
  });

  it('ends with the same jobs, in whatever order a person names them', async () => {
    const jobs = ['a', 'b'].map((name) => jobSpec(name, '@every 1m'));
    const sim = rivalTicks({ jobs, start: T0 });
    await sim.clock.advance(MINUTE);
    const { store, clock } = sim;
    const origin = { actor: 'ann', channel: 'cli', note: 'new database' } as const;
    const acting = { store, clock, newId: () => '', waiting: () => undefined, origin };
    const subjects = jobs.map((spec) => ({ name: spec.name, spec }));
    const chosen = { jobs: subjects, missing: [] };
    await pauseMany(acting, { ...chosen, choice: { names: ['b', 'a', 'b'] } }, { untilIn: () => undefined });
    await resumeMany(acting, { ...chosen, choice: { names: ['a', 'b'] } });
    expect((await readOverview(sim.store, [])).maintenance).toEqual([]);
  });

  it('stands beside the jobs that were paused or resumed where it could not be written', async () => {
    const jobs = ['a', 'b'].map((name) => jobSpec(name, '@every 1m'));
    const sim = rivalTicks({ jobs, start: T0 });
    await sim.clock.advance(MINUTE);
    const store: LeaseStore = {
      ...sim.store,
      writeControl: (job, ...rest) =>
        job === FLEET ? Promise.reject(new StoreUnavailableError('no answer')) : sim.store.writeControl(job, ...rest),
    };
    const origin = { actor: 'ann', channel: 'cli', note: 'new database' } as const;
    const acting = { store, clock: sim.clock, newId: () => '', waiting: () => undefined, origin };
    const subjects = jobs.map((spec) => ({ name: spec.name, spec }));
    const chosen = { jobs: subjects, choice: { names: ['a', 'b'] }, missing: [] };
    const refused = [{ job: 'a, b', code: 'StoreUnavailable' }];
    const paused = await pauseMany(acting, chosen, { untilIn: () => undefined });
    expect(paused).toMatchObject({ done: [{ job: 'a' }, { job: 'b' }], refused });
    await startMaintenance(sim.store, { ...ANN, until: undefined, jobs: 'a, b' });
    expect(await resumeMany(acting, chosen)).toMatchObject({ done: [{ job: 'a' }, { job: 'b' }], refused });
    expect(await resumeMany({ ...acting, store: sim.store }, chosen)).toMatchObject({ done: [] });
    expect((await readOverview(sim.store, [])).maintenance).toEqual([]);
  });

  it.each([
    ['past in UTC, and ahead for its only job', ['a'], -60, 60, 60],
    ['ahead, and later for one of its jobs', ['a', 'b'], 120, 420, 420],
    ['later in UTC, where it has no job', ['a'], 420, 120, 120],
  ])('ends with the last of its pauses, if the end is %s', async (_, names, inUtc, there, minutes) => {
    const jobs = [jobSpec('a', '@every 1m', { timeZone: 'America/New_York' }), jobSpec('b', '@every 1m')];
    const sim = rivalTicks({ jobs, start: T0 });
    await sim.clock.advance(MINUTE);
    const { store, clock } = sim;
    const origin = { actor: 'ann', channel: 'cli', note: 'new database' } as const;
    const acting = { store, clock, newId: () => '', waiting: () => undefined, origin };
    const subjects = jobs.map((spec) => ({ name: spec.name, spec })).filter(({ name }) => names.includes(name));
    const untilIn = (timeZone: string): number => T0 + (timeZone === 'UTC' ? inUtc : there) * MINUTE;
    await pauseMany(acting, { jobs: subjects, choice: { names }, missing: [] }, { untilIn });
    expect((await readOverview(store, [])).maintenance.map(({ until }) => until)).toEqual([
      new Date(T0 + minutes * MINUTE).toISOString(),
    ]);
  });

  it('is read once to be ended, and not written where there is none', async () => {
    const sim = rivalTicks({ jobs: [], start: T0 });
    const calls: string[] = [];
    const store: LeaseStore = {
      ...sim.store,
      readControl: (...args) => (calls.push('read'), sim.store.readControl(...args)),
      writeControl: (...args) => (calls.push('write'), sim.store.writeControl(...args)),
    };
    expect(await endMaintenance(store, 'all jobs')).toEqual([]);
    expect(calls.splice(0)).toEqual(['read']);
    await startMaintenance(sim.store, { ...ANN, until: undefined, jobs: 'all jobs' });
    expect(await endMaintenance(store, 'all jobs')).toHaveLength(1);
    expect(calls).toEqual(['read', 'write']);
  });

  it('recognizes its own write where the answer was lost, and gives up where others keep writing', async () => {
    const sim = rivalTicks({ jobs: [], start: T0 });
    const planned = { ...ANN, until: undefined, jobs: 'all jobs' };
    const lost: LeaseStore = {
      ...sim.store,
      async writeControl(...args) {
        await sim.store.writeControl(...args);
        throw new StoreUnavailableError('no answer');
      },
    };
    await startMaintenance(lost, planned);
    expect((await readOverview(sim.store, [])).maintenance).toHaveLength(1);
    const never: LeaseStore = { ...sim.store, writeControl: () => Promise.resolve('refused') };
    await expect(startMaintenance(never, planned)).rejects.toMatchObject({
      code: 'Contended',
      message: 'the record of cordons and planned work keeps changing, because others write it: try again',
    });
  });

  it('names the remedy where its record is full', async () => {
    const sim = rivalTicks({ jobs: [], start: T0 });
    const add = async (): Promise<void> => {
      for (let count = 0; count < 40; count += 1) {
        await startMaintenance(sim.store, {
          by: 'ann',
          note: 'x'.repeat(200),
          until: undefined,
          jobs: `tag t${count}`,
        });
      }
    };
    await expect(add()).rejects.toMatchObject({
      code: 'ControlFull',
      message:
        'the record of cordons and planned work is full: it holds 8 KB of notes. Lift the cordons of deployments that are gone, ' +
        'resume jobs whose planned work is over, or use a shorter note.',
    });
  });
});
