import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { type Control, NO_CONTROL, decodeControl, encodeControl } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { sleep } from '../../src/core/clock';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { type ShownRecord, listRuns, withOverlappedRuns, runsNow } from '../../src/operator/views/runs';
import { tellStill } from '../../src/cli/run/pause';
import { stillRuns } from '../../src/operator/operations/pause';
import { requestRun, WAITING_MANUAL_RUNS } from '../../src/operator/operations/run';
import { explainTime } from '../../src/operator/views/explain';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { cancelRun, pauseJob, resumeJob } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const by = { by: 'x', note: 'n' };

/** One job, seen by its coordinator, whose handler takes a while. */
async function start(job: JobSpec, takesMs = 0): Promise<RivalTicks> {
  const sim: RivalTicks = rivalTicks({ jobs: [job], handler: ({ signal }) => sleep(sim.clock, takesMs, signal) });
  await sim.clock.advance(20_000);
  return sim;
}

async function controlOf({ store }: RivalTicks): Promise<Control> {
  const { control } = await store.readControl('a' as JobName);
  return control === undefined ? NO_CONTROL : decodeControl(control.metadata);
}

describe('pause and resume', () => {
  const job = jobSpec('a', '* * * * *');
  const subject = { name: job.name, spec: job };

  it('use the time of the service, and refuse to do what is done', async () => {
    const sim = await start(job);
    await expect(resumeJob(sim.store, subject)).rejects.toMatchObject({ code: 'NotPaused' });
    expect(await pauseJob(sim.store, subject, by)).toEqual({ ...by, since: T0 + 20_000, until: undefined });
    await expect(pauseJob(sim.store, subject, by)).rejects.toMatchObject({
      code: 'AlreadyPaused',
      message: 'job "a" is paused already, since 2026-01-01T00:00:20.000Z by x: n',
    });
    await sim.clock.advance(3 * MINUTE);
    expect(await resumeJob(sim.store, subject)).toEqual({ ...by, since: T0 + 20_000, until: T0 + 200_000 });
    await sim.clock.advance(MINUTE);
    expect((await sim.records('a')).map((record) => [record.outcome, record.count])).toEqual([
      ['succeeded', undefined],
      ['paused', 3],
    ]);
  });

  it('name the run that a pause came too late for', async () => {
    const sim = await start(job, 20_000);
    expect(await stillRuns(sim.store, subject)).toBeUndefined();
    await sim.clock.advance(36_500);
    await pauseJob(sim.store, subject, by);
    const runId = 'a-20260101T000100Z';
    expect(await stillRuns(sim.store, subject)).toMatchObject({ runId, startsAt: T0 + MINUTE, how: 'claimed' });
    await sim.clock.advance(10_000);
    expect(await stillRuns(sim.store, subject)).toMatchObject({ runId, how: 'running' });
    await sim.clock.advance(MINUTE);
    expect(await stillRuns(sim.store, subject)).toBeUndefined();
  });

  it.each([
    ['claimed', 'Run r was claimed before the pause: it starts on north at T.'],
    ['claimedEarly', 'Run r was claimed before the pause, and does not start: its due time is recorded as paused.'],
    ['reading', 'Run r was claimed before the pause, and may still start on north at T.'],
    ['running', 'Run r is running on north, and continues. To end it: cronlease cancel a'],
    ['waiting', 'Run r has begun, and its next attempt follows. To end it: cronlease cancel a'],
  ] as const)('tell what becomes of a run that is %s', (how, text) => {
    const still = { runId: 'r', deployment: 'north', startsAt: T0, how };
    expect(tellStill('a', still, () => 'T')).toEqual([text]);
  });

  it('drop the spans that the cursor has passed, and keep the others', async () => {
    const sim = await start(job);
    await pauseJob(sim.store, subject, by);
    await sim.clock.advance(MINUTE);
    await resumeJob(sim.store, subject);
    await sim.clock.advance(30_000);
    await pauseJob(sim.store, { name: job.name }, by);
    expect((await controlOf(sim)).pauses).toHaveLength(2);
    await resumeJob(sim.store, { name: job.name });
    // It ended in the second in which it began. Its end may be what excuses the job from its `alertAfter`.
    expect((await controlOf(sim)).pauses).toHaveLength(2);
    await sim.clock.advance(2 * MINUTE);
    await pauseJob(sim.store, { name: job.name }, by);
    expect((await controlOf(sim)).pauses).toEqual([{ ...by, since: T0 + 230_000, until: undefined }]);
  });

  it('never fill the record of a job without due times', async () => {
    const manual = jobSpec('a', '@manual');
    const sim = await start(manual);
    for (let round = 0; round < 100; round += 1) {
      await pauseJob(sim.store, { name: manual.name, spec: manual }, { by: 'x', note: 'n'.repeat(200) });
      await sim.clock.advance(1_000);
      await resumeJob(sim.store, { name: manual.name, spec: manual });
    }
    expect((await controlOf(sim)).pauses.length).toBeLessThanOrEqual(1);
  });

  it('keep within what a blob can hold, and say so', async () => {
    const yearly = jobSpec('a', '* * * * *');
    const sim = rivalTicks({ jobs: [yearly], deployments: 0 });
    const name = { name: yearly.name };
    await expect(pauseJob(sim.store, name, { by: 'x', note: 'n'.repeat(201) })).rejects.toMatchObject({
      code: 'NoteTooLong',
    });
    const fill = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        await pauseJob(sim.store, name, { by: 'x', note: 'é'.repeat(200) });
        await sim.clock.advance(1_000);
        await resumeJob(sim.store, name);
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: 'ControlFull' });
  });
});

