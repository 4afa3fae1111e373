import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1);

/**
 * The app is shut down between the hand-over of 01:00 and its claim, and started again eight hours later. Its task hub
 * has kept the message.
 */
async function overnight(
  settings: Partial<JobSpec>,
  meanwhile: (sim: RivalTicks) => Promise<void>,
): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [jobSpec('hourly', '0 * * * *', settings)] });
  await sim.clock.advanceTo(T0 + 30 * MINUTE);
  const [first] = sim.instances;
  if (first === undefined) throw new Error('no instance');
  first.hubLateMs = () => 2 * SECOND;
  await sim.clock.advanceTo(T0 + HOUR - 4 * SECOND);
  expect(sim.calls).toEqual([]);
  expect(first.coordinator.handOvers.all().map(([name]) => name)).toEqual(['hourly']);
  await Promise.all([first.drain(), sim.clock.advance(3 * SECOND)]);
  await meanwhile(sim);
  // The message comes before the first tick.
  await sim.clock.advanceTo(T0 + 9 * HOUR + 9 * MINUTE + 56 * SECOND);
  sim.startInstance('d1');
  await sim.clock.advanceTo(T0 + 9 * HOUR + 40 * MINUTE);
  return sim;
}

const called = ({ calls }: RivalTicks): readonly string[] =>
  calls.map(({ scheduledFor, trigger }) => `${new Date(scheduledFor).toISOString().slice(11, 16)} ${trigger}`);

describe('a hand-over that the task hub has kept for hours', () => {
  it('does not run what is past its window', async () => {
    const sim = await overnight({ catchUpWindowMs: HOUR }, async () => undefined);
    expect(called(sim)).toEqual(['09:00 catchUp']);
    const first = (await sim.records('hourly')).at(-1);
    expect([first?.scheduledFor, first?.outcome, first?.reason]).toEqual([
      '2026-01-01T01:00:00.000Z',
      'expired',
      'catchUpWindow',
    ]);
    // No instance was at work before.
    expect((await sim.row('hourly')).run?.since).toBeGreaterThan(T0 + 9 * HOUR);
  });

  it('does not run in a pause that began before the claim', async () => {
    const paused = (sim: RivalTicks): Promise<void> =>
      sim.control('hourly', (control) => ({
        ...control,
        pauses: [{ by: 'p', note: 'n', since: T0 + 2 * HOUR, until: undefined }],
      }));
    const sim = await overnight({ catchUp: 'all', catchUpWindowMs: 24 * HOUR }, paused);
    expect(called(sim)).toEqual([]);
    await sim.control('hourly', (control) => ({
      ...control,
      pauses: control.pauses.map((pause) => ({ ...pause, until: sim.clock.now() })),
    }));
    await sim.clock.advance(5 * MINUTE);
    expect(called(sim)).toEqual(['01:00 catchUp']);
  });

  it('runs what is due then, where that is still the oldest due time', async () => {
    const sim = await overnight({ catchUp: 'all', catchUpWindowMs: 24 * HOUR }, async () => undefined);
    expect(called(sim)).toEqual(
      ['01', '02', '03', '04', '05', '06', '07', '08', '09'].map((hour) => `${hour}:00 catchUp`),
    );
  });
});
