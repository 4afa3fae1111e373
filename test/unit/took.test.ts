import { describe, expect, it } from 'vitest';
import { tookMs } from '../../src/core/record';
import { readOverview } from '../../src/operator/views/overview';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { cancelRun } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RETRY = { attempts: 3, backoffMs: 20 * SECOND, factor: 1, maxBackoffMs: MINUTE, jitter: 'none' } as const;

function waits({ clock }: RivalTicks, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

describe('the time that a run took', () => {
  it("is its handler's, and its waits between attempts are a figure of their own, wherever it is shown", async () => {
    const job = jobSpec('a', '@every 5m', { retry: RETRY });
    const sim = rivalTicks({
      ...{ jobs: [job], start: T0 },
      handler: async ({ attempt }) => {
        await waits(sim, 3 * SECOND);
        if (attempt < 3) throw new Error('not yet');
      },
    });
    await sim.clock.advance(5.5 * MINUTE + 30 * SECOND);
    const [record] = await sim.records('a');
    if (record === undefined) throw new Error('there is no record');
    const { waitedMs = 0, startedAt, endedAt } = record;
    expect(tookMs(record)).toBe(9 * SECOND);
    expect(waitedMs).toBeGreaterThanOrEqual(40 * SECOND);
    expect(Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '')).toBe(waitedMs + 9 * SECOND);
    expect(sim.events.find(({ event }) => event === 'succeeded')).toMatchObject({ durationMs: 9 * SECOND });
    await sim.clock.advance(5 * MINUTE);
    const [status] = (await readOverview(sim.store, [job])).jobs;
    expect(status?.recent[0]).toMatchObject({ attempts: 3, durationMs: 9 * SECOND, waitedMs });
  });

  it('leaves out the wait in which somebody cancelled it', async () => {
    const job = jobSpec('a', '@every 1h', { retry: { ...RETRY, backoffMs: 10 * MINUTE, maxBackoffMs: 10 * MINUTE } });
    const sim = rivalTicks({
      ...{ jobs: [job], start: T0 },
      handler: async () => {
        await waits(sim, 3 * SECOND);
        throw new Error('no');
      },
    });
    await sim.clock.advance(62 * MINUTE);
    await cancelRun(sim.store, { name: job.name, spec: job });
    await sim.clock.advance(2 * MINUTE);
    const [record] = await sim.records('a');
    if (record === undefined) throw new Error('there is no record');
    expect(tookMs(record)).toBe(3 * SECOND);
    expect(record.waitedMs).toBeGreaterThan(MINUTE);
  });
});