describe('what runs now', () => {
  const nowOf = async (sim: RivalTicks): Promise<readonly ShownRecord[]> => {
    const listing = await sim.store.list();
    return runsNow(sim.store, [...listing.jobs.keys()], listing);
  };

  it('is shown in its first attempt, before the ledger has it, and not once it is over', async () => {
    const sim = await start(jobSpec('a', '* * * * *'), 20_000);
    expect(await nowOf(sim)).toEqual([]);
    await sim.clock.advance(45_000);
    const [run, ...others] = await nowOf(sim);
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      ...{ job: 'a', runId: 'a-20260101T000100Z', state: 'open', outcome: 'running', endedAt: null },
      attempts: [{ attempt: 1, outcome: 'running', endedAt: null, startedAt: '2026-01-01T00:01:00.000Z' }],
    });
    expect((await listRuns(sim.store, ['a' as JobName], await sim.store.list(), 10)).records).toEqual([]);
    await sim.clock.advance(30_000);
    expect(await nowOf(sim)).toEqual([]);
  });

  it('is named by what it overlaps, in the list and where one asks why', async () => {
    const job = jobSpec('a', '* * * * *', { timeoutMs: 10 * MINUTE });
    const sim = await start(job, 130_000);
    await sim.clock.advance(7 * MINUTE);
    const { records } = await listRuns(sim.store, ['a' as JobName], await sim.store.list(), 10);
    const overlapped = withOverlappedRuns(records).findLast(({ outcome }) => outcome === 'overlapped');
    expect(overlapped).toMatchObject({ scheduledFor: '2026-01-01T00:02:00.000Z', count: 2 });
    expect(overlapped?.overlappedRunId).toBe('a-20260101T000100Z');
    const why = await explainTime(sim.store, job, 1, T0 + 3 * MINUTE);
    expect(why.record).toMatchObject({ outcome: 'overlapped', overlappedRunId: 'a-20260101T000100Z' });
  });
});

