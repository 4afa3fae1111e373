import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { decide } from '../../src/core/decide/decide';
import { describe as describeAnswer } from '../../src/operator/views/describe';
import { explainTime } from '../../src/operator/views/explain';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, situation, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const name = 'a' as JobName;
const job = jobSpec('a', '0 * * * *', { catchUp: 'all', catchUpWindowMs: 24 * HOUR });
const other = jobSpec('b', '@manual');
const iso = (ms: number): string => new Date(ms).toISOString();

/** The job has run at 01:00. A file without it is deployed at 01:10, and one that has it again follows. */
async function removed(remover = { jobs: [other], revision: 2 }): Promise<RivalTicks & { readonly without: Instance }> {
  const sim = rivalTicks({ jobs: [job, other], revision: 1, presences: true });
  await sim.clock.advanceTo(T0 + HOUR + 10 * MINUTE);
  sim.instances[0]?.kill();
  const without = sim.startInstance('d1', remover);
  return { ...sim, without };
}

const listings = ({ calls }: Instance): number => calls.get('listPresences') ?? 0;

describe('a job that no file has for a while', () => {
  it('runs nothing of that time when it comes back, and all that comes then', async () => {
    const { without, ...sim } = await removed();
    await sim.clock.advanceTo(T0 + 2 * HOUR + 10 * MINUTE);
    const { leftSince = 0, revision, cursor } = await sim.row('a');
    expect([revision, cursor]).toEqual([1, T0 + HOUR]);
    expect(leftSince).toBeGreaterThanOrEqual(T0 + HOUR + 12 * MINUTE);
    expect(leftSince).toBeLessThan(T0 + HOUR + 15 * MINUTE);
    without.kill();
    const back = T0 + 2 * HOUR + 20 * MINUTE;
    await sim.clock.advanceTo(back);
    const due = T0 + 2 * HOUR;
    const before = await explainTime(sim.store, job, 3, due);
    expect(before).toMatchObject({ due: true, outcome: 'disabled', reason: 'notInFile', record: null });
    sim.startInstance('d1', { revision: 3 });
    await sim.clock.advanceTo(T0 + 3 * HOUR + MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor)).toEqual([T0 + HOUR, T0 + 3 * HOUR]);
    const [, stretch] = await sim.records('a');
    expect(stretch).toMatchObject({ outcome: 'disabled', reason: 'notInFile', scheduledFor: iso(T0 + HOUR + 1) });
    expect(Date.parse(stretch?.through ?? '')).toBeGreaterThanOrEqual(back);
    expect((await sim.row('a')).leftSince).toBeUndefined();
    const why = await explainTime(sim.store, job, 3, due);
    expect(why).toMatchObject({ due: true, outcome: 'disabled', reason: 'notInFile' });
    expect(describeAnswer(why, iso)).toMatch(
      /No jobs file had the job for a while\. Undecided due times from .* were not run/,
    );
  });

  it('has its row marked once, and costs no call after that', async () => {
    const { without, ...sim } = await removed();
    await sim.clock.advanceTo(T0 + HOUR + 20 * MINUTE);
    const counted = new Map(without.calls);
    expect(['listPresences', 'acquire', 'writeRow', 'release'].map((call) => counted.get(call))).toEqual([1, 1, 1, 1]);
    await sim.clock.advanceTo(T0 + 2 * HOUR + 20 * MINUTE);
    for (const call of ['listPresences', 'acquire', 'writeRow', 'release']) {
      expect(without.calls.get(call)).toBe(counted.get(call));
    }
  });

  it('that comes back with another schedule follows it', async () => {
    const { without, ...sim } = await removed();
    await sim.clock.advanceTo(T0 + 2 * HOUR + 10 * MINUTE);
    without.kill();
    const changed = jobSpec('a', '30 * * * *', { catchUp: 'all', catchUpWindowMs: 24 * HOUR });
    sim.startInstance('d1', { jobs: [changed], revision: 3 });
    await sim.clock.advanceTo(T0 + 2 * HOUR + 31 * MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor)).toEqual([T0 + HOUR, T0 + 2 * HOUR + 30 * MINUTE]);
    expect((await sim.records('a')).map(({ reason }) => reason)).toEqual(['completed', 'notInFile', 'completed']);
    expect(await sim.row('a')).toMatchObject({ revision: 3, scheduleHash: changed.scheduleHash });
  });

  it('catches up if nobody was there to see that', async () => {
    const { without, ...sim } = await removed();
    without.kill();
    await sim.clock.advanceTo(T0 + 2 * HOUR + 10 * MINUTE);
    sim.startInstance('d1', { revision: 3 });
    await sim.clock.advance(MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor)).toEqual([T0 + HOUR, T0 + 2 * HOUR]);
  });
});

