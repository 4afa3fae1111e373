import type { HttpRequest, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinator/coordinator';
import { Health } from '../../src/coordinator/health';
import { healthCheck, readiness } from '../../src/functions/health';
import { hubAdvice } from '../../src/functions/host-advice';
import { encodePresence } from '../../src/core/presence';
import { StoreUnavailableError } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;

/** The health function of an instance on which no tick runs, and what it asks of storage. */
function instance(env: Record<string, string> = { WEBSITE_HOSTNAME: 'app.example.net' }) {
  const sim = rivalTicks({ jobs: [jobSpec('a', '@daily')], deployments: 1 });
  const [started] = sim.instances;
  if (started === undefined) throw new Error('there is no instance');
  const state = { asked: 0, answers: true };
  const lines: unknown[] = [];
  const context = { log: (line: unknown) => void lines.push(line) } as InvocationContext;
  const list: Coordinator['store']['list'] = (options) => {
    state.asked += 1;
    return state.answers ? sim.store.list(options) : Promise.reject(new StoreUnavailableError('503'));
  };
  const prepare = (): Promise<void> => Promise.reject(new StoreUnavailableError('503'));
  const store = { ...started.coordinator.store, list, prepare };
  const coordinator: Coordinator = { ...started.coordinator, store, health: new Health() };
  const handler = healthCheck(
    readiness(() => [coordinator], env),
    coordinator.clock,
  );
  const status = async (): Promise<number | undefined> => {
    const answer = await handler({} as HttpRequest, context);
    return answer !== undefined && 'status' in answer ? answer.status : undefined;
  };
  return { sim, coordinator, state, lines, status };
}

describe('the health that anybody may ask for', () => {
  it('asks storage once in 30 s, however often it is asked', async () => {
    const { sim, state, status } = instance();
    expect(await Promise.all(Array.from({ length: 100 }, status))).toEqual(Array.from({ length: 100 }, () => 200));
    for (let second = 0; second < 29; second += 1) {
      await sim.clock.advance(SECOND);
      expect(await status()).toBe(200);
    }
    expect(state.asked).toBe(1);
    await sim.clock.advance(2 * SECOND);
    expect(await status()).toBe(200);
    expect(state.asked).toBe(2);
  });

  it('is not well without the address that Durable needs, since no tick can run', async () => {
    expect(await instance({}).status()).toBe(503);
    expect(await instance({ WEBSITE_HOSTNAME: '' }).status()).toBe(503);
    expect(hubAdvice({})).toMatchObject([{ path: 'WEBSITE_HOSTNAME', value: null }]);
    expect(hubAdvice({ WEBSITE_HOSTNAME: 'localhost:7071' })).toEqual([]);
  });

  it('logs a line a minute, with the number of calls, however often it is asked', async () => {
    const { sim, state, lines, status } = instance();
    await Promise.all(Array.from({ length: 100 }, status));
    state.answers = false;
    await sim.clock.advance(59 * SECOND);
    await status();
    expect(lines).toEqual(['health: healthy, calls since the line before: 1']);
    await sim.clock.advance(SECOND);
    await status();
    expect(lines.slice(1)).toEqual(['health: unhealthy, calls since the line before: 101']);
  });

  it('answers with what storage said at most 30 s ago, well or not', async () => {
    const { sim, state, status } = instance();
    expect(await status()).toBe(200);
    state.answers = false;
    await sim.clock.advance(31 * SECOND);
    expect(await status()).toBe(503);
    state.answers = true;
    await sim.clock.advance(20 * SECOND);
    expect(await status()).toBe(503);
    expect(state.asked).toBe(2);
    await sim.clock.advance(11 * SECOND);
    expect(await status()).toBe(200);
  });

  it('says at once that the instance is stopping, for which storage is not asked', async () => {
    const { coordinator, state, status } = instance();
    expect(await status()).toBe(200);
    coordinator.stopping = true;
    expect(await status()).toBe(503);
    expect(state.asked).toBe(1);
  });

  it('is not well once no instance of the app has ticked for two minutes, which another instance reports', async () => {
    const { sim, coordinator, status } = instance();
    const facts = { instance: 'x', version: '1.0.0', hubAccount: undefined, tickEveryMs: 15_000 };
    Object.assign(coordinator, { presence: facts });
    const ticked = async (): Promise<void> => {
      const { instance: name, version, tickEveryMs } = facts;
      const rest = {
        hub: undefined,
        revision: 0,
        jobs: 'h',
        skewMs: 0,
        rival: undefined,
        hubProven: true,
      };
      const presence = encodePresence({ instance: name, version, tickEveryMs, ...rest, tickedAt: sim.clock.now() });
      await sim.store.writePresence(coordinator.deployment, presence, undefined);
    };
    // It has just been started, and its first tick is still to come.
    expect(await status()).toBe(200);
    await sim.clock.advance(121 * SECOND);
    expect(await status()).toBe(503);
    await ticked();
    await sim.clock.advance(31 * SECOND);
    expect(await status()).toBe(200);
    await sim.clock.advance(121 * SECOND);
    expect(await status()).toBe(503);
    coordinator.tickedAt = coordinator.clock.monotonic();
    await sim.clock.advance(31 * SECOND);
    expect(await status()).toBe(200);
  });
});
