import { describe, expect, it } from 'vitest';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

/** Three deployments, and a job that is due every minute. */
function contested(): RivalTicks {
  return rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 3 });
}

function instanceOf(sim: RivalTicks, deployment: string): Instance {
  const found = sim.instances.findLast((instance) => instance.deployment === deployment);
  if (found === undefined) throw new Error(`no ${deployment}`);
  return found;
}

async function incumbent(sim: RivalTicks): Promise<Instance> {
  return instanceOf(sim, (await sim.row('a')).incumbent ?? '');
}

/** Who won the last due times, newest last. */
function winners(sim: RivalTicks, last: number): string[] {
  return sim.calls.slice(-last).map(({ deployment }) => deployment);
}

/** Each due time so far was run once. */
function expectEachOnce(sim: RivalTicks): void {
  const due = sim.calls.map(({ scheduledFor }) => scheduledFor);
  expect(due).toEqual(due.map((_, index) => T0 + (index + 1) * MINUTE));
}

/** Numbers in [0, 1) from a seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Clocks and timers differ from one minute to the next, so that now one, now another deployment looks first. */
async function minutesThatDiffer(sim: RivalTicks, minutes: number, random: () => number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    for (const instance of sim.instances) instance.skewMs = Math.round(random() * 200 - 100);
    await sim.clock.advance(MINUTE);
  }
}

describe('the incumbent', () => {
  it('goes first, and wins as long as it is there', async () => {
    const sim = contested();
    await minutesThatDiffer(sim, 60, numbers(3));
    const first = sim.calls[0]?.deployment;
    expect(winners(sim, 60)).toEqual(Array(60).fill(first));
  });

  /** What befalls an incumbent, and how it is repaired. */
  const ills: readonly [string, (instance: Instance) => unknown, (sim: RivalTicks, instance: Instance) => void][] = [
    ['is shut down', (one) => one.drain(), (sim, { deployment }) => void sim.startInstance(deployment)],
    ['is killed', (one) => one.kill(), (sim, { deployment }) => void sim.startInstance(deployment)],
    ['stands still', (one) => one.pause(), (_sim, one) => one.wake()],
    ['has a clock that is late', (one) => (one.skewMs = -1_500), (_sim, one) => (one.skewMs = 0)],
    ['has a dead task hub', (one) => (one.hubDead = true), (_sim, one) => (one.hubDead = false)],
  ];
  it.each(ills)('that %s gives way to another, until each deployment has won', async (_, befall, mend) => {
    const sim = contested();
    await sim.clock.advance(3 * MINUTE);
    const won = new Set([(await incumbent(sim)).deployment]);
    const out: Instance[] = [];
    // Those who had their turn stay out, so that the one left must win: no one is shut out forever.
    while (won.size < 3) {
      const old = await incumbent(sim);
      befall(old);
      out.push(old);
      await sim.clock.advance(4 * MINUTE);
      const next = await incumbent(sim);
      expect(won).not.toContain(next.deployment);
      won.add(next.deployment);
      expect(winners(sim, 2)).toEqual(Array(2).fill(next.deployment));
    }
    // Whoever comes back does not take the job from who has it.
    const last = await incumbent(sim);
    for (const instance of out) mend(sim, instance);
    await sim.clock.advance(10 * MINUTE);
    expect(winners(sim, 8)).toEqual(Array(8).fill(last.deployment));
    expectEachOnce(sim);
  });
});

describe('a job without an incumbent', () => {
  it('is free to all: every deployment wins some', async () => {
    const jobs = Array.from({ length: 60 }, (_, index) =>
      jobSpec(`a${String(index)}`, `@at ${new Date(T0 + (index + 1) * MINUTE).toISOString()}`),
    );
    const sim = rivalTicks({ jobs, deployments: 3, latencyMs: 10 });
    await minutesThatDiffer(sim, 61, numbers(1));
    expect(sim.calls).toHaveLength(60);
    const wins = new Map(sim.instances.map(({ deployment }) => [deployment, 0]));
    for (const { deployment } of sim.calls) wins.set(deployment, (wins.get(deployment) ?? 0) + 1);
    for (const [deployment, count] of wins) expect(count, deployment).toBeGreaterThanOrEqual(5);
  });
});

describe('deployments that come and go', () => {
  it('all win, time and again, and leave no due time out', async () => {
    const sim = contested();
    const random = numbers(2);
    for (let round = 0; round < 60; round += 1) {
      await sim.clock.advance(3 * MINUTE);
      const { deployment } = await incumbent(sim);
      // A rolling deploy: who has the job is replaced, and comes back as a new instance.
      const drained = instanceOf(sim, deployment).drain();
      await sim.clock.advance(2_000 + Math.round(random() * 50_000));
      await drained;
      sim.startInstance(deployment);
    }
    const wins = new Map<string, number>();
    for (const { deployment } of sim.calls) wins.set(deployment, (wins.get(deployment) ?? 0) + 1);
    expect([...wins.keys()].toSorted()).toEqual(['d1', 'd2', 'd3']);
    for (const [deployment, count] of wins) expect(count, deployment).toBeGreaterThanOrEqual(10);
    expectEachOnce(sim);
  });
});
