import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { JobSpec } from '../../src/core/job';
import { runIdOf } from '../../src/core/key';
import { BODY_BYTES } from '../../src/stores/limits';
import { jobSpec } from '../support/job';
import type { PretendOrchestration } from '../support/app-hub';
import { ORCHESTRATION, type Job, type Work } from '../support/job-kinds';
import { type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function start(job: Partial<Job> = {}, spec: Partial<JobSpec> = {}, more: Partial<SimulationOptions> = {}) {
  const works: Work[] = [];
  const sim = rivalTicks({
    jobs: [jobSpec('close', '0 1 1 1 *', { leaseMs: 15_000, graceMs: 1_000, ...spec })],
    fanOut: { close: ORCHESTRATION.handler({ name: 'close', lastsMs: 10 * MINUTE, ...job }, works) },
    start: Date.UTC(2026, 0, 1, 0, 59),
    ...more,
  });
  return { sim, works };
}

describe('the orchestrations of a task hub', () => {
  it('are ended by a process that has never seen their runs wait', async () => {
    const { sim, works } = start({}, { overlap: 'skip' });
    await sim.clock.advance(2 * MINUTE);
    sim.instances[0]?.kill();
    sim.startInstance('d2');
    await sim.clock.advance(3 * MINUTE);
    expect(works.map(({ from, isEnded }) => [from.deployment, isEnded])).toEqual([
      ['d1', false],
      ['d2', false],
    ]);
    sim.startInstance('d1');
    await sim.clock.advance(MINUTE + 15 * SECOND);
    expect(works.map((work) => work.isEnded)).toEqual([true, false]);
  });

  it('are ended where the hub begins one after its run is over, and do nothing before', async () => {
    const { sim, works } = start();
    for (const instance of sim.instances) instance.beginsLateMs = 5 * MINUTE;
    await sim.clock.advance(2 * MINUTE);
    const { run } = await sim.row('close');
    const cancel = runIdOf('close' as JobName, run?.key ?? '');
    await sim.control('close', (control) => ({ ...control, cancel }));
    await sim.clock.advance(3 * MINUTE);
    expect((await sim.records('close')).map(({ outcome }) => outcome)).toEqual(['cancelled']);
    expect(works).toEqual([]);
    await sim.clock.advance(2 * MINUTE + 15 * SECOND);
    expect(works.map(({ isEnded, trusts }) => [isEnded, trusts?.()])).toEqual([[true, false]]);
    expect(works[0]?.refusals).toBeGreaterThan(0);
  });

  it.each([1, 5])(
    'are listed once for all runs that wait, and once a minute in the hour after a claim: %i jobs',
    async (count) => {
      const names = Array.from({ length: count }, (_, index) => `job${String(index)}`);
      const job = { lastsMs: 4 * MINUTE };
      const { sim } = start(
        {},
        {},
        {
          jobs: names.map((name) => jobSpec(name, '0 1 1 1 *', { leaseMs: 15_000 })),
          fanOut: Object.fromEntries(names.map((name) => [name, ORCHESTRATION.handler({ ...job, name }, [])])),
        },
      );
      const listings = async (ms: number): Promise<number> => {
        const before = sim.hubs.listings;
        await sim.clock.advance(ms);
        return sim.hubs.listings - before;
      };
      await sim.clock.advance(90 * SECOND);
      expect(await listings(3 * MINUTE)).toBeLessThanOrEqual((3 * MINUTE) / (10 * SECOND));
      await sim.clock.advance(2 * MINUTE);
      expect(await listings(10 * MINUTE)).toBeLessThanOrEqual(10);
      await sim.clock.advance(60 * MINUTE);
      expect(await listings(30 * MINUTE)).toBe(0);
    },
  );

  it('are not listed in an app without a job that is one', async () => {
    const { sim } = start({}, {}, { fanOut: {} });
    await sim.clock.advance(20 * MINUTE);
    expect(sim.hubs.listings).toBe(0);
  });
});

describe('the result of an orchestration', () => {
  it('is the beginning of its text, however large it is', async () => {
    const handler: PretendOrchestration = {
      ...{ orchestrator: 'close', takeOverAfterMs: MINUTE },
      orchestrate: async () => 'x'.repeat(BODY_BYTES),
    };
    const { sim } = start({}, {}, { fanOut: { close: () => handler } });
    await sim.clock.advance(4 * MINUTE);
    const [record] = await sim.records('close');
    expect(record?.attempts.map(({ outcome }) => outcome)).toEqual(['planned', 'succeeded']);
    expect(record?.result).toMatch(/^"x{20000}/);
  });
});
