import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CoordinatorEvent } from '../../src/core/event';
import type { JobName } from '../../src/core/brand';
import type { Coordinator, Report, RunnableJob } from '../../src/coordinator/coordinator';
import { HubWatch } from '../../src/coordinator/tick/hub-watch';
import { announcer } from '../../src/coordinator/tick/presence';
import { storageTroubled } from '../../src/coordinator/reachability';
import { StoreUnavailableError } from '../../src/lease/store';
import { humanPrinter, jsonPrinter } from '../../src/cli/dev/print';
import { firstInstance } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60_000;

/** One deployment that has ticked for a while. */
async function start(schedule = '* * * * *'): Promise<{ sim: RivalTicks; coordinator: Coordinator }> {
  const sim = rivalTicks({ jobs: [jobSpec('a', schedule)], deployments: 1, sweepIntervalMs: MINUTE });
  await sim.clock.advance(65 * SECOND);
  const [instance] = sim.instances;
  if (instance === undefined) throw new Error('there is no instance');
  return { sim, coordinator: instance.coordinator };
}

/** Storage refuses every listing, for this reason, until it is called back. */
function refuse(coordinator: Coordinator, reason: () => string): () => void {
  const { store } = coordinator;
  const refusing = { ...store, list: () => Promise.reject(new StoreUnavailableError(reason())) };
  Object.assign(coordinator, { store: refusing });
  return () => Object.assign(coordinator, { store });
}

function said({ events }: RivalTicks): (CoordinatorEvent & { deployment: string })[] {
  return events.filter(({ event }) => event === 'unhealthy');
}

/** Each event comes about a sweep after the one before, whose ticks are 15 s apart. */
function expectEachSweep(events: readonly CoordinatorEvent[], count: number): void {
  expect(events.length).toBeGreaterThanOrEqual(count - 1);
  expect(events.length).toBeLessThanOrEqual(count + 1);
  for (const [index, { at }] of events.slice(1).entries()) {
    const gap = at - (events[index]?.at ?? 0);
    expect(gap).toBeGreaterThanOrEqual(MINUTE * 0.9);
    expect(gap).toBeLessThanOrEqual(MINUTE + 16 * SECOND);
  }
}

