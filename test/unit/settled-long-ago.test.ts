import { describe, expect, it } from 'vitest';
import { decide } from '../../src/core/decide/decide';
import { recordKey } from '../../src/core/key';
import type { Row } from '../../src/core/row';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, situation, T0 } from '../support/situation';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const FEBRUARY = Date.UTC(2026, 1, 1, 0, 5);

async function during(sim: RivalTicks, from: number, lasts: number, change?: (on: Instance) => void): Promise<void> {
  await sim.clock.advanceTo(from);
  const on = sim.startInstance('d1');
  change?.(on);
  await sim.clock.advance(lasts);
  on.kill();
}

describe('a settled run whose record is deleted before the next one', () => {
  const job = jobSpec('a', '5 0 1 * *', { keepMs: 7 * DAY });

  it.each([
    ['where ticks saw the row in between', 4 * DAY],
    ['after an outage', undefined],
  ])('stays settled although the next hand-over fails: %s', async (_what, seenAt) => {
    const sim = rivalTicks({ jobs: [job] });
    await sim.clock.advance(6 * MINUTE);
    for (const instance of sim.instances) instance.kill();
    expect(sim.calls).toHaveLength(1);
    if (seenAt !== undefined) {
      await during(sim, T0 + seenAt, 2 * MINUTE);
      expect((await sim.row('a')).phase).toBe('settled');
      expect(sim.calls).toHaveLength(1);
    }
    sim.service.deleteRecord(job.name, recordKey(T0 + 5 * MINUTE));
    // It acquires the lease, and its task hub loses the orchestration.
    await during(sim, FEBRUARY - 3 * MINUTE, 4 * MINUTE, (on) => {
      on.coordinator.store.createRecord = async () => Promise.reject(new Error('nothing is recorded'));
      void sim.clock.after(2 * MINUTE, () => {
        on.hubDead = true;
      });
    });
    expect(sim.calls).toHaveLength(1);
    await during(sim, FEBRUARY + 3 * MINUTE, 3 * MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => scheduledFor)).toEqual([T0 + 5 * MINUTE, FEBRUARY]);
    expect(sim.events.filter(({ event }) => event === 'failed')).toEqual([]);
    expect((await sim.records('a')).map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(await sim.row('a')).toMatchObject({ phase: 'running', failures: 0, token: 2 });
  });

  it('is written once, at half of the time for which its record is kept', () => {
    const half = T0 - 5_000 + 3.5 * DAY;
    const row = ranRow(job, { keepMs: 7 * DAY, cursor: T0 + DAY });
    expect(decide(situation(job, half - 1_000, { row }))).toMatchObject({ kind: 'nothing', checkAt: half });
    const decision = decide(situation(job, half, { row }));
    expect(decision).toMatchObject({ kind: 'record', row: { phase: 'settled', token: row.token, owed: [] } });
    if (decision.kind !== 'record') throw new Error(decision.kind);
    for (const lease of ['available', 'expired'] as const) {
      const later = situation(job, FEBRUARY - MINUTE, { row: decision.row, lease });
      expect(decide(later)).toMatchObject({ kind: 'nothing', checkAt: FEBRUARY - 5_000 });
      expect(decide({ ...later, now: FEBRUARY, listedAt: FEBRUARY })).toMatchObject({
        kind: 'claim',
        claim: { what: 'first', row: { phase: 'running', attempt: 1 } },
      });
    }
  });

  it('costs a job nothing whose next run comes before that', () => {
    const daily = jobSpec('a', '0 0 * * *');
    const decision = decide(situation(daily, T0 + DAY, { row: ranRow(daily, { keepMs: 90 * DAY }) }));
    expect(decision).toMatchObject({ kind: 'claim' });
  });
});

describe('notices and records that an available row still names', () => {
  const job = jobSpec('a', '5 0 * * 1');
  const told = { change: 'recovered', of: recordKey(T0), at: T0, failures: 2, since: T0, skipped: 0 } as const;
  const owed = { outcome: 'expired', reason: 'catchUpWindow', from: T0, through: T0, count: 1 } as const;

  it.each<[string, Partial<Row>, number]>([
    ['a delivered notice', { telling: [told] }, 8 * DAY],
    ['a record', { owed: [owed], run: undefined, phase: 'idle' }, 46 * DAY],
  ])('are dropped before anything is claimed, once they may be deleted: %s', (_what, changes, age) => {
    const row = ranRow(job, { ...changes, cursor: T0 + age });
    const decision = decide(situation(job, T0 + age, { row }));
    expect(decision).toMatchObject({ kind: 'record', row: { owed: [], telling: [] } });
    // Those of an expired row may still be missing.
    const expired = decide(situation(job, T0 + age, { row, lease: 'expired', record: 'final' }));
    const kept = expired.kind === 'claim' ? expired.claim.row : expired.kind === 'record' ? expired.row : undefined;
    expect(kept).toMatchObject({ owed: row.owed, telling: row.telling });
  });

  it('are corrected where the outcome of the run is unknown', () => {
    const counted = ranRow(job, { telling: [told], failures: 0, failedBefore: 2 });
    const notify = { to: ['ops'], on: ['failure', 'recovery'], after: 1, remindMs: undefined } as const;
    const decision = decide(
      situation({ ...job, notify }, T0 + 100 * DAY, { row: counted, lease: 'expired', record: 'none' }),
    );
    expect(decision).toMatchObject({ kind: 'record', row: { phase: 'idle', failures: 3, telling: [] } });
  });
});
