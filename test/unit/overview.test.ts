import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { FLEET } from '../../src/core/fleet';
import type { JobSpec } from '../../src/core/job';
import { NonRetryableError } from '../../src/handler/handler';
import type { JobStatus, Overview } from '../../src/manage/schema/jobs';
import { readOverview } from '../../src/operator/views/overview';
import { requestRun } from '../../src/operator/operations/run';
import { encodePresence } from '../../src/core/presence';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';
import { type RivalTicks, type SimulatedHandler, rivalTicks } from '../support/rival-ticks';
import { cordonDeployment, uncordonDeployment, pauseJob } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Played {
  readonly sim: RivalTicks;
  overview(): Promise<Overview>;
  job(name?: string): Promise<JobStatus>;
}

function play(jobs: readonly JobSpec[], handler: SimulatedHandler, deployments = 1): Played {
  const sim = rivalTicks({ jobs, handler, start: T0, deployments });
  const overview = (): Promise<Overview> => readOverview(sim.store, jobs);
  const job = async (name = 'a'): Promise<JobStatus> => {
    const found = (await overview()).jobs.find((status) => status.name === name);
    if (found === undefined) throw new Error(`no job ${name}`);
    return found;
  };
  return { sim, overview, job };
}

function lasting(ms: number): SimulatedHandler {
  return (context, on) =>
    new Promise((resolve) => {
      const stop = on.coordinator.clock.after(ms, () => {
        resolve(undefined);
      });
      context.signal.addEventListener('abort', () => {
        stop();
        resolve(undefined);
      });
    });
}

