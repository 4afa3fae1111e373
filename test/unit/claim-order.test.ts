import { describe, expect, it } from 'vitest';
import { seeded } from '../simulation/faults/random';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DUE = T0 + HOUR;
const JOBS = 300;

/** The acquisitions of three late deployments, for jobs that none has run before. */
async function acquisitions(random: () => number): Promise<number> {
  const jobs = Array.from({ length: JOBS }, (_, index) => jobSpec(`job-${String(index)}`, '@hourly'));
  const sim = rivalTicks({ jobs, deployments: 3, latencyMs: 50, start: DUE - 2 * MINUTE, random });
  await sim.clock.advanceTo(DUE + 2 * MINUTE);
  expect(sim.calls).toHaveLength(JOBS);
  return sim.instances.reduce((sum, { calls }) => sum + (calls.get('acquire') ?? 0), 0);
}

describe('instances that claim the same burst', () => {
  it('acquire different jobs first, and seldom one in vain', async () => {
    const { next } = seeded(1);
    const inFileOrder = await acquisitions(() => 0.5);
    const inOwnOrder = await acquisitions(next);
    // Without either rule, each of the three acquires each job.
    expect(inFileOrder).toBeLessThan(2.5 * JOBS);
    expect(inOwnOrder).toBeLessThan(1.5 * JOBS);
    expect(inOwnOrder - JOBS).toBeLessThan((inFileOrder - JOBS) / 2);
  });
});