describe('a row whose job is not in one file', () => {
  it('is left alone while a live deployment has the job, which runs', async () => {
    const sim = rivalTicks({ jobs: [job, other], revision: 1, presences: true });
    const older = sim.startInstance('d2', { jobs: [other], revision: 2 });
    await sim.clock.advanceTo(T0 + 2 * HOUR + 10 * MINUTE);
    expect((await sim.row('a')).leftSince).toBeUndefined();
    expect(older.calls.get('acquire') ?? 0).toBe(0);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor)).toEqual([T0 + HOUR, T0 + 2 * HOUR]);
  });

  it.each([
    [3, undefined],
    [2, undefined],
    [1, expect.any(Number)],
  ])('is left alone while a deployment that is gone may have the job: revision %d of 2', async (revision, mark) => {
    const sim = rivalTicks({ jobs: [job, other], revision, presences: true });
    await sim.clock.advanceTo(T0 + 10 * MINUTE);
    sim.instances[0]?.kill();
    sim.startInstance('d2', { jobs: [other], revision: 2 });
    await sim.clock.advanceTo(T0 + 20 * MINUTE);
    expect((await sim.row('a')).leftSince).toEqual(mark);
  });

  it('is not marked before a deployment that has just created it can have said so', async () => {
    const sim = rivalTicks({ jobs: [other], revision: 1, presences: true });
    await sim.clock.advanceTo(T0 + 10 * MINUTE);
    const newer = sim.startInstance('d2', { jobs: [job, other], revision: 1 });
    await sim.clock.advance(15 * SECOND);
    newer.kill();
    // Its presence goes missing, so that only the age of the row counts.
    await sim.store.writePresence(
      'd2',
      (await sim.store.listPresences()).presences.get('d1')?.metadata ?? {},
      undefined,
    );
    await sim.clock.advance(110 * SECOND);
    expect((await sim.row('a')).leftSince).toBeUndefined();
    await sim.clock.advance(3 * MINUTE);
    expect((await sim.row('a')).leftSince).toEqual(expect.any(Number));
  });

  it('is not marked right after a time without sweeps, in which others could not report either', async () => {
    const { without, ...sim } = await removed();
    await sim.clock.advance(90 * SECOND);
    without.pause();
    await sim.clock.advance(4 * MINUTE);
    without.wake();
    await sim.clock.advance(100 * SECOND);
    expect(listings(without)).toBe(0);
    await sim.clock.advance(3 * MINUTE);
    expect((await sim.row('a')).leftSince).toEqual(expect.any(Number));
  });

  it('is left alone for five minutes after the last report of an older file', async () => {
    const sim = rivalTicks({ jobs: [job, other], revision: 1, presences: true });
    sim.startInstance('d2', { jobs: [other], revision: 2 });
    await sim.clock.advanceTo(T0 + 10 * MINUTE);
    sim.instances[0]?.kill();
    await sim.clock.advance(4 * MINUTE);
    expect((await sim.row('a')).leftSince).toBeUndefined();
    await sim.clock.advance(4 * MINUTE);
    expect((await sim.row('a')).leftSince).toEqual(expect.any(Number));
  });

  it('is left alone while its run waits, or if another program wrote it or a presence', async () => {
    const failing = jobSpec('a', '0 * * * *', {
      retry: { ...job.retry, attempts: 3, backoffMs: HOUR, maxBackoffMs: HOUR },
    });
    const sim = rivalTicks({
      ...{ jobs: [failing], revision: 1, presences: true },
      handler: () => {
        throw new Error('no');
      },
    });
    await sim.clock.advanceTo(T0 + HOUR + MINUTE);
    sim.instances[0]?.kill();
    const without = sim.startInstance('d1', { jobs: [other], revision: 2 });
    await sim.clock.advance(10 * MINUTE);
    expect((await sim.row('a')).phase).toBe('retrying');
    expect(listings(without)).toBe(0);
  });

  it('is left alone where a presence cannot be read', async () => {
    const { without, ...sim } = await removed();
    await sim.store.writePresence('d9', { made: 'elsewhere' }, undefined);
    await sim.clock.advance(10 * MINUTE);
    expect(listings(without)).toBeGreaterThan(0);
    expect((await sim.row('a')).leftSince).toBeUndefined();
  });

  it('is left alone once retention may delete the record of its run', async () => {
    const short = { ...job, keepMs: 20 * MINUTE };
    const sim = rivalTicks({ jobs: [short, other], revision: 1, presences: true });
    await sim.clock.advanceTo(T0 + HOUR + 5 * MINUTE);
    sim.instances[0]?.kill();
    await sim.clock.advance(10 * MINUTE);
    const without = sim.startInstance('d1', { jobs: [other], revision: 2 });
    await sim.clock.advance(10 * MINUTE);
    expect((await sim.row(name)).phase).toBe('running');
    expect(listings(without)).toBe(0);
  });

  it('is none of a process that writes no presence', async () => {
    const sim = rivalTicks({ jobs: [job, other], revision: 1 });
    await sim.clock.advanceTo(T0 + 5 * MINUTE);
    sim.instances[0]?.kill();
    const without = sim.startInstance('d1', { jobs: [other], revision: 2 });
    await sim.clock.advance(10 * MINUTE);
    expect(listings(without)).toBe(0);
  });
});

describe('the decision on a marked row', () => {
  const marked = ranRow(job, { leftSince: T0 + HOUR, revision: 1 });

  it('comes before every claim, whatever the revision', () => {
    for (const revision of [0, 1, 2]) {
      const decision = decide(situation(job, T0 + 3 * HOUR, { row: marked, revision }));
      expect(decision).toMatchObject({
        kind: 'record',
        row: { cursor: T0 + 3 * HOUR, leftSince: undefined, revision: Math.max(1, revision), token: marked.token },
      });
    }
  });

  it('is not that of an older file with another schedule', () => {
    const older = jobSpec('a', '30 * * * *');
    expect(decide(situation(older, T0 + 3 * HOUR, { row: marked }))).toEqual({ kind: 'lowerRevision' });
  });
});