describe('the state of a job in a list', () => {
  it('is idle before its first run and after it, with the next due time ahead', async () => {
    const { sim, job } = play([jobSpec('a', '@every 1m')], () => undefined);
    await sim.clock.advance(20 * SECOND);
    expect(await job()).toMatchObject({ state: 'idle', lastRun: null, nextDueAt: '2026-01-01T00:01:00.000Z' });
    await sim.clock.advance(MINUTE);
    expect(await job()).toMatchObject({
      state: 'idle',
      lastRun: { runId: 'a-20260101T000100Z', outcome: 'succeeded', latenessMs: 0, attempts: 1 },
      nextDueAt: '2026-01-01T00:02:00.000Z',
      failures: 0,
    });
  });

  it('is waiting while it is claimed ahead, and then running, with its holder and its start', async () => {
    const { sim, job } = play([jobSpec('a', '@every 1m')], lasting(30 * SECOND));
    await sim.clock.advance(58 * SECOND);
    expect(await job()).toMatchObject({ state: 'waiting', detail: 'claimed ahead of its due time' });
    await sim.clock.advance(10 * SECOND);
    expect(await job()).toMatchObject({
      state: 'running',
      currentRun: { runId: 'a-20260101T000100Z', attempt: 1, startedAt: '2026-01-01T00:01:00.000Z', holder: 'd1' },
      lastRun: null,
    });
  });

  it('never shows a run as running whose lease has ended', async () => {
    const { sim, job } = play([jobSpec('a', '@every 10m')], lasting(5 * MINUTE));
    await sim.clock.advance(10 * MINUTE + SECOND);
    sim.instances[0]?.kill();
    await sim.clock.advance(MINUTE);
    const status = await job();
    expect(status).toMatchObject({ state: 'retrying', detail: 'its holder is gone: the next tick takes the run over' });
    expect(status.currentRun).toMatchObject({ startedAt: null, holder: null });
  });

  it('is retrying between two attempts', async () => {
    const retry = { attempts: 3, backoffMs: MINUTE, factor: 1, maxBackoffMs: MINUTE, jitter: 'none' } as const;
    const { sim, job } = play([jobSpec('a', '@every 10m', { retry })], () => {
      throw new Error('no');
    });
    await sim.clock.advance(10 * MINUTE + 5 * SECOND);
    const status = await job();
    expect(status).toMatchObject({ state: 'retrying', currentRun: { attempt: 1, startedAt: null } });
    expect(Date.parse(status.currentRun?.retryAt ?? '')).toBeGreaterThan(T0 + 10 * MINUTE);
  });

  it('is paused or disabled, even while a run of it goes on, and has then no next due time', async () => {
    const { sim, job } = play(
      [jobSpec('a', '@every 1m'), jobSpec('b', '@every 1m', { enabled: false })],
      lasting(MINUTE),
    );
    await sim.clock.advance(65 * SECOND);
    await pauseJob(sim.store, { name: 'a' as JobName }, { by: 'ann', note: 'moving' });
    expect(await job()).toMatchObject({
      ...{ state: 'paused', detail: 'by ann: moving', nextDueAt: null, pause: { by: 'ann', until: null } },
      currentRun: { runId: 'a-20260101T000100Z' },
    });
    expect(await job('b')).toMatchObject({ state: 'disabled', nextDueAt: null });
  });

  it('is overdue after alertAfter, and not once it has succeeded, though its row notes that later', async () => {
    let fails = true;
    const { sim, job } = play([jobSpec('a', '@every 1m', { alertAfterMs: 5 * MINUTE })], () => {
      if (fails) throw new NonRetryableError('no');
    });
    await sim.clock.advance(7 * MINUTE);
    expect(await job()).toMatchObject({ state: 'overdue', overdueSince: '2026-01-01T00:05:10.000Z', failures: 7 });
    fails = false;
    await sim.clock.advance(MINUTE);
    expect(await job()).toMatchObject({ state: 'idle', overdueSince: null, failures: 0 });
    await sim.clock.advance(6 * MINUTE);
    expect(await job()).toMatchObject({ state: 'idle', overdueSince: null });
  });

  it('is waiting while a request or a due time waits', async () => {
    const jobs = [jobSpec('a', '@every 1m'), jobSpec('b', '@manual')];
    const { sim, job } = play(jobs, () => undefined);
    await sim.clock.advance(50 * SECOND);
    sim.instances[0]?.kill();
    await requestRun(sim, jobs[1] as JobSpec, { id: 'abc' });
    await sim.clock.advance(MINUTE);
    expect(await job()).toMatchObject({ state: 'waiting', dueSince: '2026-01-01T00:01:00.000Z' });
    expect(await job('b')).toMatchObject({ state: 'waiting', detail: 'a manual run waits', manualRuns: 1 });
  });

  it('is unreadable where something else wrote its row, with the reason', async () => {
    const { sim, overview, job } = play([jobSpec('a', '@every 1m'), jobSpec('b', '@every 1m')], () => undefined);
    await sim.store.createRow('a' as JobName, { hello: 'world' });
    await sim.clock.advance(70 * SECOND);
    expect(await job()).toMatchObject({ state: 'unreadable', lastRun: null });
    expect((await job()).detail).toMatch(/^its lease cannot be read: metadata "format" is missing/);
    expect((await overview()).jobs.map(({ name }) => name)).toEqual(['a', 'b']);
  });
});

