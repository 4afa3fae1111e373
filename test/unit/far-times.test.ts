import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { NO_CONTROL, type Pause, decodeControl, encodeControl } from '../../src/core/control';
import { decide } from '../../src/core/decide/decide';
import type { Stretch } from '../../src/core/outcome';
import { isoOrUndefined } from '../../src/core/metadata';
import { decodeRow, encodeRow, newRow } from '../../src/core/row';
import { cpuTime } from '../support/cpu';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';
import { situation, T0 } from '../support/situation';

const SECOND = 1_000;
const HOUR = 3_600_000;
const YEAR = 366 * 24 * HOUR;

/** What becomes of a row whose cursor is this, decision by decision, until something is claimed. */
function stretchesUntilClaim(cursor: number, pauses: readonly Pause[] = []): readonly Stretch[] {
  const job = jobSpec('a', '* * * * * *');
  const control = { ...NO_CONTROL, pauses };
  const stretches: Stretch[] = [];
  let row = newRow(cursor, 0, job.scheduleHash);
  for (let decisions = 0; decisions < 20; decisions += 1) {
    const decision = decide(situation(job, T0, { row, control }));
    if (decision.kind === 'claim') return [...stretches, ...decision.claim.row.owed];
    if (decision.kind !== 'record') throw new Error(decision.kind);
    stretches.push(...decision.row.owed);
    row = { ...decision.row, owed: [] };
  }
  throw new Error('nothing was claimed after 20 decisions');
}

/** The stretches follow each other without a gap, and count every second once. */
function expectWhole(stretches: readonly Stretch[], cursor: number): void {
  let reached = cursor;
  for (const { from, through, count } of stretches) {
    expect(from).toBe(reached + SECOND);
    expect(count).toBe((through - from) / SECOND + 1);
    reached = through;
  }
}

describe('a cursor of long ago on a job of each second', () => {
  it('is behind by few records, that leave out no due time', () => {
    const stretches = stretchesUntilClaim(0);
    expectWhole(stretches, 0);
    expect(stretches.length).toBeLessThan(5);
    expect(stretches[0]).toMatchObject({ outcome: 'expired', reason: 'catchUpWindow', from: SECOND });
    expect(stretches.at(-1)?.outcome).toBe('collapsed');
    // What expires is what is older than an hour, to the second.
    const expired = stretches.findLast(({ outcome }) => outcome === 'expired');
    expect(expired?.through).toBe(T0 - HOUR - SECOND);
  });

  it('keeps what lies in a pause apart', () => {
    const since = Date.UTC(2000, 0, 1);
    const until = Date.UTC(2020, 0, 1);
    const stretches = stretchesUntilClaim(0, [{ by: 'x', note: 'n', since, until }]);
    expectWhole(stretches, 0);
    expect(stretches.length).toBeLessThan(8);
    const paused = stretches.filter(({ outcome }) => outcome === 'paused');
    expect([paused[0]?.from, paused.at(-1)?.through]).toEqual([since, until - SECOND]);
  });

  it('costs a tick few records', async () => {
    const job = jobSpec('a', '*/5 * * * * *');
    const sim = rivalTicks({ jobs: [job] });
    await sim.store.createRow('a' as JobName, encodeRow(newRow(0, 0, job.scheduleHash)));
    await sim.clock.advance(20 * SECOND);
    expect((await sim.row('a')).cursor).toBeGreaterThanOrEqual(T0);
    const unrun = (await sim.records('a')).filter(({ outcome }) => outcome !== 'succeeded');
    expect(unrun.length).toBeLessThan(5);
  });
});

describe('a pause of decades', () => {
  it.each(['queue', 'cancel'] as const)('is passed in one step where overlap is %s', (overlap) => {
    const job = jobSpec('a', '* * * * * *', { overlap });
    const run = { key: '9999999999000-s', scheduledFor: SECOND, trigger: 'schedule', since: SECOND } as const;
    const pauses = [{ by: 'x', note: 'n', since: 2 * SECOND, until: T0 - SECOND }];
    const base = { ...newRow(SECOND, 0, job.scheduleHash), run, attempt: 1 };
    const waiting = { ...base, phase: 'retrying', notBefore: T0 + HOUR } as const;
    const over = { ...base, phase: 'running', busyUntil: T0 } as const;
    const walk = cpuTime(() => {
      let due: number | undefined = SECOND;
      for (let step = 0; step < 100_000 && due !== undefined; step += 1) due = job.timetable.next(due);
    });
    const jump = cpuTime(() => {
      for (const row of [waiting, over]) decide(situation(job, T0, { row, control: { ...NO_CONTROL, pauses } }));
    });
    // A walk through the pause would take 1.7 billion steps.
    expect(jump).toBeLessThan(walk);
  });
});

describe('times that cronlease does not write', () => {
  const row = encodeRow({ ...newRow(T0, 0, 'h'), notBefore: T0, busyUntil: T0 });
  const owed = (from: unknown, through: unknown = from) =>
    JSON.stringify([{ outcome: 'expired', reason: 'catchUpWindow', from, through, count: 2 }]);

  it.each([
    ['cursor', '+012026-01-01T00:00:00.000Z'],
    ['cursor', '-000001-01-01T00:00:00.000Z'],
    ['cursor', '2999-01-01T00:00:00.000Z'],
    ['notbefore', '+275760-09-13T00:00:00.000Z'],
    ['owed', owed(1e300)],
    ['owed', owed(T0, -1)],
    ['owed', owed(0.5)],
    ['owed', JSON.stringify([{ outcome: 'expired', reason: 'catchUpWindow', from: 5, request: '../x' }])],
    ['past', JSON.stringify([{ n: 1, token: 1, by: 'x', start: 1e17, outcome: 'failed' }])],
  ])('are no row: %s %s', (key, value) => {
    expect(decodeRow(row)).toMatchObject({ cursor: T0 });
    expect(() => decodeRow({ ...row, [key]: value })).toThrow(`metadata "${key}" is `);
  });

  it.each([
    [{ pauses: [{ by: 'x', note: 'n', since: 1e300, until: undefined }] }],
    [{ pauses: [{ by: 'x', note: 'n', since: 0, until: -5 }] }],
    [{ manualRuns: [{ number: 1, id: 'r', time: 1e14 }] }],
    [{ manualRuns: [{ number: 1, id: '../../jobs/a', time: T0 }] }],
  ])('are no control: %j', (changes) => {
    expect(() => decodeControl(encodeControl({ ...NO_CONTROL, ...changes }))).toThrow('a list of known members');
  });

  it.each(['cursor', 'notBefore', 'busyUntil'] as const)('%s years ahead makes the row foreign', async (name) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *'), jobSpec('b', '* * * * *')] });
    const ahead = { ...newRow(T0, 0, 'hash of a'), [name]: T0 + 2 * YEAR };
    await sim.store.createRow('a' as JobName, encodeRow(ahead));
    await sim.clock.advance(2 * 60 * SECOND + SECOND);
    expect(sim.calls.map(({ job }) => job)).toEqual(['b', 'b']);
    expect(sim.events.find(({ event }) => event === 'unhealthy')).toMatchObject({
      job: 'a',
      reason: expect.stringContaining(
        `"${isoOrUndefined(T0 + 2 * YEAR) ?? ''}", expected a time that is at most a year`,
      ),
    });
  });
});
