import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { runIdOf } from '../../src/core/key';
import { jobSpec } from '../support/job';
import { aborted } from '../support/election';
import { type Instance, type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const TICK = 15 * SECOND;
const LEASE = 30 * SECOND;
/** From the loss of a leader to the next one's start: its lease, one tick, and 2 s. */
const TAKEN_OVER_WITHIN = LEASE + TICK + 2 * SECOND;

/**
 * A leader job on three deployments. Its handler obeys its signal, and says who leads and how often two did at once.
 */
function led(options: Partial<SimulationOptions> = {}) {
  const active = new Set<Instance>();
  const watch = { most: 0 };
  const sim = rivalTicks({
    jobs: [jobSpec('a', '@always', { leaseMs: LEASE })],
    deployments: 3,
    handler: async (context, on) => {
      active.add(on);
      watch.most = Math.max(watch.most, active.size);
      await aborted(context.signal);
      active.delete(on);
      throw context.signal.reason as Error;
    },
    ...options,
  });
  const leader = async (): Promise<Instance> => {
    for (let waited = 0; active.size !== 1 && waited < TAKEN_OVER_WITHIN; waited += 100) await sim.clock.advance(100);
    const [one] = active;
    if (one === undefined) throw new Error('nobody leads');
    return one;
  };
  return { sim, active, watch, leader };
}

async function endsOf(sim: RivalTicks): Promise<(string | null | undefined)[][]> {
  const records = await sim.records('a');
  const final = records.filter(({ state }) => state === 'final');
  return final.map((record) => [record.outcome, record.reason]).toReversed();
}

/** How long until the next handler call after the last one there was. */
async function untilNextCall(sim: RivalTicks, withinMs: number): Promise<number> {
  const before = sim.calls.length;
  const from = sim.clock.now();
  while (sim.calls.length === before && sim.clock.now() - from <= withinMs) await sim.clock.advance(50);
  expect(sim.calls.length).toBeGreaterThan(before);
  return sim.clock.now() - from;
}

describe('the instance that runs a leader job', () => {
  it('is one anywhere, begun at the first tick, in one term as long as nothing ends it', async () => {
    const { sim, watch, leader } = led();
    const first = await leader();
    await sim.clock.advance(25 * MINUTE);
    expect(await leader()).toBe(first);
    expect(sim.calls).toHaveLength(1);
    expect(sim.calls[0]).toMatchObject({ attempt: 1, token: 1, trigger: 'schedule' });
    expect(watch.most).toBe(1);
  });

  it('that is killed is followed by another within lease and one tick, in the same term', async () => {
    const { sim, active, leader } = led();
    const first = await leader();
    await sim.clock.advance(3 * MINUTE + 7_321);
    first.kill();
    active.delete(first);
    expect(await untilNextCall(sim, TAKEN_OVER_WITHIN)).toBeLessThanOrEqual(TAKEN_OVER_WITHIN);
    expect(await leader()).not.toBe(first);
    const [began, again] = sim.calls;
    expect(again).toMatchObject({ trigger: 'takeOver', attempt: 2, token: 2, scheduledFor: began?.scheduledFor });
  });

  it('goes on whoever dies, also when a term has used up its attempts', async () => {
    const { sim, active, leader } = led();
    for (let deaths = 1; deaths <= 7; deaths += 1) {
      const instance = await leader();
      await sim.clock.advance(MINUTE);
      instance.kill();
      active.delete(instance);
      sim.startInstance(instance.deployment);
      // The third death fails the term, and the next one waits for its back-off.
      await untilNextCall(sim, 2 * TAKEN_OVER_WITHIN);
    }
    expect(await endsOf(sim)).toEqual([
      ['failed', 'holderLost'],
      ['failed', 'holderLost'],
    ]);
    const tokens = sim.calls.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
  });

  it('that is shut down hands over within one tick, however long the lease', async () => {
    const { sim, leader } = led({ jobs: [jobSpec('a', '@always', { leaseMs: 60 * SECOND })] });
    const first = await leader();
    await sim.clock.advance(MINUTE + 3_210);
    const drained = first.drain();
    expect(await untilNextCall(sim, TICK + 2 * SECOND)).toBeLessThanOrEqual(TICK + 2 * SECOND);
    await drained;
    expect(await leader()).not.toBe(first);
    expect(sim.calls[1]).toMatchObject({ attempt: 2, trigger: 'schedule' });
    expect(await sim.row('a')).toMatchObject({ uncountedAttempts: 1 });
    // Draining is not an attempt: it can be repeated forever.
    for (let times = 0; times < 5; times += 1) {
      const instance = await leader();
      const stopped = instance.drain();
      sim.startInstance(instance.deployment);
      await untilNextCall(sim, TICK + 2 * SECOND);
      await stopped;
    }
    expect(await endsOf(sim)).toEqual([]);
  });

  it('that stands still past its lease is followed by another, and told when it wakes', async () => {
    const { sim, watch, active, leader } = led();
    const first = await leader();
    first.pause();
    active.delete(first);
    await untilNextCall(sim, TAKEN_OVER_WITHIN);
    first.wake();
    await sim.clock.advance(200);
    expect(watch.most).toBe(1);
    expect(sim.events.filter(({ event }) => event === 'superseded')).toHaveLength(1);
    await sim.clock.advance(5 * MINUTE);
    expect(await leader()).not.toBe(first);
    expect(sim.calls).toHaveLength(2);
  });
});

describe('a term', () => {
  it.each([
    ['obeys its signal', (signal: AbortSignal) => aborted(signal)],
    ['ignores its signal', () => new Promise(() => undefined)],
  ])('ends before functionTimeout, with a handler that %s, and the next one follows', async (_, wait) => {
    const started: number[] = [];
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@always')],
      deployments: 2,
      handler: (context) => {
        started.push(sim.clock.now());
        return wait(context.signal);
      },
    });
    await sim.clock.advance(100 * MINUTE);
    const gaps = started.slice(1).map((at, index) => at - (started[index] ?? 0));
    expect(started.length).toBe(4);
    // The host would end it, and its neighbours, after 30 minutes.
    for (const gap of gaps) {
      expect(gap).toBeLessThan(30 * MINUTE);
      expect(gap).toBeGreaterThan(29 * MINUTE);
    }
    expect((await endsOf(sim)).map((end) => end.join(' '))).toEqual(Array(3).fill('succeeded termEnded'));
  });

  it('that ends early is followed by the next one within one tick, one record each', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@always')],
      deployments: 3,
      handler: () => sleep(sim.clock, 40 * SECOND),
    });
    await sim.clock.advance(10 * MINUTE);
    const gaps = sim.calls.slice(1).map(({ at }, index) => at - (sim.calls[index]?.at ?? 0));
    for (const gap of gaps) expect(gap).toBeLessThanOrEqual(40 * SECOND + TICK + 2 * SECOND);
    const records = await sim.records('a');
    expect(new Set(records.map(({ scheduledFor }) => scheduledFor)).size).toBe(records.length);
    expect(records.length).toBe(sim.calls.length - 1);
    expect(await endsOf(sim)).toEqual(records.map(() => ['succeeded', 'completed']));
  });

  it('that failed is not retried, and the next one waits for the back-off, which a good one ends', async () => {
    let failing = true;
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@always')],
      deployments: 3,
      handler: () => {
        if (failing) throw new Error('it does not work');
      },
    });
    await sim.clock.advance(20 * MINUTE);
    expect(new Set(sim.calls.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    expect(new Set((await endsOf(sim)).map(([outcome]) => outcome))).toEqual(new Set(['failed']));
    const gaps = sim.calls.slice(1).map(({ at }, index) => at - (sim.calls[index]?.at ?? 0));
    // 10 s, doubled each time up to 5 minutes, and at most one tick more.
    for (const [index, backoff] of [10, 20, 40, 80, 160, 300, 300].entries()) {
      if (index >= gaps.length) break;
      expect(gaps[index]).toBeGreaterThanOrEqual(backoff * SECOND);
      expect(gaps[index]).toBeLessThanOrEqual(backoff * SECOND + TICK + 2 * SECOND);
    }
    expect(gaps.length).toBeGreaterThanOrEqual(6);
    failing = false;
    await sim.clock.advance(6 * MINUTE);
    const before = sim.calls.length;
    await sim.clock.advance(MINUTE);
    expect(sim.calls.length - before).toBeGreaterThanOrEqual(3);
    expect(await sim.row('a')).toMatchObject({ failures: 0 });
  });

  it('is not begun while the job is paused, and not ended by a pause', async () => {
    const { sim, active, leader } = led();
    const first = await leader();
    const pause = { by: 'me', note: 'not now', since: sim.clock.now(), until: undefined };
    await sim.control('a', (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advance(2 * MINUTE);
    expect([...active]).toEqual([first]);
    const cancel = runIdOf('a' as JobName, (await sim.row('a')).run?.key ?? '');
    await sim.control('a', (control) => ({ ...control, cancel }));
    await sim.clock.advance(2 * MINUTE);
    expect(await endsOf(sim)).toEqual([['cancelled', 'cancelRequested']]);
    expect(active.size).toBe(0);
    await sim.control('a', (control) => ({
      ...control,
      pauses: control.pauses.map((one) => ({ ...one, until: sim.clock.now() })),
    }));
    await untilNextCall(sim, TICK + 10 * SECOND);
    await leader();
  });
});
