import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { recordKey } from '../../src/core/key';
import { openRecord, storeRecord } from '../../src/core/record';
import { decide } from '../../src/core/decide/decide';
import type { JobSpec } from '../../src/core/job';
import { StoreUnavailableError } from '../../src/lease/store';
import { explainTime } from '../../src/operator/views/explain';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { ranRow, situation, T0 } from '../support/situation';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A run that ended with its record, whose holder died before it could release its lease. */
async function leftBehind(job: JobSpec): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [job] });
  const [instance] = sim.instances;
  if (instance === undefined) throw new Error('no instance');
  interceptStore(instance, 'release', () => async () => {
    instance.kill();
    throw new StoreUnavailableError('the connection was lost');
  });
  await sim.clock.advance(6 * MINUTE);
  expect(sim.calls).toHaveLength(1);
  expect(await sim.records(job.name)).toMatchObject([{ outcome: 'succeeded' }]);
  return sim;
}

function loseRecords(sim: RivalTicks, job: JobSpec): void {
  sim.service.deleteRecord(job.name, recordKey(T0 + 5 * MINUTE));
}

const LONG_GAPS = [
  ['@at', 90 * DAY, '@at 2026-01-01T00:05:00Z'],
  ['a quarterly cron', 60 * DAY, '5 0 1 1,4,7,10 *'],
  ['a monthly cron with a short keep', 7 * DAY, '5 0 1 * *'],
] as const;

describe('a settled run whose record retention has deleted', () => {
  it.each(LONG_GAPS)('is not run again: %s', async (_what, keepMs, schedule) => {
    const job = jobSpec('a', schedule, { keepMs });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + keepMs + DAY - sim.clock.now());
    loseRecords(sim, job);
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls).toHaveLength(1);
    expect(await sim.records('a')).toMatchObject([
      {
        ...{ outcome: 'failed', reason: 'outcomeUnknown', state: 'final', endedAt: null },
        attempts: [{ attempt: 1, outcome: 'holderLost', endedAt: null }],
      },
    ]);
    const row = await sim.row('a');
    // Its record will be deleted, too.
    expect(row).toMatchObject({ phase: 'settled', failures: 0, token: 1 });
    expect(sim.events.filter((event) => event.event === 'failed')).toMatchObject([{ reason: 'outcomeUnknown' }]);
    expect((await sim.store.list()).jobs.get(job.name)?.row?.lease).toBe('available');
  });

  it('is explained before a tick has settled it, and after', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { keepMs: DAY });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + 2 * DAY - sim.clock.now());
    loseRecords(sim, job);
    const why = async (): Promise<unknown> => explainTime(sim.store, job, 0, T0 + 5 * MINUTE);
    expect(await why()).toMatchObject({ outcome: 'failed', reason: 'outcomeUnknown', record: null });
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(await why()).toMatchObject({ outcome: 'failed', reason: 'outcomeUnknown', record: { state: 'final' } });
  });

  it('leaves the next due time to run as always', async () => {
    const job = jobSpec('a', '5 0 * * *', { keepMs: DAY, catchUp: 'latest' });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + 3 * DAY - sim.clock.now());
    loseRecords(sim, job);
    sim.startInstance('d1');
    await sim.clock.advance(6 * MINUTE);
    expect(sim.calls.map(({ scheduledFor, attempt, token }) => [scheduledFor, attempt, token])).toEqual([
      [T0 + 5 * MINUTE, 1, 1],
      [T0 + 3 * DAY + 5 * MINUTE, 1, 2],
    ]);
  });

  it('is taken over where keep is not over yet: its record would be there', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { keepMs: 7 * DAY });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + 6 * DAY - sim.clock.now());
    loseRecords(sim, job);
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('is taken over after keep as well where its record is open: retention deletes final ones alone', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { keepMs: 7 * DAY });
    const handler = ({ attempt }: { readonly attempt: number }): Promise<void> => {
      if (attempt === 1) return Promise.reject(new Error('no'));
      return sleep(sim.clock, attempt === 2 ? 5 * MINUTE : 0);
    };
    const sim: RivalTicks = rivalTicks({ jobs: [job], handler });
    await sim.clock.advance(6 * MINUTE);
    for (const instance of sim.instances) instance.kill();
    await sim.clock.advance(T0 + 8 * DAY - sim.clock.now());
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded', state: 'final' }]);
  });

  it('is settled although the mark of a dead holder arrives right before', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { keepMs: DAY });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + 2 * DAY - sim.clock.now());
    loseRecords(sim, job);
    const second = sim.startInstance('d1');
    interceptStore(second, 'createRecord', (create) => async (name, key, record, options) => {
      const mark = storeRecord(openRecord(job, await sim.row('a'), []));
      await sim.store.createRecord(name, key, mark);
      return create(name, key, record, options);
    });
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', reason: 'outcomeUnknown', state: 'final' }]);
    expect(sim.events.filter(({ event }) => event === 'failed')).toMatchObject([{ reason: 'outcomeUnknown' }]);
    expect(sim.calls).toHaveLength(1);
  });

  it('is settled in the end where the one that settles it dies before the record', async () => {
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { keepMs: DAY });
    const sim = await leftBehind(job);
    await sim.clock.advance(T0 + 2 * DAY - sim.clock.now());
    loseRecords(sim, job);
    const second = sim.startInstance('d1');
    interceptStore(second, 'createRecord', () => async () => {
      second.kill();
      throw new StoreUnavailableError('the connection was lost');
    });
    await sim.clock.advance(2 * MINUTE);
    expect([second.dead, (await sim.row('a')).phase]).toEqual([true, 'idle']);
    expect(await sim.records('a')).toEqual([]);
    const why = await explainTime(sim.store, job, 0, T0 + 5 * MINUTE);
    expect(why).toMatchObject({ outcome: 'failed', reason: 'outcomeUnknown', record: null });
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', reason: 'outcomeUnknown' }]);
    expect(sim.calls).toHaveLength(1);
  });
});

