import { describe, expect, it } from 'vitest';
import { jobSpec } from '../support/job';
import { simulation } from '../support/simulation';

const SECOND = 1_000;
const MINUTE = 60_000;

describe('a tick whose instance is shut down', () => {
  it('ends at once where it waits for its next sweep: the host would hold its timer lock until it answers', async () => {
    const sim = simulation({ jobs: [jobSpec('a', '@hourly')], sweepIntervalMs: 5 * SECOND });
    await sim.clock.advance(MINUTE);
    const [instance] = sim.instances;
    expect(instance?.coordinator.ticks.size).toBe(1);
    const drained = instance?.drain();
    await sim.clock.advance(200);
    await drained;
    expect(instance?.coordinator.ticks.size).toBe(0);
  });

  it('ends at once where it waits for the proof of its task hub', async () => {
    const sim = simulation({ jobs: [jobSpec('a', '@hourly')], deployments: 0 });
    const instance = sim.startInstance('d1');
    instance.hubDead = true;
    await sim.clock.advance(MINUTE);
    expect(instance.coordinator.ticks.size).toBe(1);
    const drained = instance.drain();
    await sim.clock.advance(200);
    await drained;
    expect(instance.coordinator.ticks.size).toBe(0);
  });

  it('is not waited for where none goes on', async () => {
    const sim = simulation({ jobs: [jobSpec('a', '@hourly')] });
    await sim.clock.advance(MINUTE + 5 * SECOND);
    const [instance] = sim.instances;
    expect(instance?.coordinator.ticks.size).toBe(0);
    await instance?.drain();
  });
});

describe('a host that takes orchestrations and runs none, as one does that is being shut down', () => {
  it('is given no more once a hand-over is late: the others run what is due on time', async () => {
    const jobs = Array.from({ length: 30 }, (_, index) =>
      jobSpec(`a${String(index)}`, `${String(index * 2)} * * * * *`),
    );
    const sim = simulation({ jobs, deployments: 2 });
    await sim.clock.advance(5 * MINUTE);
    const incumbent = (await sim.row('a0')).incumbent;
    const ending = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (ending === undefined) throw new Error('nobody has won');
    sim.calls.length = 0;
    ending.hubDead = true;
    await sim.clock.advance(MINUTE);
    const late = sim.calls.filter(({ at, scheduledFor }) => at - scheduledFor > SECOND);
    expect(sim.calls.length).toBeGreaterThanOrEqual(30);
    // What was handed over in the first seconds waits for its lease to end.
    expect(late.length).toBeGreaterThan(0);
    expect(late.length).toBeLessThanOrEqual(5);
  });
});