describe('trouble that lasts', () => {
  it('is said again at each sweep, and no more once it is over', async () => {
    const { sim, coordinator } = await start();
    const restore = refuse(coordinator, () => '503 ServerBusy');
    await sim.clock.advance(10 * MINUTE);
    expectEachSweep(said(sim), 10);
    expect(new Set(said(sim).map(({ reason }) => reason)).size).toBe(1);
    restore();
    await sim.clock.advance(20 * SECOND);
    const count = said(sim).length;
    await sim.clock.advance(5 * MINUTE);
    expect(said(sim)).toHaveLength(count);
    expect(sim.events.filter(({ event }) => event === 'healthy')).toHaveLength(1);
  });

  it('is said at once when its reason changes', async () => {
    const { sim, coordinator } = await start();
    let reason = '503 ServerBusy';
    refuse(coordinator, () => reason);
    await sim.clock.advance(20 * SECOND);
    expect(said(sim)).toHaveLength(1);
    reason = '403 AuthorizationFailure';
    await sim.clock.advance(5 * SECOND);
    expect(said(sim).map((event) => event.reason)).toEqual([
      expect.stringContaining('503 ServerBusy'),
      expect.stringContaining('403 AuthorizationFailure'),
    ]);
  });

  it('is not said more often for reasons that take turns', async () => {
    const { sim, coordinator } = await start();
    let calls = 0;
    refuse(coordinator, () => {
      calls += 1;
      return calls % 2 === 0 ? '503 ServerBusy' : 'ECONNREFUSED';
    });
    await sim.clock.advance(10 * MINUTE);
    expect(calls).toBeGreaterThan(200);
    expect(said(sim).length).toBeGreaterThan(15);
    expect(said(sim).length).toBeLessThanOrEqual(22);
  });

  it('is not said more often for a reason whose numbers change', async () => {
    const { sim, coordinator } = await start();
    let ms = 0;
    refuse(coordinator, () => {
      ms += 17;
      return `no answer from storage within ${String(ms)} ms`;
    });
    await sim.clock.advance(10 * MINUTE);
    expectEachSweep(said(sim), 10);
  });

  it('is not said more often for a reason in which each answer has an id of its own', async () => {
    const { sim, coordinator } = await start();
    refuse(coordinator, () => `503 ServerBusy RequestId:${randomUUID()}`);
    await sim.clock.advance(10 * MINUTE);
    expectEachSweep(said(sim), 10);
  });

  it('is said once of a task hub that takes none of the orchestrations of many jobs', async () => {
    const { sim, coordinator } = await start();
    const watch = new HubWatch(coordinator);
    for (const job of ['a', 'b', 'c']) {
      const cause = new Error('503');
      const error = new Error(`orchestration ${job}-20260101T000000Z could not be started: 503`, { cause });
      watch.failed({ spec: jobSpec(job, '@daily') } as RunnableJob, error, firstInstance(sim).report);
    }
    expect(said(sim).map(({ reason }) => reason)).toEqual(['the task hub does not take orchestrations: Error: 503']);
  });

  it('does not end and begin again each second while half of all calls fail', async () => {
    const { sim, coordinator } = await start('@every 1s');
    const { store } = coordinator;
    let calls = 0;
    const list: typeof store.list = (options) => {
      calls += 1;
      return calls % 2 === 0 ? Promise.reject(new StoreUnavailableError('ECONNRESET')) : store.list(options);
    };
    Object.assign(coordinator, { store: { ...store, list } });
    await sim.clock.advance(10 * MINUTE);
    expect(calls).toBeGreaterThan(100);
    expect(sim.events.filter(({ event }) => event === 'healthy')).toEqual([]);
    expectEachSweep(said(sim), 10);
    Object.assign(coordinator, { store });
    await sim.clock.advance(20 * SECOND);
    // The instance is well at once, and says so when that has lasted.
    expect(coordinator.health.healthy).toBe(true);
    expect(sim.events.filter(({ event }) => event === 'healthy')).toEqual([]);
    await sim.clock.advance(MINUTE);
    expect(sim.events.filter(({ event }) => event === 'healthy')).toHaveLength(1);
  });

  it('is said of a task hub', async () => {
    const { sim } = await start();
    for (const instance of sim.instances) instance.hubDead = true;
    await sim.clock.advance(10 * MINUTE);
    // The first hand-over that is lost comes within a minute, and is seen to be lost by the next tick or two.
    expectEachSweep(said(sim), 9);
    expect(said(sim)[0]?.reason).toContain('task hub');
  });

  it('of writes is over once the deployment has written that it is there', async () => {
    const { sim, coordinator } = await start('@daily');
    Object.assign(coordinator, { presence: { instance: 'one', version: '0', hubAccount: undefined } });
    const announce = announcer(coordinator);
    const report: Report = { event: (event) => sim.events.push({ ...event, deployment: 'd' }), log: () => undefined };
    storageTroubled(coordinator, 'writing', new StoreUnavailableError('503'), report);
    const { store } = coordinator;
    const writePresence = (): Promise<never> => Promise.reject(new StoreUnavailableError('503'));
    const hub = {
      start: async () => undefined,
      status: async () => 'completed' as const,
      purge: async () => 0,
    };
    Object.assign(coordinator, { store: { ...store, writePresence } });
    announce(hub, report, { hubProven: true, isPoke: false });
    await sim.clock.advance(SECOND);
    expect(coordinator.health.healthy).toBe(false);
    Object.assign(coordinator, { store });
    await sim.clock.advance(MINUTE);
    announce(hub, report, { hubProven: true, isPoke: false });
    await sim.clock.advance(SECOND);
    expect(coordinator.health.healthy).toBe(true);
    await sim.clock.advance(MINUTE);
    expect(sim.events.at(-1)).toMatchObject({ event: 'healthy', reason: 'storage takes writes again' });
  });

  it('is said of a row that is not ours, with its job', async () => {
    const { sim } = await start();
    const job = 'a' as JobName;
    await sim.store.writeControl(job, { format: '1', pauses: 'soon' }, undefined);
    await sim.clock.advance(10 * MINUTE);
    expectEachSweep(said(sim), 10);
    expect(new Set(said(sim).map((event) => event.job))).toEqual(new Set([job]));
  });
});

describe('cronlease dev', () => {
  const at = (second: number): string => new Date(second * SECOND).toISOString();
  const local = { deployment: 'local-1', pid: 7 };
  const away = { ...local, event: 'unhealthy', reason: 'no answer from storage within 5000 ms' };
  const EVENTS = [
    { ...away, at: at(0) },
    { ...away, at: at(60), reason: 'no answer from storage within 4321 ms' },
    { ...away, at: at(61), pid: 8 },
    { ...away, at: at(62), reason: '403' },
    { ...away, at: at(120) },
    { ...local, event: 'healthy', at: at(130), reason: 'storage answers again' },
    { ...away, at: at(140) },
    { ...away, at: at(2_000) },
  ];

  it('prints trouble that lasts once to people', () => {
    const lines: string[] = [];
    const printer = humanPrinter({ out: (text) => lines.push(text), err: () => undefined, color: false });
    for (const event of EVENTS) printer.event(event);
    expect(lines.map((line) => line.slice(11).trim().replaceAll(/\s+/g, ' '))).toEqual([
      'local-1 unhealthy process 7, no answer from storage within 5000 ms',
      'local-1 unhealthy process 8, no answer from storage within 5000 ms',
      'local-1 unhealthy process 7, 403',
      'local-1 healthy process 7, storage answers again',
      'local-1 unhealthy process 7, no answer from storage within 5000 ms',
      'local-1 unhealthy process 7, no answer from storage within 5000 ms',
    ]);
  });

  it('prints it each time to programs', () => {
    const lines: string[] = [];
    const printer = jsonPrinter({ out: (text) => lines.push(text), err: () => undefined, color: false });
    for (const event of EVENTS) printer.event(event);
    expect(lines).toHaveLength(EVENTS.length);
  });
});