describe('what came before a job was seen', () => {
  const LONG_AGO = Date.UTC(2020, 0, 1);
  it('is no record that is gone, however long ago it was', async () => {
    const job = jobSpec('a', '* * * * *');
    const sim = await start(job);
    await sim.clock.advance(2 * MINUTE);
    expect(await explainTime(sim.store, job, 1, LONG_AGO)).toMatchObject({
      outcome: 'notDue',
      reason: 'beforeFirstSeen',
    });
  });

  it('is one once the job has been seen for as long as records are kept', async () => {
    const job = jobSpec('a', '* * * * *', { keepMs: 2 * MINUTE });
    const sim = await start(job);
    await sim.clock.advance(5 * MINUTE);
    expect(await explainTime(sim.store, job, 1, LONG_AGO)).toMatchObject({ outcome: 'notDue', reason: 'recordGone' });
  });
});

describe('writing against others', () => {
  const job = jobSpec('a', '* * * * *');
  const subject = { name: job.name, spec: job };

  it('starts again from what another has just written', async () => {
    const sim = await start(job);
    let others = 3;
    const store: LeaseStore = {
      ...sim.store,
      writeControl: async (...args) => {
        others -= 1;
        if (others >= 0) {
          const request = { number: 3 - others, id: `o${String(others)}`, time: T0 + others };
          await sim.control('a', (control) => ({ ...control, manualRuns: [...control.manualRuns, request] }));
        }
        return sim.store.writeControl(...args);
      },
    };
    await pauseJob(store, subject, by);
    expect(await controlOf(sim)).toMatchObject({ pauses: [by], manualRuns: [{}, {}, {}] });
  });

  it('gives up when they never stop', async () => {
    const sim = await start(job);
    const store: LeaseStore = { ...sim.store, writeControl: async () => 'refused' };
    await expect(pauseJob(store, subject, by)).rejects.toMatchObject({ code: 'Contended' });
  });

  it('knows its own write again when the answer was lost', async () => {
    const sim = await start(job);
    const lose = new StoreUnavailableError('lost');
    const applied: LeaseStore = {
      ...sim.store,
      writeControl: async (...args) => {
        await sim.store.writeControl(...args);
        throw lose;
      },
    };
    await expect(pauseJob(applied, subject, by)).resolves.toMatchObject(by);
    const dropped: LeaseStore = { ...sim.store, writeControl: () => Promise.reject(lose) };
    await expect(resumeJob(dropped, subject)).rejects.toBe(lose);
  });

  /** A call that was made again on its way, and whose second answer came. */
  const twice = (sim: RivalTicks, between = async (): Promise<void> => undefined): LeaseStore => ({
    ...sim.store,
    writeControl: async (...args) => {
      await sim.store.writeControl(...args);
      await between();
      return sim.store.writeControl(...args);
    },
  });

  it('knows its own write again when it was made twice', async () => {
    const sim = await start(job);
    const store = twice(sim);
    await expect(pauseJob(store, subject, by)).resolves.toMatchObject(by);
    await expect(resumeJob(store, subject)).resolves.toMatchObject(by);
    await expect(requestRun({ store }, job, { id: 'one' })).resolves.toMatchObject({
      runId: 'a-20260101T000020Z-m-one',
    });
    expect((await controlOf(sim)).manualRuns).toMatchObject([{ number: 1, id: 'one' }]);
  });

  it('asks for one run when its write was made twice, and another came in between', async () => {
    const sim = await start(job);
    const store = twice(sim, async () => void (await requestRun(sim, job, { id: 'other' })));
    await expect(requestRun({ store }, job, { id: 'one' })).resolves.toMatchObject({
      ...{ runId: 'a-20260101T000020Z-m-one', requestedAt: T0 + 20_000, ahead: 0 },
    });
    expect((await controlOf(sim)).manualRuns).toMatchObject([{ id: 'one' }, { id: 'other' }]);
  });
});

