import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { giveBackAll } from '../../src/coordinator/drain';
import { StoreUnavailableError } from '../../src/lease/store';
import { listedRow } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type SimulationOptions, rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('a tick whose instance is shut down', () => {
  it('ends at once where it waits for its next sweep: the host would hold its timer lock until it answers', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], sweepIntervalMs: 5 * SECOND });
    await sim.clock.advance(MINUTE);
    const [instance] = sim.instances;
    expect(instance?.coordinator.ticks.size).toBe(1);
    const drained = instance?.drain();
    await sim.clock.advance(200);
    await drained;
    expect(instance?.coordinator.ticks.size).toBe(0);
  });

  it('ends at once where it waits for the proof of its task hub', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], deployments: 0 });
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
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
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
    const sim = rivalTicks({ jobs, deployments: 2 });
    await sim.clock.advance(5 * MINUTE);
    const incumbent = (await sim.row('a0')).incumbent;
    const ending = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (ending === undefined) throw new Error('nobody has won');
    sim.calls.length = 0;
    ending.hubDead = true;
    await sim.clock.advance(MINUTE);
    const late = sim.calls.filter(({ at, scheduledFor }) => at - scheduledFor > SECOND);
    expect(sim.calls.length).toBeGreaterThanOrEqual(30);
    // What was handed over in the first seconds is given back when it is late.
    expect(late.length).toBeLessThanOrEqual(5);
    expect(Math.max(...sim.calls.map(({ at, scheduledFor }) => at - scheduledFor))).toBeLessThan(15 * SECOND);
  });

  it.each([2, 5, 10])('keeps a job due each %i s from the others for much less than its lease', async (period) => {
    const spec = jobSpec('a', `@every ${String(period)}s`, { leaseMs: 60_000 });
    const sim = rivalTicks({ jobs: [spec], deployments: 2 });
    await sim.clock.advance(5 * MINUTE);
    const { incumbent } = await sim.row('a');
    const ending = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (ending === undefined) throw new Error('nobody has won');
    sim.calls.length = 0;
    ending.hubDead = true;
    await sim.clock.advance(MINUTE);
    const starts = sim.calls.map(({ at }) => at);
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(15 * SECOND + period * SECOND);
    expect(sim.calls.every(({ deployment }) => deployment !== incumbent)).toBe(true);
  });

  it('gives back at its end what nobody has claimed: the others go on at once', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 20s', { leaseMs: 60_000 })], deployments: 2 });
    await sim.clock.advance(5 * MINUTE);
    const { incumbent } = await sim.row('a');
    const ending = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (ending === undefined) throw new Error('nobody has won');
    ending.hubDead = true;
    // Claimed ahead of 05:20.
    await sim.clock.advance(16 * SECOND);
    expect((await listedRow(sim, 'a' as JobName)).lease).toBe('leased');
    sim.calls.length = 0;
    const drained = ending.drain();
    await sim.clock.advance(200);
    await drained;
    ending.kill();
    await sim.clock.advance(5 * SECOND);
    expect(sim.calls).toMatchObject([{ scheduledFor: T0 + 5 * MINUTE + 20 * SECOND }]);
    expect(sim.calls.map(({ at, scheduledFor }) => at - scheduledFor)).toEqual([0]);
  });
});

describe('a host that ends while nothing but its hand-overs is left', () => {
  /** After SIGTERM, its hub takes what its tick hands over for 05:20, and runs none of it. The tick then ends. */
  async function terminated(latencyMs: NonNullable<SimulationOptions['latencyMs']>) {
    const spec = jobSpec('a', '@every 20s', { leaseMs: 60_000 });
    const sim = rivalTicks({ jobs: [spec], deployments: 2, latencyMs });
    await sim.clock.advance(5 * MINUTE);
    const { incumbent } = await sim.row('a');
    const ending = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (ending === undefined) throw new Error('nobody has won');
    ending.hubDead = true;
    await sim.clock.advance(15_500);
    return { sim, ending };
  }

  it('sends their releases before its process ends with its shutdown hook', async () => {
    const { sim, ending } = await terminated(40);
    const { ticks, running, handOvers } = ending.coordinator;
    expect([ticks.size, running.size, handOvers.count]).toEqual([0, 0, 1]);
    expect((await listedRow(sim, 'a' as JobName)).lease).toBe('leased');
    sim.calls.length = 0;
    // Only now comes `appTerminate`, and the worker exits as soon as it has returned.
    void ending.drain().then(() => {
      ending.kill();
    });
    await sim.clock.advance(8 * SECOND);
    expect(ending.dead).toBe(true);
    expect(sim.calls.map(({ at, scheduledFor }) => [at - scheduledFor, scheduledFor])).toEqual([
      [0, T0 + 5 * MINUTE + 20 * SECOND],
    ]);
  });

  it('waits for a release that is under way as its end begins', async () => {
    const { sim, ending } = await terminated((call) => (call === 'release' ? SECOND : 0));
    void giveBackAll(ending.coordinator);
    const { handOvers } = ending.coordinator;
    expect([handOvers.count, handOvers.releases.size]).toEqual([0, 1]);
    void ending.drain().then(() => {
      ending.kill();
    });
    sim.calls.length = 0;
    await sim.clock.advance(8 * SECOND);
    expect(ending.dead).toBe(true);
    expect(sim.calls.map(({ at, scheduledFor }) => [at - scheduledFor, scheduledFor])).toEqual([
      [0, T0 + 5 * MINUTE + 20 * SECOND],
    ]);
  });
});

