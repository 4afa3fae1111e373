import { describe, expect, it } from 'vitest';
import type { Poked } from '../../src/core/poked';
import { StoreUnavailableError } from '../../src/lease/store';
import { decodePresence, encodePresence, type Presence } from '../../src/core/presence';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';
import { createTicker } from '../../src/coordinator/tick/tick';
import { quietHub, withoutTicks } from '../support/by-hand';
import { cordonDeployment } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

/** Pokes, and lets time pass until there is an answer. */
async function poke(sim: RivalTicks, index = 0): Promise<Poked | undefined> {
  const instance = sim.instances[index];
  if (instance === undefined) throw new Error('there is no such instance');
  let answer: { readonly poked: Poked | undefined } | undefined;
  let error: { readonly cause: unknown } | undefined;
  instance.poke().then(
    (poked) => (answer = { poked }),
    (cause: unknown) => (error = { cause }),
  );
  for (let waited = 0; waited < 40_000 && answer === undefined && error === undefined; waited += 100) {
    await sim.clock.advance(100);
  }
  if (error !== undefined) throw error.cause;
  if (answer === undefined) throw new Error('there was no answer within 40 s');
  return answer.poked;
}

describe('a poke', () => {
  it('runs what is due where the timers are dead, each due time once', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], timersDead: true, start: T0 });
    expect(await poke(sim)).toMatchObject({ at: T0, due: 0, handedOver: 0, hubProven: true, cordoned: false });
    for (let minute = 0; minute < 5; minute += 1) {
      await sim.clock.advance(MINUTE);
      expect(await poke(sim)).toMatchObject({ due: 1, handedOver: 1 });
      expect((await poke(sim))?.at).toBeLessThan(sim.clock.now());
    }
    expect(sim.calls.map(({ scheduledFor }) => (scheduledFor - T0) / MINUTE)).toEqual([1, 2, 3, 4, 5]);
  });

  it('waits for what comes due within the next seconds, and answers soon', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], timersDead: true, start: T0 });
    await poke(sim);
    await sim.clock.advance(T0 + 52_000 - sim.clock.now());
    expect(await poke(sim)).toMatchObject({ due: 1, handedOver: 1 });
    expect(sim.clock.now()).toBeLessThan(T0 + 62_000);
    await sim.clock.advance(10_000);
    expect(sim.calls).toMatchObject([{ at: T0 + MINUTE }]);
  });

  it('changes nothing beside timers that tick: no due time runs twice, and none is late', async () => {
    const jobs = [jobSpec('a', '@every 10s'), jobSpec('b', '* * * * *')];
    const sim = rivalTicks({ jobs, deployments: 2, start: T0, latencyMs: 20 });
    for (let count = 0; count < 60; count += 1) {
      void sim.instances[count % 2]?.poke();
      await sim.clock.advance(5_100);
    }
    const times = sim.calls.map(({ job, scheduledFor }) => `${job} ${scheduledFor}`);
    expect(new Set(times).size).toBe(times.length);
    expect(times.length).toBeGreaterThan(30);
    for (const { at, scheduledFor } of sim.calls) expect(at - scheduledFor).toBeLessThan(1_000);
  });

  it('sweeps, also if it comes while a tick of the timer is listing', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], start: T0, latencyMs: 400 });
    const [instance] = sim.instances;
    // The first tick: 400 ms each for the container, the first listing and the row.
    await sim.clock.advance(10_100);
    await sim.clock.advance(500);
    const before = instance?.calls.get('list') ?? 0;
    const answer = instance?.poke();
    await sim.clock.advance(8_000);
    await answer;
    expect(before).toBeGreaterThan(0);
    expect((instance?.calls.get('list') ?? 0) - before).toBeGreaterThanOrEqual(1);
  });

  it('is one tick for all that come at once, and at most one in five seconds', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], timersDead: true, start: T0, latencyMs: 50 });
    const [instance] = sim.instances;
    const together = Promise.all([instance?.poke(), instance?.poke(), instance?.poke()]);
    await sim.clock.advance(4_000);
    const [one, other] = await together;
    expect(one).toBe(other);
    const lists = instance?.calls.get('list');
    const again = instance?.poke();
    await sim.clock.advance(500);
    expect(await again).toBe(one);
    expect(instance?.calls.get('list')).toBe(lists);
    await sim.clock.advance(1_000);
    const next = instance?.poke();
    await sim.clock.advance(4_000);
    expect((await next)?.at).toBeGreaterThan(T0 + 5_000);
    expect(instance?.calls.get('list')).toBe((lists ?? 0) + 1);
  });

  it('claims nothing before its task hub is proven, and says so', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], timersDead: true, start: T0 });
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    instance.hubDead = true;
    await sim.clock.advance(30_000);
    await poke(sim);
    await sim.clock.advance(MINUTE);
    expect(await poke(sim)).toMatchObject({ due: 1, handedOver: 0, hubProven: false });
    expect(sim.calls).toEqual([]);
  });

  it('claims nothing new where the deployment is cordoned', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], timersDead: true, start: T0 });
    await poke(sim);
    await sim.store.writePresence('d1', encodePresence(presence('other', sim.clock.now())), undefined);
    await cordonDeployment(sim.store, 'd1', { by: 'ann', note: 'a test' });
    await sim.clock.advance(MINUTE);
    expect(await poke(sim)).toMatchObject({ due: 1, handedOver: 0, cordoned: true });
  });

  it('rejects where storage does not answer, and ends', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], start: T0 });
    const { coordinator, report } = await withoutTicks(sim);
    const store = { ...coordinator.store, list: () => Promise.reject(new StoreUnavailableError('503')) };
    const ticker = createTicker({ ...coordinator, store });
    const answer = expect(ticker.poke(quietHub, report)).rejects.toThrow('503');
    await sim.clock.advance(30_000);
    await answer;
  });

  it('has no answer where the process is being shut down', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], timersDead: true, start: T0 });
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    void instance.drain();
    await sim.clock.advance(1_000);
    expect(await poke(sim)).toBeUndefined();
  });
});

