import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { decide } from '../../src/core/decide/decide';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { ranRow, situation, T0 } from '../support/situation';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe('a clock that is set back by an hour', () => {
  it('after the claim does not keep the handler waiting', async () => {
    const due = T0 + 5 * MINUTE;
    const sim = rivalTicks({ jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')] });
    await sim.clock.advanceTo(due - 2 * SECOND);
    expect((await sim.row('a')).phase).toBe('running');
    for (const instance of sim.instances) instance.skewMs = -HOUR;
    await sim.clock.advanceTo(due + 5 * SECOND);
    expect(sim.calls).toHaveLength(1);
    expect((sim.calls[0]?.at ?? 0) - due).toBeLessThanOrEqual(SECOND);
    expect((sim.calls[0]?.at ?? 0) - due).toBeGreaterThanOrEqual(0);
  });

  it('between two sweeps does not hide a due time from the next tick', async () => {
    const due = T0 + 10 * MINUTE;
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/10 * * * *')], sweepIntervalMs: HOUR });
    await sim.clock.advanceTo(due - 9 * SECOND);
    for (const instance of sim.instances) instance.skewMs = -HOUR;
    await sim.clock.advanceTo(due + 20 * SECOND);
    expect(sim.calls).toHaveLength(1);
    // A Date has a resolution of 1 s, and so has the correction.
    expect(Math.abs((sim.calls[0]?.at ?? 0) - due)).toBeLessThanOrEqual(SECOND);
  });

  it('during a run is corrected by the renewals, where no tick lists', async () => {
    let ended = 0;
    const job = jobSpec('a', '@at 2026-01-01T00:05:00Z', { leaseMs: 15 * SECOND });
    const sim = rivalTicks({
      jobs: [job],
      handler: () => new Promise((resolve) => void sim.clock.after(2 * MINUTE, () => resolve((ended += 1)))),
    });
    await sim.clock.advanceTo(T0 + 5 * MINUTE + 5 * SECOND);
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    // From here on this instance ticks no more, as one that does not hold the timer.
    instance.coordinator.stopping = true;
    instance.skewMs = -HOUR;
    await sim.clock.advance(30 * SECOND);
    expect(Math.abs(instance.coordinator.serviceTime.now() - sim.clock.now())).toBeLessThanOrEqual(SECOND);
    expect(ended).toBe(0);
  });
});

describe('a clock that is set and set back while listings are on their way', () => {
  it('leaves no look noted for an hour later', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/5 * * * *')] });
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    instance.skewMs = -HOUR;
    await sim.clock.advanceTo(T0 + 6 * MINUTE);
    const steps = [0, -HOUR];
    interceptStore(instance, 'list', (list) => async (options) => {
      const step = steps.shift();
      if (step === undefined) return list(options);
      await sleep(sim.clock, SECOND);
      instance.skewMs = step;
      await sleep(sim.clock, 2 * SECOND);
      return list(options);
    });
    await sim.clock.advanceTo(T0 + 16 * MINUTE);
    expect(steps).toEqual([]);
    expect(sim.calls.map(({ at }) => Math.round((at - T0) / MINUTE))).toEqual([5, 10, 15]);
  });
});

describe('a clock that is set back right before an attempt fails', () => {
  it('does not shorten the back-off', async () => {
    const base = jobSpec('a', '@at 2026-01-01T00:05:00Z');
    const retry = { ...base.retry, backoffMs: 2 * MINUTE, jitter: 'none' as const };
    const sim = rivalTicks({
      jobs: [{ ...base, retry }],
      handler: (_context, on) => {
        on.skewMs = -10 * MINUTE;
        throw new Error('no success');
      },
    });
    await sim.clock.advanceTo(T0 + 6 * MINUTE);
    expect(sim.calls).toHaveLength(1);
    expect((await sim.row('a')).notBefore).toBeGreaterThanOrEqual(T0 + 7 * MINUTE - SECOND);
  });
});

/** The items of a run beat all the time. */
const LIVELY = { writtenAt: T0 + 10 * HOUR, date: T0 + 10 * HOUR };

describe('what a fast clock wrote', () => {
  const job = jobSpec('a', '@hourly');

  it('keeps a retry waiting for no longer than the largest back-off', () => {
    const row = ranRow(job, { phase: 'retrying', notBefore: T0 + 10 * MINUTE + HOUR });
    const at = (now: number): string =>
      decide(situation(job, now, { row, firstSeenAt: T0 + 10 * MINUTE, listedAt: now })).kind;
    const bound = T0 + 10 * MINUTE + SECOND + job.retry.maxBackoffMs + 10 * SECOND;
    expect([at(bound - SECOND - 1), at(bound)]).toEqual(['nothing', 'claim']);
  });

  it('keeps items waiting for no longer than their deadline', () => {
    const row = ranRow(job, { phase: 'fanning', uncountedAttempts: 1, notBefore: T0 + 10 * MINUTE + HOUR });
    const at = (now: number): string =>
      decide(situation(job, now, { row, beat: LIVELY, firstSeenAt: T0 + 10 * MINUTE, itemsLimitMs: 20 * MINUTE })).kind;
    const bound = T0 + 30 * MINUTE + SECOND + 10 * SECOND;
    expect([at(bound - SECOND - 1), at(bound)]).toEqual(['nothing', 'claim']);
  });

  it('keeps the next term of a leader job waiting for no longer than its back-off', () => {
    const leader = jobSpec('a', '@always');
    const row = ranRow(leader, { failures: 1, busyUntil: T0 + HOUR });
    const at = (now: number): string => decide(situation(leader, now, { row, firstSeenAt: T0 })).kind;
    const bound = T0 + SECOND + leader.retry.backoffMs;
    expect([at(bound - SECOND - 1), at(bound)]).toEqual(['nothing', 'claim']);
  });
});