describe('how long an absent record proves something', () => {
  const KEEP = 10 * DAY;
  const decided = (age: number, today: number, claimed: number | undefined): string => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:00Z', { keepMs: today });
    const row = ranRow(job, { keepMs: claimed });
    const seen = situation(job, T0 - 5_000 + age, { row, lease: 'expired', record: 'none' });
    const decision = decide(seen);
    return decision.kind === 'record' ? decision.row.phase : decision.kind;
  };

  it.each([
    ['just as old as keep', KEEP, KEEP, KEEP, 'claim'],
    ['older by a millisecond', KEEP + 1, KEEP, KEEP, 'idle'],
    ['older than the keep of the claim alone', KEEP + 1, 2 * KEEP, KEEP, 'idle'],
    ['older than the keep of today alone', KEEP + 1, KEEP, 2 * KEEP, 'idle'],
    ['claimed by an older version', KEEP + 1, KEEP, undefined, 'idle'],
  ] as const)('%s', (_what, age, today, claimed, expected) => {
    expect(decided(age, today, claimed)).toBe(expected);
  });

  it("goes by the service's Date, whatever this machine's clock says", () => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:00Z', { keepMs: KEEP });
    const row = ranRow(job, { keepMs: KEEP });
    const fast = situation(job, T0 + 2 * MINUTE, { listedAt: T0 + MINUTE, row, lease: 'expired', record: 'none' });
    expect(decide(fast).kind).toBe('claim');
  });

  it('waits for a new listing on a machine that slept between the listing and the look at the ledger', () => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:00Z', { keepMs: KEEP });
    const row = ranRow(job, { keepMs: KEEP });
    const woken = { listedAt: T0 + MINUTE, row, lease: 'expired' } as const;
    expect(decide(situation(job, T0 + 2 * KEEP, { ...woken, record: 'none' })).kind).toBe('wait');
    expect(decide(situation(job, T0 + 2 * KEEP, { ...woken, record: 'open' })).kind).toBe('claim');
  });

  it('does not matter to a run that is known to be going on by its open record', () => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:00Z', { keepMs: KEEP });
    const seen = situation(job, T0 + 2 * KEEP, { row: ranRow(job), lease: 'expired', record: 'open' });
    expect(decide(seen)).toMatchObject({ kind: 'claim', claim: { what: 'takeOver' } });
  });
});

describe('a settled row that its holder did not release', () => {
  it.each([
    ['@at 2026-01-01T00:00:00Z', {}],
    ['5 0 1 4,7,10 *', {}],
    ['@always', { enabled: false }],
  ] as const)('is put right by a sweep, not by the next claim: %s', async (schedule, changes) => {
    const job = jobSpec('a', schedule, changes);
    const row = ranRow(job, { keepMs: 90 * DAY });
    const seen = situation(job, T0 + 10 * MINUTE, { row, lease: 'expired', record: 'final' });
    expect(decide(seen)).toMatchObject({ kind: 'record', row: { phase: 'running', owed: [] } });
  });

  it('is released, and no handler is called for it', async () => {
    const sim = await leftBehind(jobSpec('a', '@at 2026-01-01T00:05:00Z'));
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect((await sim.store.list()).jobs.get('a' as JobName)?.row?.lease).toBe('available');
    expect(sim.calls).toHaveLength(1);
    const writes = sim.instances[1]?.calls.get('writeRow');
    await sim.clock.advance(10 * MINUTE);
    expect(sim.instances[1]?.calls.get('writeRow')).toBe(writes);
  });
});
