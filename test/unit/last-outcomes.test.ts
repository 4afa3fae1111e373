import { describe, expect, it } from 'vitest';
import type { RecentRun } from '../../src/core/recent';
import { NonRetryableError } from '../../src/handler/handler';
import { StoreUnavailableError } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

async function lastOutcomes(sim: RivalTicks): Promise<readonly unknown[]> {
  const { recent } = await sim.row('a');
  return recent.map(
    (entry) => `${entry.outcome ?? 'unknown'} ${new Date(entry.scheduledFor).toISOString().slice(11, 19)}`,
  );
}

async function lastRun(sim: RivalTicks): Promise<RecentRun | undefined> {
  const { recent } = await sim.row('a');
  return recent.findLast((entry) => entry.kind === 'run');
}

describe('the row of a job', () => {
  it('gets each outcome with the next write', async () => {
    let runs = 0;
    const handler = (): void => {
      runs += 1;
      if (runs === 2) throw new NonRetryableError('no');
    };
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 1m')], handler, start: T0 });
    await sim.clock.advance(70 * SECOND);
    expect(await lastOutcomes(sim)).toEqual([]);
    await sim.clock.advance(MINUTE);
    // A failure is counted in the row, so that its outcome needs no wait.
    expect(await lastOutcomes(sim)).toEqual(['succeeded 00:01:00', 'failed 00:02:00']);
    await sim.clock.advance(2 * MINUTE);
    expect(await lastOutcomes(sim)).toEqual(['succeeded 00:01:00', 'failed 00:02:00', 'succeeded 00:03:00']);
  });

  it('gets lateness and duration of a run that ended in the same process without a call', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@every 1m')],
      handler: () => waits(sim, 3 * SECOND),
      start: T0,
    });
    const east = first(sim);
    await sim.clock.advance(130 * SECOND);
    expect(await lastRun(sim)).toMatchObject({ latenessMs: 0, durationMs: 3 * SECOND });
    expect(east.calls.get('readRecord') ?? 0).toBe(0);
  });

  it('gets the duration from the ledger, where another process ran a job that is seldom due', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], handler: () => waits(sim, 7 * SECOND), start: T0 });
    const east = first(sim);
    await sim.clock.advance(61 * MINUTE);
    east.kill();
    const west = sim.startInstance('west');
    await sim.clock.advance(60 * MINUTE);
    expect(await lastRun(sim)).toMatchObject({ outcome: 'succeeded', durationMs: 7 * SECOND });
    expect(west.calls.get('readRecord')).toBe(1);
  });

  it('claims without the duration, if the ledger does not answer', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], handler: () => undefined, start: T0 });
    const east = first(sim);
    await sim.clock.advance(61 * MINUTE);
    east.kill();
    const west = sim.startInstance('west');
    west.coordinator.store.readRecord = () => Promise.reject(new StoreUnavailableError('down'));
    await sim.clock.advance(60 * MINUTE);
    expect(sim.calls.map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE)).toEqual([60, 120]);
    expect(await lastRun(sim)).toMatchObject({ outcome: 'succeeded', durationMs: undefined });
  });

  it('names the due times that did not run, with the reason', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@every 1m', { overlap: 'skip' })],
      handler: () => waits(sim, 150 * SECOND),
      start: T0,
    });
    await sim.clock.advance(6 * MINUTE);
    const { recent } = await sim.row('a');
    expect(recent).toContainEqual({
      ...{ kind: 'gap', scheduledFor: T0 + 3 * MINUTE },
      ...{ outcome: 'overlapped', reason: 'overlapSkip', count: 2 },
    });
  });
});

function first({ instances }: RivalTicks): Instance {
  const [instance] = instances;
  if (instance === undefined) throw new Error('no instance');
  return instance;
}

function waits({ clock }: RivalTicks, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