describe('the overview', () => {
  it('lists the worst first, with the last outcomes of each', async () => {
    const jobs = ['c', 'a', 'b'].map((name) => jobSpec(name, '@every 1m'));
    const { sim, overview } = play(jobs, ({ job }) => {
      if (job === 'b') throw new NonRetryableError('no');
    });
    await sim.clock.advance(190 * SECOND);
    const { jobs: listed, now } = await overview();
    expect(now).toBe('2026-01-01T00:03:10.000Z');
    expect(listed.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
    expect(listed.map(({ recent }) => recent.map(({ outcome }) => outcome))).toEqual([
      ['failed', 'failed', 'failed'],
      ['succeeded', 'succeeded', 'succeeded'],
      ['succeeded', 'succeeded', 'succeeded'],
    ]);
  });

  it('takes two calls, whatever the number of jobs', async () => {
    const clock = settableClock(T0);
    const store = memoryService(clock).open();
    const calls: string[] = [];
    const counted = new Proxy(store, {
      get: (target, property: keyof typeof store) => {
        if (typeof target[property] === 'function') calls.push(property);
        return target[property];
      },
    });
    const jobs = Array.from({ length: 1_000 }, (_, index) => jobSpec(`job-${String(index)}`, '@every 1m'));
    expect((await readOverview(counted, jobs)).jobs).toHaveLength(1_000);
    expect(calls.sort()).toEqual(['list', 'listPresences']);
  });
});

describe('a cordon', () => {
  async function report(sim: RivalTicks, name: string): Promise<void> {
    const facts = {
      instance: 'x',
      hub: undefined,
      version: '1.0.0',
      revision: 0,
      jobs: 'h',
      skewMs: 0,
      tickEveryMs: 15_000,
    };
    const presence = { ...facts, tickedAt: sim.clock.now(), rival: undefined, hubProven: true };
    await sim.store.writePresence(name, encodePresence(presence), undefined);
  }

  it('leaves new due times to the other deployments, and none after it is lifted', async () => {
    const { sim, overview } = play([jobSpec('a', '@every 1m')], () => undefined, 2);
    await sim.clock.advance(190 * SECOND);
    const winner = sim.calls.at(-1)?.deployment ?? '';
    const other = winner === 'd1' ? 'd2' : 'd1';
    await report(sim, winner);
    await report(sim, other);
    await cordonDeployment(sim.store, winner, { by: 'ann', note: 'new disk' });
    await sim.clock.advance(MINUTE);
    const before = sim.calls.length;
    await sim.clock.advance(5 * MINUTE);
    expect(new Set(sim.calls.slice(before).map(({ deployment }) => deployment))).toEqual(new Set([other]));
    expect(sim.calls).toHaveLength(before + 5);
    expect((await overview()).deployments.find(({ name }) => name === winner)?.cordon).toMatchObject({ by: 'ann' });
    expect(sim.events.filter(({ deployment, event }) => deployment === winner && event === 'warning')).toHaveLength(1);

    sim.instances.find(({ deployment }) => deployment === other)?.kill();
    await uncordonDeployment(sim.store, winner);
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.at(-1)?.deployment).toBe(winner);
  });

  it('lets a run finish, its retries included', async () => {
    const retry = { attempts: 2, backoffMs: 2 * MINUTE, factor: 1, maxBackoffMs: 2 * MINUTE, jitter: 'none' } as const;
    const { sim } = play([jobSpec('a', '@every 10m', { retry })], () => {
      throw new Error('no');
    });
    await sim.clock.advance(10 * MINUTE + 5 * SECOND);
    await report(sim, 'd1');
    await cordonDeployment(sim.store, 'd1', { by: 'ann', note: 'new disk' });
    await sim.clock.advance(15 * MINUTE);
    expect(sim.calls.map(({ attempt, scheduledFor }) => [attempt, (scheduledFor - T0) / MINUTE])).toEqual([
      [1, 10],
      [2, 10],
    ]);
  });

  it('is refused where it makes no sense', async () => {
    const { sim } = play([], () => undefined);
    await report(sim, 'west');
    const ann = { by: 'ann', note: 'x' };
    await expect(cordonDeployment(sim.store, 'wset', ann)).rejects.toThrow('Did you mean "west"?');
    await expect(uncordonDeployment(sim.store, 'west')).rejects.toThrow('deployment "west" is not cordoned');
    await cordonDeployment(sim.store, 'west', ann);
    await expect(cordonDeployment(sim.store, 'west', ann)).rejects.toThrow('cordoned since 2026-01-01');
    await expect(cordonDeployment(sim.store, 'west', { ...ann, note: 'x'.repeat(201) })).rejects.toThrow(
      '201 characters',
    );
  });

  it('stands while its record cannot be read, which is reported', async () => {
    const { sim, overview } = play([jobSpec('a', '@every 1m')], () => undefined);
    await sim.clock.advance(70 * SECOND);
    await report(sim, 'd1');
    await cordonDeployment(sim.store, 'd1', { by: 'ann', note: 'x' });
    await sim.clock.advance(2 * MINUTE);
    const runs = sim.calls.length;
    const { control } = await sim.store.readControl(FLEET);
    await sim.store.writeControl(FLEET, { hello: 'world' }, control?.etag);
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls).toHaveLength(runs);
    expect(sim.events.some(({ reason }) => /cordons of deployments cannot be read/.test(reason ?? ''))).toBe(true);
    expect((await overview()).problems).toHaveLength(1);
  });
});
