import { describe, expect, it } from 'vitest';
import { Load } from '../../src/coordinator/health';
import { decodePresence } from '../../src/core/presence';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

/** Starts a run every second for that many seconds, and returns what has changed. */
function starts(load: Load, count: number, latenessMs: number, from: number): readonly unknown[] {
  const changes = Array.from({ length: count }, (_, index) => load.started(latenessMs, from + index * 1_000));
  return changes.filter((change) => change !== undefined);
}

describe('the load of a process', () => {
  it('lacks CPU time if most handlers are late and the event loop always has work, and is said once', () => {
    const load = new Load(() => 0.97);
    expect(starts(load, 60, 6_000, 0)).toEqual([{ shortOf: 'cpu', latenessMs: 6_000, writeMs: 0 }]);
    expect(load.shortOf(60_000)).toBe('cpu');
    expect(starts(load, 40, 100, 60_000)).toMatchObject([{ shortOf: undefined }]);
    expect(load.shortOf(100_000)).toBeUndefined();
  });

  it('lacks the answers of storage if writes take long and the event loop rests', () => {
    const load = new Load(() => 0.3);
    load.wrote(1_000);
    load.wrote(2_600);
    expect(starts(load, 20, 9_000, 0)).toEqual([{ shortOf: 'storage', latenessMs: 9_000, writeMs: 1_800 }]);
  });

  it('is told from runs that are late for a reason of their own', () => {
    expect(starts(new Load(() => 0.3), 60, 20_000, 0)).toEqual([]);
    const seldom = new Load(() => 1);
    expect([0, 30_000, 60_000, 90_000, 120_000].map((at) => seldom.started(20_000, at))).not.toContainEqual(
      expect.anything(),
    );
  });

  it('counts what one slow job in the middle of many punctual ones does as none', () => {
    const load = new Load(() => 1);
    const changes = Array.from({ length: 100 }, (_, index) => load.started(index % 3 === 0 ? 60_000 : 0, index * 500));
    expect(changes.filter((change) => change !== undefined)).toEqual([]);
  });

  it('is no longer known once nothing starts', () => {
    const load = new Load(() => 1);
    starts(load, 30, 6_000, 0);
    expect(load.shortOf(60_000)).toBe('cpu');
    expect(load.shortOf(100_000)).toBeUndefined();
  });

  it('reaches events and the presence of the deployment, and its end does', async () => {
    const jobs = Array.from({ length: 20 }, (_, index) => jobSpec(`job-${String(index)}`, '* * * * * *'));
    let latencyMs = 3_000;
    const sim = rivalTicks({ jobs, presences: true, latencyMs: () => latencyMs });
    const told = (): readonly unknown[] =>
      sim.events.filter(({ event }) => event === 'overloaded' || event === 'onTime').map(({ event }) => event);
    const shortOf = async (): Promise<unknown> => {
      const { presences } = await sim.store.listPresences();
      const [listed] = presences.values();
      return listed && decodePresence(listed.metadata).shortOf;
    };
    await sim.clock.advance(200_000);
    expect(told()).toEqual(['overloaded']);
    expect(sim.events.find(({ event }) => event === 'overloaded')?.reason).toMatch(
      /a write to storage at .* takes 3000 ms/,
    );
    expect(await shortOf()).toBe('storage');
    latencyMs = 0;
    await sim.clock.advance(200_000);
    expect(told()).toEqual(['overloaded', 'onTime']);
    expect(await shortOf()).toBeUndefined();
  });
});