describe('run', () => {
  it('numbers requests for ever, and gives each a time of its own', async () => {
    const job = jobSpec('a', '@hourly');
    const sim = await start(job);
    const first = await requestRun(sim, job, { id: 'one' });
    expect(first).toEqual({
      ...{ runId: 'a-20260101T000020Z-m-one', requestedAt: T0 + 20_000 },
      ...{ ahead: 0, seen: true, paused: false },
    });
    expect(await requestRun(sim, job, { id: 'two' })).toMatchObject({
      runId: 'a-20260101T000020.001Z-m-two',
      ahead: 1,
    });
    await sim.clock.advance(2 * MINUTE);
    expect((await sim.records('a')).map((record) => record.runId)).toEqual([
      'a-20260101T000020.001Z-m-two',
      'a-20260101T000020Z-m-one',
    ]);
    await requestRun(sim, job, { id: 'three' });
    expect((await controlOf(sim)).manualRuns).toMatchObject([
      { taken: true },
      { taken: true },
      { number: 3, id: 'three', time: T0 + 140_000 },
    ]);
    await sim.control('a', (control) => ({ ...control, manualRuns: [] }));
    await requestRun(sim, job, { id: 'four' });
    expect((await controlOf(sim)).manualRuns).toMatchObject([{ number: 3, id: 'four' }]);
  });

  it('is refused while overlap is skip and a run goes on, and writes nothing', async () => {
    const job = jobSpec('a', '* * * * *');
    const sim = await start(job, 200_000);
    await sim.clock.advanceTo(T0 + 90_000);
    const refusal = { code: 'RunGoesOn', message: expect.stringContaining('a-20260101T000100Z') as unknown };
    await expect(requestRun(sim, job, { id: 'one' })).rejects.toMatchObject(refusal);
    // Its holder dies: expired, without a final record.
    for (const instance of sim.instances) instance.kill();
    await sim.clock.advance(2 * MINUTE);
    await expect(requestRun(sim, job, { id: 'one' })).rejects.toMatchObject(refusal);
    expect((await sim.store.readControl(job.name)).control).toBeUndefined();
    await expect(requestRun(sim, { ...job, overlap: 'queue' }, { id: 'one' })).resolves.toMatchObject({
      ahead: 0,
    });
  });

  it('is refused while a run waits for its next attempt', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:01:00Z');
    const sim = rivalTicks({ jobs: [job], handler: () => Promise.reject(new Error('no')) });
    await sim.clock.advance(MINUTE + 2_000);
    expect((await sim.row('a')).phase).toBe('retrying');
    await expect(requestRun(sim, job, { id: 'one' })).rejects.toMatchObject({ code: 'RunGoesOn' });
    await sim.clock.advance(2 * MINUTE);
    await expect(requestRun(sim, job, { id: 'one' })).resolves.toMatchObject({ seen: true });
  });

  it('has its limits', async () => {
    const job = jobSpec('a', '@hourly');
    const sim = rivalTicks({ jobs: [job], deployments: 0 });
    await expect(requestRun(sim, jobSpec('a', '@always'), { id: 'x' })).rejects.toMatchObject({
      code: 'LeaderJob',
    });
    for (let count = 0; count < WAITING_MANUAL_RUNS; count += 1) {
      const request = await requestRun(sim, job, { id: `abcdefg${String(count)}` });
      expect(request).toMatchObject({ ahead: count, seen: false });
    }
    await expect(requestRun(sim, job, { id: 'y' })).rejects.toMatchObject({ code: 'TooManyManualRuns' });
    expect(Object.values(encodeControl(await controlOf(sim))).join('').length).toBeLessThan(4096);
  });

  it('can be followed by its time from the request on', async () => {
    const job = jobSpec('a', '@manual');
    const sim = await start(job, 10_000);
    const { requestedAt, runId } = await requestRun(sim, job, { id: 'one' });
    const outcome = async (): Promise<unknown> => (await explainTime(sim.store, job, 0, requestedAt)).outcome;
    expect(await outcome()).toBe('pending');
    await sim.clock.advanceTo(T0 + 75_000);
    expect(await outcome()).toBe('running');
    await sim.clock.advance(20_000);
    expect(await explainTime(sim.store, job, 0, requestedAt)).toMatchObject({
      ...{ due: false, outcome: 'succeeded', reason: 'completed' },
      record: { runId, trigger: 'manual' },
    });
  });
});

