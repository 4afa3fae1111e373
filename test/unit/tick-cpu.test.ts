import { describe, expect, it } from 'vitest';
import { calibration } from '../support/cpu';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

describe('10,000 jobs of which nothing is due', () => {
  it('cost a tick less CPU than writing and reading them as JSON three times', { timeout: 60_000 }, async () => {
    const jobs = Array.from({ length: 10_000 }, (_, index) => jobSpec(`job-${String(index)}`, '0 12 * * *'));
    const sim = rivalTicks({ jobs, sweepIntervalMs: 600_000 });
    await sim.clock.advance(60_000);
    const [instance] = sim.instances;
    instance?.calls.clear();
    const before = process.cpuUsage();
    const ticks = 8;
    await sim.clock.advance(ticks * 15_000);
    const { user, system } = process.cpuUsage(before);
    expect(instance?.calls.size).toBe(0);
    const once = calibration();
    const each = (user + system) / 1000 / ticks;
    console.log(`a tick over 10,000 idle jobs: ${each.toFixed(2)} ms of CPU; as JSON once: ${once.toFixed(2)} ms`);
    expect(each / once).toBeLessThan(3);
  });
});
