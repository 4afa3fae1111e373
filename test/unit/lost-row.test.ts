import { describe, expect, it } from 'vitest';
import { recordKey } from '../../src/core/key';
import { rowAfterLoss } from '../../src/core/failover';
import { newRow } from '../../src/core/row';
import { NO_CONTROL } from '../../src/core/control';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const T0 = Date.UTC(2026, 0, 1, 0, 0, 5);
const JOB = jobSpec('billing', '@every 1m');

/** Deletes all rows, or everything in `jobs/`, as a person with the portal or `redis-cli` does. */
function loseRows({ service }: RivalTicks, also: 'controls' | 'nothing else'): void {
  const before = service.checkpoint();
  const after = { ...before, rows: new Map(), ...(also === 'controls' && { controls: new Map() }) };
  service.failOver([after], () => after, 'kept');
}

function startsOf(sim: RivalTicks): number[] {
  return sim.calls.map(({ scheduledFor }) => scheduledFor);
}

describe('a row that was deleted while its records remain', () => {
  it('comes back above every token of the ledger, and says so', async () => {
    const sim = rivalTicks({ jobs: [JOB], start: T0 });
    await sim.clock.advance(10 * 60_000);
    const highest = Math.max(...sim.calls.map(({ token }) => token));
    expect(highest).toBe(10);
    loseRows(sim, 'controls');
    await sim.clock.advance(5 * 60_000);
    const later = sim.calls.filter(({ at }) => at > T0 + 11 * 60_000);
    expect(later.length).toBeGreaterThanOrEqual(3);
    expect(Math.min(...later.map(({ token }) => token))).toBeGreaterThan(highest);
    const said = sim.events.filter(({ event, reason }) => event === 'warning' && reason?.includes('was deleted'));
    expect(said).toMatchObject([{ job: 'billing' }]);
    expect(said[0]?.reason).toContain('the row of job "billing" was deleted, and its records were not');
  });

  it('runs nothing twice, however long before its due time it had been claimed', async () => {
    const sim = rivalTicks({
      jobs: [JOB],
      start: T0,
      deployments: 2,
      handler: () => new Promise((resolve) => sim.clock.after(40_000, () => resolve(undefined))),
    });
    for (const second of [53, 56, 58, 5, 30]) {
      await sim.clock.advance(3 * 60_000 - (sim.clock.now() % 60_000) + second * 1_000);
      loseRows(sim, 'nothing else');
      await sim.clock.advance(60_000);
    }
    await sim.clock.advance(3 * 60_000);
    const starts = startsOf(sim);
    expect(starts.length).toBeGreaterThan(10);
    expect(starts.length).toBe(new Set(starts).size);
    const tokens = sim.calls.map(({ token }) => token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it('takes no request again that may have been taken', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('billing', '@manual')], start: T0 });
    await sim.clock.advance(30_000);
    await sim.control('billing', (control) => ({
      ...control,
      manualRuns: [{ number: 1, id: 'a1', time: sim.clock.now() }],
    }));
    await sim.clock.advance(90_000);
    expect(sim.calls).toHaveLength(1);
    loseRows(sim, 'nothing else');
    await sim.clock.advance(3 * 60_000);
    expect(sim.calls).toHaveLength(1);
    await sim.control('billing', (control) => ({
      ...control,
      manualRuns: [{ number: 2, id: 'a2', time: sim.clock.now() }],
    }));
    await sim.clock.advance(90_000);
    expect(sim.calls).toHaveLength(2);
  });

  it('costs a new job one listing of its ledger, and an old one none', async () => {
    const sim = rivalTicks({ jobs: [JOB], start: T0 });
    await sim.clock.advance(60_000);
    const listed = sim.instances[0]?.calls.get('listRecords');
    expect(listed).toBe(1);
    await sim.clock.advance(10 * 60_000);
    expect(sim.instances[0]?.calls.get('listRecords')).toBe(1);
  });
});

describe('the token of a created row', () => {
  const now = T0 + 3_600_000;
  const fresh = newRow(now, 0, JOB.scheduleHash);
  const at = (time: number, id?: string) => recordKey(time, id);

  it('counts claims that a page of the newest due times does not show', () => {
    // 400 due times of years ago were run again within the hour after this record.
    const records = [
      { key: at(T0), summary: { state: 'final', token: '7', started: new Date(T0).toISOString() } },
      { key: at(T0 - 60_000), summary: { state: 'final', token: '6' } },
    ];
    const row = rowAfterLoss({ job: JOB, fresh, records, control: NO_CONTROL, now });
    expect(row.token).toBeGreaterThanOrEqual(7 + 3_600_000 / 10);
    expect(row.token).toBeLessThan(7 + 3_700_000 / 10);
  });

  it('is that of a back-filled run, if it is the highest', () => {
    const records = [
      { key: at(T0), summary: { state: 'final', token: '7' } },
      { key: at(T0 - 600_000, 'b1'), summary: { state: 'final', token: '900', started: new Date(now).toISOString() } },
    ];
    const row = rowAfterLoss({ job: JOB, fresh, records, control: NO_CONTROL, now });
    expect(row.token).toBeGreaterThan(900);
    expect(row.token).toBeLessThan(900 + 10_000);
  });

  it('lies beyond the newest recorded due time, stretches included', () => {
    const through = now + 300_000;
    const records = [
      { key: at(now), summary: { state: 'final', outcome: 'paused', through: new Date(through).toISOString() } },
    ];
    expect(rowAfterLoss({ job: JOB, fresh, records, control: NO_CONTROL, now }).cursor).toBe(through);
  });
});