describe('a host in drain mode: its timer stops, its hub takes what the last tick hands over, its worker hears nothing', () => {
  /** Two deployments, of which the incumbent of job "a" is drained. */
  async function drained(schedule: string) {
    const sim = rivalTicks({ jobs: [jobSpec('a', schedule, { leaseMs: 60_000 })], deployments: 2, latencyMs: 20 });
    await sim.clock.advance(5 * MINUTE);
    const { incumbent } = await sim.row('a');
    const drains = sim.instances.find(({ deployment }) => deployment === incumbent);
    if (drains === undefined) throw new Error('nobody has won');
    // In its tick of :10.
    await sim.clock.advance(12 * SECOND);
    drains.hubDead = true;
    drains.timerStopped = true;
    sim.calls.length = 0;
    return { sim, drains };
  }

  it('gives a hand-over back by itself, so that the others run it on time', async () => {
    const { sim, drains } = await drained('@every 20s');
    await sim.clock.advance(3_500);
    const { ticks, handOvers } = drains.coordinator;
    expect([ticks.size, handOvers.count]).toEqual([0, 1]);
    await sim.clock.advance(MINUTE);
    expect(handOvers.count).toBe(0);
    expect(sim.calls.map(({ at, scheduledFor }) => [scheduledFor - T0, at - scheduledFor])).toEqual([
      [5 * MINUTE + 20 * SECOND, 0],
      [5 * MINUTE + 40 * SECOND, 0],
      [6 * MINUTE, 0],
    ]);
  });

  it.each([
    ['ends the process for an error of the program', new TypeError('a mistake'), ['TypeError: a mistake']],
    ['does not for storage that is away', new StoreUnavailableError('away'), []],
  ])('%s', async (_what, error, expected) => {
    const { sim, drains } = await drained('@every 20s');
    interceptStore(drains, 'release', () => () => Promise.reject(error));
    const others = process.listeners('unhandledRejection');
    const unhandled: string[] = [];
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));
    try {
      await sim.clock.advance(MINUTE);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const listener of others) process.on('unhandledRejection', listener);
    }
    expect(unhandled.slice(0, 1)).toEqual(expected);
  });

  it('keeps a job of each second from the others for less than 2 s', async () => {
    const { sim } = await drained('@every 1s');
    await sim.clock.advance(MINUTE);
    const starts = sim.calls.map(({ at }) => at);
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
    expect(starts.length).toBeGreaterThan(55);
    expect(Math.max(...gaps)).toBeLessThan(3 * SECOND);
    expect(Math.max(...sim.calls.map(({ at, scheduledFor }) => at - scheduledFor))).toBeLessThan(2 * SECOND);
  });
});

describe('a deployment whose attempts run in other processes', () => {
  it('sends no release of a hand-over before the next tick has looked: a run costs the same calls', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 30s')] });
    // The first instance ticks, and only the other one takes messages.
    const [ticks] = sim.instances;
    const runs = sim.startInstance('d1');
    if (ticks === undefined) throw new Error('nobody is there');
    runs.timerStopped = true;
    await sim.clock.advance(MINUTE);
    ticks.takesNothing = true;
    await sim.clock.advance(5 * MINUTE);
    ticks.calls.clear();
    sim.calls.length = 0;
    await sim.clock.advance(10 * MINUTE);
    expect(sim.calls).toHaveLength(20);
    expect([ticks.calls.get('acquire'), ticks.calls.get('release')]).toEqual([20, undefined]);
  });
});

describe('a late hand-over', () => {
  it('is given back once for a due time, which its deployment leaves to the others until its lease would have ended', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 5s', { leaseMs: 15_000, catchUp: 'all' })] });
    await sim.clock.advance(2 * MINUTE);
    const [only] = sim.instances;
    if (only === undefined) throw new Error('nobody is there');
    // Its probes come through, and no run does.
    only.hubLateMs = (input) => (input.kind === 'probe' ? 5 : HOUR);
    const [leases, releases]: [number[], number[]] = [[], []];
    interceptStore(only, 'acquire', (acquire) => async (...given) => {
      leases.push(sim.clock.now());
      return acquire(...given);
    });
    interceptStore(only, 'release', (release) => async (...given) => {
      releases.push(sim.clock.now());
      return release(...given);
    });
    await sim.clock.advance(2 * MINUTE);
    expect(releases).toHaveLength(1);
    const [first = Infinity, second = 0] = leases;
    expect(second - first).toBeGreaterThanOrEqual(15 * SECOND);
  });
});

describe('a task hub whose every message comes 12 s late', () => {
  it.each([20, 60])('still runs every due time of a job due each %i s, with no other deployment', async (period) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', `@every ${String(period)}s`)] });
    await sim.clock.advance(MINUTE);
    for (const instance of sim.instances) instance.hubLateMs = () => 12 * SECOND;
    sim.calls.length = 0;
    await sim.clock.advance(10 * MINUTE);
    const from = T0 + MINUTE + 20 * SECOND;
    const ran = sim.calls.map(({ scheduledFor }) => scheduledFor).filter((due) => due >= from);
    const wanted = Array.from(
      { length: ran.length },
      (_, index) => Math.ceil(from / SECOND / period) * period * SECOND + index * period * SECOND,
    );
    expect(ran).toEqual(wanted);
    expect(ran.length).toBeGreaterThanOrEqual(Math.floor((9 * 60) / period));
  });
});
