import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import type { Timeline } from '../../src/client/types';
import { NonRetryableError } from '../../src/handler/handler';
import { jobSpec } from '../support/job';
import { type ManageBench, manageBench } from '../support/manage';
import { pauseJob } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Played extends ManageBench {
  timeline(query?: string): Promise<Timeline>;
  job(name: string, query?: string): Promise<Timeline['jobs'][number]>;
}

function play(jobs: readonly JobSpec[]): Played {
  const bench = manageBench({
    ...{ jobs, deployments: 1, start: T0 },
    handler: async ({ job }, on) => {
      await new Promise<void>((resolve) => void on.coordinator.clock.after(2 * MINUTE, resolve));
      if (job === 'bad') throw new NonRetryableError('no');
    },
  });
  const timeline = async (query = ''): Promise<Timeline> => {
    const { status, json, text } = await bench.send({ path: `timeline${query}`, as: 'viewer' });
    expect([status, text]).toEqual([200, expect.anything() as unknown]);
    return json as Timeline;
  };
  const job = async (name: string, query?: string): Promise<Timeline['jobs'][number]> => {
    const found = (await timeline(query)).jobs.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${name} is not in it`);
    return found;
  };
  return { ...bench, timeline, job };
}

function at(instant: number): string {
  return new Date(instant).toISOString();
}

describe('the timeline', () => {
  it('have the runs of a job, its median, and when its due times start, with its spread', async () => {
    const { sim, job } = play([jobSpec('a', '0 * * * *', { offsetMs: 5 * MINUTE })]);
    await sim.clock.advance(3 * HOUR + 30 * MINUTE);
    const found = await job('a', '?hours=3');
    expect(found).toMatchObject({ medianMs: 2 * MINUTE, offsetMs: 5 * MINUTE, isComplete: true });
    expect(found.recent).toHaveLength(3);
    expect(found.planned).toEqual([4, 5, 6].map((hour) => at(T0 + hour * HOUR + 5 * MINUTE)));
  });

  it('end at 200 due times of a job, and state that there are more', async () => {
    const { sim, job } = play([jobSpec('a', '* * * * *')]);
    await sim.clock.advance(30_000);
    const { planned, isComplete } = await job('a');
    expect(isComplete).toBe(false);
    expect(planned).toHaveLength(200);
    expect(planned.at(-1)).toBe(at(T0 + 200 * MINUTE));
    const short = await job('a', '?hours=3');
    expect(short.isComplete).toBe(true);
    expect(short.planned).toHaveLength(180);
  });

  it('plan nothing while a job is paused, and only what follows the end of the pause', async () => {
    const jobs = [jobSpec('a', '0 * * * *'), jobSpec('b', '0 * * * *')];
    const { sim, job } = play(jobs);
    await sim.clock.advance(65 * MINUTE);
    for (const [index, until] of [undefined, T0 + 4 * HOUR].entries()) {
      const spec = jobs[index];
      if (spec === undefined) throw new Error('there is no such job');
      await pauseJob(sim.store, { name: spec.name, spec }, { by: 'ann', note: 'a test', until });
    }
    expect(await job('a', '?hours=5')).toMatchObject({ state: 'paused', planned: [] });
    expect((await job('b', '?hours=5')).planned).toEqual([4, 5, 6].map((hour) => at(T0 + hour * HOUR)));
  });

  it('keep their order while a run starts and ends', async () => {
    const { sim, timeline } = play([jobSpec('a', '30 * * * *'), jobSpec('b', '0 * * * *')]);
    const names = async (): Promise<string[]> => (await timeline()).jobs.map(({ name }) => name);
    await sim.clock.advance(61 * MINUTE);
    expect([await names(), (await timeline()).jobs[1]?.state]).toEqual([['a', 'b'], 'running']);
    await sim.clock.advance(20 * MINUTE);
    expect(await names()).toEqual(['a', 'b']);
  });

  it('are the worst first, page by page, without the jobs that have nothing in the window', async () => {
    const jobs = [
      ...[jobSpec('bad', '*/5 * * * *'), jobSpec('good', '*/5 * * * *', { tags: ['x'], description: 'Sends mails' })],
      ...[jobSpec('off', '* * * * *', { enabled: false }), jobSpec('yearly', '0 0 2 6 *')],
    ];
    const { sim, timeline } = play(jobs);
    await sim.clock.advance(12 * MINUTE);
    const names = async (query?: string): Promise<readonly string[]> =>
      (await timeline(query)).jobs.map(({ name }) => name);
    expect(await names()).toEqual(['bad', 'good']);
    expect(await timeline()).toMatchObject({ busy: 2, empty: 2 });
    expect(await names('?skip=1&limit=1')).toEqual(['good']);
    expect(await names('?tag=x')).toEqual(['good']);
    expect(await names('?q=MAILS%20send')).toEqual(['good']);
    expect(await timeline('?q=nothing')).toMatchObject({ jobs: [], busy: 0, empty: 0 });
  });

  it('keep a job whose last run began before the window and ended in it', async () => {
    const { sim, timeline } = play([jobSpec('bad', '59 11 * * *')]);
    await sim.clock.advance(13 * HOUR);
    expect((await timeline('?hours=1')).jobs).toHaveLength(1);
    await sim.clock.advance(2 * MINUTE);
    expect((await timeline('?hours=1')).jobs).toHaveLength(0);
  });

  it('of 1,000 jobs cost one listing, and little time', async () => {
    const jobs = Array.from({ length: 1_000 }, (_, index) => jobSpec(`job-${String(index)}`, '* * * * *'));
    const { calls, timeline } = play(jobs);
    const began = performance.now();
    const { jobs: shown, busy } = await timeline('?limit=100');
    expect(performance.now() - began).toBeLessThan(15_000);
    expect([shown.length, busy]).toEqual([100, 1_000]);
    expect([...calls]).toEqual([['list', 1]]);
  });

  it('answer 304 while nothing but the time has changed', async () => {
    const { sim, send } = play([jobSpec('a', '0 * * * *')]);
    await sim.clock.advance(MINUTE);
    const first = await send({ path: 'timeline', as: 'viewer' });
    await sim.clock.advance(MINUTE);
    const headers = { 'if-none-match': first.headers['etag'] ?? '' };
    expect((await send({ path: 'timeline', as: 'viewer', headers })).status).toBe(304);
  });
});