describe('cancel', () => {
  const job = jobSpec('a', '* * * * *', { overlap: 'queue' });
  const subject = { name: job.name };

  it('names the run that goes on, once', async () => {
    const sim = await start(job, 300_000);
    await expect(cancelRun(sim.store, subject)).rejects.toMatchObject({ code: 'NothingRuns' });
    await sim.clock.advanceTo(T0 + 70_000);
    const runId = 'a-20260101T000100Z';
    expect(await cancelRun(sim.store, subject)).toEqual({ runId, requestedAt: T0 + 70_000, endedBy: 'holder' });
    const { control } = await sim.store.readControl(job.name);
    expect(await cancelRun(sim.store, subject)).toMatchObject({ runId });
    expect((await sim.store.readControl(job.name)).control?.etag).toBe(control?.etag);
    expect(await explainTime(sim.store, job, 0, T0 + MINUTE)).toMatchObject({
      ...{ outcome: 'running', reason: 'cancelRequested' },
    });
    await sim.clock.advance(20_000);
    expect(await explainTime(sim.store, job, 0, T0 + MINUTE)).toMatchObject({
      ...{ outcome: 'cancelled', reason: 'cancelRequested' },
    });
    await expect(cancelRun(sim.store, subject)).rejects.toMatchObject({ code: 'NothingRuns' });
    // What named a run that is over is dropped once the row has another one.
    await sim.clock.advance(30_000);
    await pauseJob(sim.store, subject, by);
    expect((await controlOf(sim)).cancel).toBeUndefined();
  });

  it('says that nobody has seen the job', async () => {
    const sim = rivalTicks({ jobs: [job], deployments: 0 });
    await expect(cancelRun(sim.store, subject)).rejects.toThrow(
      'job "a" has no run in progress: no coordinator has seen it',
    );
  });
});

describe('the ledger, newest first', () => {
  const jobs = [jobSpec('a', '* * * * *'), jobSpec('b', '*/2 * * * *')];

  it('merges all jobs, and shows how an open run stands', async () => {
    let failing = true;
    const sim = rivalTicks({
      jobs,
      handler: ({ job, attempt }) => {
        if (job === 'b' && failing) throw new Error('no');
        if (attempt === 2) return new Promise(() => undefined);
        return undefined;
      },
    });
    const list = async (limit: number) => {
      const listing = await sim.store.list();
      const { records, problems } = await listRuns(sim.store, [...listing.jobs.keys()], listing, limit);
      expect(problems).toEqual([]);
      return records.map(
        ({ runId, outcome, state }) => `${runId.slice(0, 1)}${runId.slice(13, 15)} ${outcome} ${state}`,
      );
    };
    await sim.clock.advanceTo(T0 + 2 * MINUTE + 5_000);
    expect(await list(20)).toEqual(['a02 succeeded final', 'a01 succeeded final']);
    failing = false;
    await sim.clock.advance(10_000);
    expect(await list(20)).toEqual(['a02 succeeded final', 'b02 running open', 'a01 succeeded final']);
    expect(await list(1)).toHaveLength(1);
  });

  it('goes over pages, and skips what is not a record', async () => {
    const sim = await start(jobSpec('a', '* * * * *'));
    await sim.clock.advance(30 * MINUTE);
    await sim.store.createRecord('a' as JobName, '0000000000000-s', { body: '{', summary: { state: 'final' } });
    const paged: LeaseStore = {
      ...sim.store,
      listRecords: (job, request, options) =>
        sim.store.listRecords(job, { ...request, limit: Math.min(7, request.limit) }, options),
    };
    const { records, problems } = await listRuns(paged, ['a' as JobName], await sim.store.list(), 25);
    expect(records).toHaveLength(24);
    expect(new Set(records.map(({ runId }) => runId)).size).toBe(24);
    expect(problems).toEqual([expect.stringContaining('is not JSON')]);
  });
});
