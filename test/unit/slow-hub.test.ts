import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { HandOvers } from '../../src/coordinator/hand-overs';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T0 = Date.UTC(2026, 0, 1);
/** Within these, a hub that is slow from the start is measured. */
const LEARNED_MS = 2 * MINUTE;

/** How late handlers start, once the hub is known, where hand-overs take these times in turn. */
async function lateness(seconds: readonly number[], lookAheadMs = 5 * SECOND): Promise<readonly number[]> {
  const sim = rivalTicks({
    jobs: ['*/20 * * * * *', '10,30,50 * * * * *', '* * * * *'].map((cron, index) => jobSpec(`j${index}`, cron)),
    settings: { lookAheadMs, longestLookAheadMs: lookAheadMs === 0 ? 0 : 34 * SECOND },
  });
  let count = 0;
  for (const instance of sim.instances) {
    instance.hubLateMs = () => (seconds[(count += 1) % seconds.length] ?? 0) * SECOND;
  }
  await sim.clock.advanceTo(T0 + LEARNED_MS + 5 * MINUTE);
  return sim.calls
    .filter(({ scheduledFor }) => scheduledFor > T0 + LEARNED_MS)
    .map(({ at, scheduledFor }) => at - scheduledFor);
}

describe('a task hub that takes longer than the usual look-ahead', () => {
  it.each([[[0]], [[4]], [[5, 6, 7]], [[8]]])(
    'of %j s is known after a while, and handlers start on time',
    async (seconds) => {
      const late = await lateness(seconds);
      expect(late).toHaveLength(35);
      expect(Math.max(...late)).toBe(0);
    },
  );

  it('makes handlers late where looking ahead is turned off', async () => {
    expect(Math.min(...(await lateness([2], 0)))).toBeGreaterThanOrEqual(2 * SECOND);
  });
});

describe('the time that hand-overs take', () => {
  const measured = (...seconds: readonly number[]): HandOvers => {
    const handOvers = new HandOvers();
    for (const took of seconds) handOvers.arrived('a' as JobName, 'x' as LeaseId, took * SECOND + 500, 0);
    return handOvers;
  };
  const usual = 5 * SECOND;
  const most = 34 * SECOND;

  it('counts from the fifth one on', () => {
    expect(measured(8, 8, 8, 8).lookAhead(usual, most)).toBe(usual);
    expect(measured(8, 8, 8, 8, 8).lookAhead(usual, most)).toBe(11 * SECOND);
  });

  it('leaves two of twenty out, and forgets', () => {
    const quick = Array.from({ length: 18 }, () => 1);
    expect(measured(...quick, 30, 30).lookAhead(usual, most)).toBe(usual);
    expect(measured(...quick, 30, 30, 30).lookAhead(usual, most)).toBe(most);
    expect(measured(30, 30, 30, ...quick, 1, 1).lookAhead(usual, most)).toBe(usual);
  });

  it('moves the time from which a hand-over is late, to 10 s at most', () => {
    expect(measured(1, 1, 1, 1, 1).lateMs).toBe(4 * SECOND);
    expect(measured(6, 6, 6, 6, 6).lateMs).toBe(8.5 * SECOND);
    expect(measured(20, 20, 20, 20, 20).lateMs).toBe(10 * SECOND);
  });

  it('is read from the row where the claim was made elsewhere, for the first attempt alone', () => {
    const row = { attempt: '1', since: '2026-01-01T00:00:00.000Z', claimedat: '2026-01-01T00:00:08.500Z' };
    const seen = (metadata: Readonly<Record<string, string>>): number => {
      const handOvers = new HandOvers();
      for (let count = 0; count < 5; count += 1) handOvers.claimed('a' as JobName, metadata);
      return handOvers.lookAhead(usual, most);
    };
    expect(seen(row)).toBe(11 * SECOND);
    expect(seen({ ...row, attempt: '2' })).toBe(usual);
    // A build that is older, or a program that wrote something else.
    expect(seen({ attempt: '1', since: row.since })).toBe(usual);
    expect(seen({ ...row, claimedat: 'soon' })).toBe(usual);
  });
});
