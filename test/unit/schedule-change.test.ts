import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { recordKey } from '../../src/core/key';
import { decide } from '../../src/core/decide/decide';
import { decodeRow, encodeRow } from '../../src/core/row';
import { describe as describeAnswer } from '../../src/operator/views/describe';
import { explainTime } from '../../src/operator/views/explain';
import { jobSpec } from '../support/job';
import { ranRow, situation, T0 } from '../support/situation';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const before = jobSpec('a', '5 * * * *', { catchUp: 'all', catchUpWindowMs: 24 * HOUR });
const after = jobSpec('a', '30 * * * *', { catchUp: 'all', catchUpWindowMs: 24 * HOUR });

/** The due time of 01:05 is missed; at 02:10 a file with another schedule is deployed. */
async function changedWhileNobodyWasThere(): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [before], revision: 1 });
  await sim.clock.advanceTo(T0 + 10 * MINUTE);
  sim.instances[0]?.kill();
  await sim.clock.advanceTo(T0 + 2 * HOUR + 10 * MINUTE);
  sim.startInstance('d1', { jobs: [after], revision: 2 });
  await sim.clock.advance(30 * MINUTE);
  return sim;
}

const iso = (ms: number): string => new Date(ms).toISOString();

describe('a run that a deployment with another schedule ends', () => {
  it('leaves its end in the row, so that the due times during it are overlapped', async () => {
    const minutely = jobSpec('a', '* * * * *', { catchUp: 'all' });
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@daily')],
      deployments: 0,
      handler: ({ attempt, scheduledFor }, { coordinator }) => {
        if (scheduledFor.getTime() > T0 + MINUTE) return undefined;
        return attempt === 1 ? new Promise(() => undefined) : sleep(coordinator.clock, 150_000);
      },
    });
    const newer = sim.startInstance('d2', { jobs: [minutely], revision: 2 });
    await sim.clock.advanceTo(T0 + MINUTE + 5_000);
    newer.kill();
    sim.startInstance('d1', { revision: 2 });
    await sim.clock.advanceTo(T0 + 5 * MINUTE + 10_000);
    const { run, busyUntil } = await sim.row('a');
    expect(run?.scheduledFor).toBe(T0 + MINUTE);
    expect(busyUntil).toBeGreaterThan(T0 + 3 * MINUTE);
    sim.startInstance('d2', { jobs: [minutely], revision: 2 });
    await sim.clock.advanceTo(T0 + 8 * MINUTE);
    const overlapped = (await sim.records('a')).find(({ outcome }) => outcome === 'overlapped');
    expect(overlapped).toMatchObject({ scheduledFor: iso(T0 + 2 * MINUTE), reason: 'overlapSkip' });
  });
});

describe('a changed schedule', () => {
  it('leaves one record for whatever the old one had due and nobody had decided', async () => {
    const sim = await changedWhileNobodyWasThere();
    const [run, change, first] = await sim.records('a');
    expect([run?.outcome, run?.scheduledFor]).toEqual(['succeeded', iso(T0 + 2 * HOUR + 30 * MINUTE)]);
    expect(first?.scheduledFor).toBe(iso(T0 + 5 * MINUTE));
    expect(change).toMatchObject({
      ...{ outcome: 'disabled', reason: 'scheduleChanged', scheduledFor: iso(T0 + 5 * MINUTE + 1) },
    });
    expect(change).not.toHaveProperty('count');
    const through = Date.parse(change?.through ?? '');
    expect(through).toBeGreaterThanOrEqual(T0 + 2 * HOUR + 10 * MINUTE);
    expect(through).toBeLessThan(T0 + 2 * HOUR + 12 * MINUTE);
    const events = sim.events.filter(({ event }) => event === 'disabled');
    expect(events).toMatchObject([{ reason: 'scheduleChanged', through }]);
    expect(events[0]).not.toHaveProperty('count');
  });

  it('with the same revision counts since the last due time, with a warning', async () => {
    const sim = rivalTicks({ jobs: [before], revision: 1 });
    await sim.clock.advanceTo(T0 + HOUR + 40 * MINUTE);
    sim.instances[0]?.kill();
    sim.startInstance('d1', { jobs: [after], revision: 1 });
    await sim.clock.advance(MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor - T0)).toEqual([5, 65, 90].map((time) => time * MINUTE));
    expect(sim.events.filter(({ event }) => event === 'warning')).toMatchObject([
      { reason: expect.stringContaining('raise "revision"') as unknown },
    ]);
  });

  it('is why a missed due time of the old one did not run', async () => {
    const sim = await changedWhileNobodyWasThere();
    const why = async (time: number) => explainTime(sim.store, after, 2, time);
    const missed = await why(T0 + HOUR + 5 * MINUTE);
    expect(missed).toMatchObject({ due: false, outcome: 'disabled', reason: 'scheduleChanged' });
    expect(describeAnswer(missed, iso)).toMatch(/schedule was changed.*2026-01-01T00:05:00.001Z.*were not run/);
    // One that the new schedule would have had.
    expect(await why(T0 + HOUR + 30 * MINUTE)).toMatchObject({
      due: true,
      outcome: 'disabled',
      reason: 'scheduleChanged',
    });
    // What was decided before keeps its own outcome, and what came after is not due.
    expect(await why(T0 + 5 * MINUTE)).toMatchObject({ outcome: 'succeeded' });
    expect(await why(T0 + 2 * HOUR + 31 * MINUTE)).toMatchObject({ outcome: 'notDue', reason: 'notInSchedule' });
  });

  it('that is adopted by a take-over leaves the same record', () => {
    const row = { ...ranRow(before, { phase: 'retrying', notBefore: 0, revision: 1 }) };
    const decision = decide(situation(after, T0 + HOUR, { row, revision: 2, lease: 'expired' }));
    expect(decision).toMatchObject({
      kind: 'claim',
      claim: { row: { cursor: T0 + HOUR, revision: 2, owed: [{ from: T0 + 1, through: T0 + HOUR, count: 0 }] } },
    });
  });

  it('never moves the cursor back, by however old a listing it is adopted', () => {
    const row = ranRow(before, { cursor: T0 + HOUR, revision: 1 });
    const decision = decide(situation(after, T0 + 30 * MINUTE, { row, revision: 2 }));
    expect(decision).toMatchObject({ kind: 'record', row: { cursor: T0 + HOUR, owed: [], revision: 2 } });
  });

  it('of a leader job begins after its last term, which has a record of its own', () => {
    const leader = jobSpec('a', '@always');
    const term = { key: recordKey(T0 + MINUTE), scheduledFor: T0 + MINUTE, trigger: 'schedule', since: T0 } as const;
    const row = ranRow(leader, { run: term, revision: 1 });
    const decision = decide(situation(after, T0 + HOUR, { row, revision: 2 }));
    expect(decision).toMatchObject({ kind: 'record', row: { owed: [{ from: T0 + MINUTE + 1 }] } });
  });

  it.each([T0 + HOUR, T0 + 1])('is kept in the row until its record is written, up to %d', (through) => {
    const stretch = { outcome: 'disabled', reason: 'scheduleChanged', from: T0 + 1, through, count: 0 } as const;
    const row = ranRow(before, { owed: [stretch] });
    expect(decodeRow(encodeRow(row)).owed).toEqual([stretch]);
  });
});