const presence = (instance: string, tickedAt: number): Presence => ({
  ...{
    instance,
    hub: 'hub',
    version: '1',
    revision: 0,
    jobs: 'x',
    tickEveryMs: 15_000,
    skewMs: 0,
    rival: undefined,
  },
  ...{ tickedAt, hubProven: true },
});

describe('the presence of a deployment that is poked', () => {
  async function pokedWith(stored: Presence | undefined, timerFirst = false): Promise<Presence | undefined> {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@daily')], timersDead: true, start: T0 });
    const on = await withoutTicks(sim);
    const facts = { instance: 'poked', version: '2', hubAccount: undefined, tickEveryMs: 15_000 };
    const ticker = createTicker({ ...on.coordinator, presence: facts });
    if (timerFirst) {
      const tick = ticker.tick(quietHub, (after) => after + 15_000, on.report);
      await sim.clock.advance(16_000);
      await tick;
    }
    const name = on.coordinator.deployment;
    if (stored !== undefined) await sim.store.writePresence(name, encodePresence(stored), undefined);
    const answer = ticker.poke(quietHub, on.report);
    await sim.clock.advance(10_000);
    await answer;
    const found = (await sim.store.listPresences()).presences.get(name);
    return found && decodePresence(found.metadata);
  }

  it('is written where its timer has been silent', async () => {
    expect(await pokedWith(undefined)).toMatchObject({ instance: 'poked', rival: undefined });
    expect(await pokedWith(presence('timer', T0 - 7 * MINUTE))).toMatchObject({ instance: 'poked', rival: undefined });
  });

  it("is left to the timer's process where that ticks: it would take the poke for a second app", async () => {
    expect(await pokedWith(presence('timer', T0 - MINUTE))).toMatchObject({ instance: 'timer' });
    expect(await pokedWith(presence('timer', T0 - 60 * MINUTE), true)).toMatchObject({ instance: 'timer' });
  });
});

describe('a poke over HTTP', () => {
  it('answers what the tick saw, to a key in the path that the platform lets through', async () => {
    const { send } = manageBench({ jobs: [], start: T0 });
    const answer = await send({ method: 'POST', path: 'keyed/poke', as: 'operator' });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        ...{ at: '2026-01-01T00:00:00.000Z', deployment: 'bench', due: 2, handedOver: 1 },
        ...{ hubProven: true, cordoned: false },
      },
    });
    expect((await send({ method: 'POST', path: 'poke', as: 'viewer' })).status).toBe(403);
  });

  it('is 503 where storage does not answer, or the instance is being shut down', async () => {
    const away = manageBench({ jobs: [] }, { poke: () => Promise.reject(new StoreUnavailableError('x')) });
    const stopping = manageBench({ jobs: [] }, { poke: () => Promise.resolve(undefined) });
    const sent = { method: 'POST', path: 'poke', as: 'operator' } as const;
    expect((await away.send(sent)).json).toMatchObject({ status: 503, place: 'storage' });
    expect((await stopping.send(sent)).json).toMatchObject({ status: 503, code: 'Stopping' });
    expect(away.bugs).toEqual([]);
  });
});
