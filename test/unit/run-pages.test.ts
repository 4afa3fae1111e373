import { describe, expect, it } from 'vitest';
import type { RecentRun } from '../../src/core/recent';
import { sleep } from '../../src/core/clock';
import { encodeRow, newRow } from '../../src/core/row';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { jobSpec } from '../support/job';
import { manageBench, type ManageBench } from '../support/manage';
import type { Instance } from '../support/rival-ticks';

interface Page {
  readonly runs: readonly {
    readonly runId: string;
    readonly job: string;
    readonly scheduledFor: string;
    readonly outcome: string;
  }[];
  readonly cursor: string | null;
}

/** Two hours of four jobs, one of which fails now and then, and one of which is paused. */
async function bench(): Promise<ManageBench> {
  const jobs = [
    jobSpec('minutely', '* * * * *', { tags: ['fast'] }),
    jobSpec('quarterly', '*/15 * * * *', {
      retry: { attempts: 1, backoffMs: 0, factor: 1, maxBackoffMs: 0, jitter: 'none' },
    }),
    jobSpec('hourly', '0 * * * *', { tags: ['slow'], offsetMs: 30_000 }),
    jobSpec('never', '@manual'),
  ];
  const handler = ({ job, scheduledFor }: { job: string; scheduledFor: Date }): void => {
    if (job === 'quarterly' && scheduledFor.getUTCMinutes() === 30) throw new Error('half past');
  };
  const made = manageBench({ jobs, deployments: 1, handler, sweepIntervalMs: 60_000 });
  await made.sim.clock.advance(2 * 3_600_000 + 60_000);
  return made;
}

async function page(
  { send }: ManageBench,
  query: string,
  as: 'viewer' | 'operator' | 'admin' = 'viewer',
): Promise<Page> {
  const { json, status } = await send({ path: `runs?${query}`, as });
  expect(status).toBe(200);
  return json as Page;
}

/** All runs of a filter, page after page. */
async function all(
  made: ManageBench,
  query: string,
  limit: number,
  as?: 'operator' | 'admin',
): Promise<Page['runs'][number][]> {
  const found: Page['runs'][number][] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null; pages += 1) {
    expect(pages).toBeLessThan(200);
    const next: Page = await page(made, `${query}&limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`, as);
    expect(next.runs.length).toBeLessThanOrEqual(limit);
    found.push(...next.runs);
    ({ cursor } = next);
  }
  return found;
}

const iso = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

describe('pages of runs', () => {
  it('have every run of all jobs once, newest first, whatever their length', async () => {
    const made = await bench();
    const whole = await all(made, '', 500);
    expect(whole.length).toBe(121 + 8 + 2);
    expect(whole.map(({ scheduledFor }) => scheduledFor)).toEqual(
      whole
        .map(({ scheduledFor }) => scheduledFor)
        .toSorted()
        .reverse(),
    );
    // The listings of one caller are limited, and the clock stands still.
    expect(await all(made, 'job=quarterly', 1, 'operator')).toEqual(whole.filter(({ job }) => job === 'quarterly'));
    expect(await all(made, '', 7, 'admin')).toEqual(whole);
    expect(await all(made, '', 50, 'operator')).toEqual(whole);
  });

  it('are chosen by job, tag, outcome and time', async () => {
    const made = await bench();
    expect((await all(made, 'job=hourly', 1)).map(({ scheduledFor }) => scheduledFor)).toEqual([iso(120), iso(60)]);
    expect(new Set((await all(made, 'tag=fast', 100)).map(({ job }) => job))).toEqual(new Set(['minutely']));
    const failed = [iso(90), iso(30)];
    expect((await all(made, 'failed=true', 10)).map(({ scheduledFor }) => scheduledFor)).toEqual(failed);
    expect((await all(made, 'outcome=failed', 1)).map(({ scheduledFor }) => scheduledFor)).toEqual(failed);
    expect(await all(made, 'outcome=succeeded&failed=true', 10)).toEqual([]);
    expect(await all(made, 'job=never', 10)).toEqual([]);
    const some = await all(made, `job=minutely&since=${iso(50)}&until=${iso(60)}`, 3);
    expect(some.map(({ scheduledFor }) => scheduledFor)).toEqual(
      Array.from({ length: 10 }, (_, index) => iso(59 - index)),
    );
    const [hourly] = (await page(made, 'job=hourly&limit=1')).runs;
    expect(hourly).toMatchObject({ latenessMs: expect.any(Number) as number, durationMs: 0, trigger: 'schedule' });
  });

  it('are chosen by trigger, actor, channel and note, page after page', async () => {
    const made = await bench();
    const requested = async (as: 'operator' | 'admin', note = 'a test'): Promise<string> => {
      const { json } = await made.send({ method: 'POST', path: 'jobs/never/runs', body: { note }, as });
      await made.sim.clock.advance(90_000);
      return (json as { runId: string }).runId;
    };
    const [first, second, third] = [
      await requested('operator'),
      await requested('admin'),
      await requested('operator', 'the rates of Friday'),
    ];
    const ids = async (query: string, limit: number): Promise<readonly string[]> =>
      (await all(made, query, limit)).map(({ runId }) => runId);
    for (const limit of [1, 2, 50]) {
      expect(await ids('trigger=manual', limit)).toEqual([third, second, first]);
      expect(await ids('channel=key', limit)).toEqual([third, second, first]);
      expect(await ids('actor=of-operator', limit)).toEqual([third, first]);
      expect(await ids('actor=of-admin&job=never&trigger=manual', limit)).toEqual([second]);
      expect(await ids('note=RATES', limit)).toEqual([third]);
      expect(await ids('note=a%20test&actor=of-admin', limit)).toEqual([second]);
    }
    const scheduled = await ids('channel=schedule', 100);
    expect(scheduled).toEqual(await ids('trigger=schedule', 100));
    expect(scheduled).toEqual(await ids('actor=cronlease', 100));
    expect(scheduled.length).toBeGreaterThan(100);
    for (const query of [
      'channel=shell',
      'note=nothing',
      'actor=nobody',
      'trigger=backfill',
      'actor=of-admin&channel=schedule',
    ]) {
      expect(await ids(query, 100)).toEqual([]);
    }
    for (const query of ['channel=x', 'trigger=x', 'note=', 'actor=', `actor=${'x'.repeat(101)}`]) {
      expect((await made.send({ path: `runs?${query}`, as: 'viewer' })).status).toBe(400);
    }
  });

  it('find a run in progress by who asked for it', async () => {
    const jobs = [jobSpec('slow', '@manual')];
    const handler = (): Promise<never> => new Promise(() => undefined);
    const made = manageBench({ ...{ jobs, handler, deployments: 1 }, sweepIntervalMs: 5_000 });
    await made.sim.clock.advance(20_000);
    await made.send({ method: 'POST', path: 'jobs/slow/runs', as: 'operator' });
    await made.sim.clock.advance(20_000);
    expect((await page(made, 'actor=of-operator')).runs).toMatchObject([{ job: 'slow', outcome: 'running' }]);
    expect((await page(made, 'channel=schedule')).runs).toEqual([]);
  });

  it('are never running where their lease has ended', async () => {
    const jobs = [jobSpec('slow', '@every 10m')];
    const made = manageBench({ jobs, handler: () => new Promise(() => undefined), deployments: 1 });
    await made.sim.clock.advance(601_000);
    const [running] = (await page(made, 'job=slow')).runs;
    expect(running).toMatchObject({ outcome: 'running' });
    made.sim.instances[0]?.kill();
    await made.sim.clock.advance(120_000);
    expect((await page(made, 'job=slow')).runs).toMatchObject([{ runId: running?.runId, outcome: 'retrying' }]);
    const { json } = await made.send({ path: `runs/${running?.runId ?? ''}`, as: 'viewer' });
    expect(json).toMatchObject({ outcome: 'retrying', attempts: [{ outcome: 'holderLost', startedAt: null }] });
    const why = await made.send({ path: `jobs/slow/why?time=${running?.scheduledFor ?? ''}`, as: 'viewer' });
    expect(why.json).toMatchObject({ outcome: 'retrying', reason: 'takeOverDue' });
  });

  it('are running while the items of a fan-out are', async () => {
    const jobs = [jobSpec('wide', '@every 10m')];
    const fanOut = {
      wide: (on: Instance) =>
        defineFanOut<unknown, number, string>({
          plan: () => [1],
          each: async (_, item) => {
            await sleep(on.coordinator.clock, 300_000);
            return String(item);
          },
          gather: () => 'done',
        }),
    };
    const made = manageBench({ jobs, fanOut, deployments: 1 });
    await made.sim.clock.advance(660_000);
    expect((await made.sim.row('wide')).phase).toBe('fanning');
    const [run] = (await page(made, 'job=wide')).runs;
    expect(run).toMatchObject({ outcome: 'running' });
    const { json } = await made.send({ path: `runs/${run?.runId ?? ''}`, as: 'viewer' });
    expect(json).toMatchObject({ outcome: 'running' });
  });

  it('stay the same while newer runs come', async () => {
    const made = await bench();
    const before = await page(made, 'limit=5');
    await made.sim.clock.advance(600_000);
    const after = await page(made, `limit=5&cursor=${before.cursor ?? ''}`);
    const whole = await all(made, '', 500);
    const start = whole.findIndex(({ runId }) => runId === before.runs[0]?.runId);
    expect([...before.runs, ...after.runs]).toEqual(whole.slice(start, start + 10));
  });

  it('cost one listing for each job that has a run on them, and one of all jobs', async () => {
    const made = await bench();
    await page(made, 'job=minutely&limit=100');
    expect(Object.fromEntries(made.calls)).toEqual({ list: 1, listRecords: 1 });
    await page(made, 'limit=50');
    // `never` has no run, and both others are as new as the newest of `minutely`.
    expect(made.calls.get('listRecords')).toBeLessThanOrEqual(1 + 4);
    // Only a failed run is read, for its error, and once however often it is listed.
    const reads = made.calls.get('readRecord') ?? 0;
    expect(reads).toBeGreaterThan(0);
    const { runs } = await page(made, 'limit=50');
    expect(made.calls.get('readRecord')).toBe(reads);
    const errors = runs.map((run) => [run.outcome === 'failed', 'error' in run && run.error !== null]);
    expect(errors.every(([failed, hasError]) => failed === hasError)).toBe(true);
    await page(made, `job=hourly&limit=1&until=${iso(100)}`);
    expect(made.calls.get('listRecords')).toBeLessThanOrEqual(9 + 30);
  });

  it('show a run in progress, which has no record yet', async () => {
    const jobs = [jobSpec('slow', '* * * * *')];
    const made = manageBench({
      jobs,
      deployments: 1,
      handler: () => new Promise(() => undefined),
      sweepIntervalMs: 5_000,
    });
    await made.sim.clock.advance(65_000);
    expect((await page(made, '')).runs).toMatchObject([
      { runId: 'slow-20260101T000100Z', outcome: 'running', startedAt: '2026-01-01T00:01:00.000Z', endedAt: null },
    ]);
    expect((await page(made, 'outcome=running')).runs).toHaveLength(1);
    expect((await page(made, 'outcome=succeeded')).runs).toEqual([]);
  });
});

describe('a run', () => {
  it('has the zone of its job, in a list and by itself', async () => {
    const made = manageBench({ jobs: [jobSpec('hourly', '0 * * * *', { timeZone: 'Europe/Paris' })], deployments: 1 });
    await made.sim.clock.advance(2 * 3_600_000);
    const [listed] = (await page(made, 'job=hourly', 'viewer')).runs;
    expect(listed).toMatchObject({ timeZone: 'Europe/Paris' });
    const { json } = await made.send({ path: `runs/${listed?.runId ?? ''}`, as: 'viewer' });
    expect(json).toMatchObject({ timeZone: 'Europe/Paris' });
  });
});

describe('the calendar of a job', () => {
  it('counts its outcomes by day, in its zone', async () => {
    const jobs = [jobSpec('hourly', '0 * * * *', { timeZone: 'Europe/Paris' })];
    const made = manageBench({ jobs, deployments: 1, sweepIntervalMs: 60_000 });
    await made.sim.clock.advance(30 * 3_600_000);
    await made.send({ method: 'POST', path: 'jobs/hourly/pause', body: { note: 'x' }, as: 'operator' });
    await made.sim.clock.advance(3 * 3_600_000);
    await made.send({ method: 'POST', path: 'jobs/hourly/resume', as: 'operator' });
    await made.sim.clock.advance(3_600_000);
    const { json } = await made.send({ path: 'jobs/hourly/calendar', as: 'viewer' });
    expect(json).toMatchObject({
      ...{ job: 'hourly', timeZone: 'Europe/Paris', complete: true },
      days: [
        { day: '2026-01-02', outcomes: { succeeded: 10, paused: 2 } },
        { day: '2026-01-01', outcomes: { succeeded: 22 } },
      ],
    });
    const later = await made.send({ path: 'jobs/hourly/calendar?from=2026-01-02T00:00:00Z', as: 'viewer' });
    // The whole of the first day, which began an hour before in Paris, and nothing of the day before.
    expect((later.json as { days: unknown }).days).toEqual([
      { day: '2026-01-02', outcomes: { succeeded: 10, paused: 2 } },
    ]);
    expect(made.calls.get('readRecord')).toBeUndefined();
  });

  it('counts the due times of one record on their own days, those before the span left out', async () => {
    const jobs = [jobSpec('hourly', '0 * * * *')];
    const made = manageBench({ jobs, deployments: 1, sweepIntervalMs: 60_000 });
    await made.sim.clock.advance(20 * 3_600_000 + 60_000);
    await made.send({ method: 'POST', path: 'jobs/hourly/pause', body: { note: 'x' }, as: 'operator' });
    await made.sim.clock.advance(30 * 3_600_000);
    await made.send({ method: 'POST', path: 'jobs/hourly/resume', as: 'operator' });
    await made.sim.clock.advance(3_600_000);
    const { json } = await made.send({ path: 'jobs/hourly/calendar', as: 'viewer' });
    expect(json).toMatchObject({
      days: [
        { day: '2026-01-03', outcomes: { succeeded: 1, paused: 3 } },
        { day: '2026-01-02', outcomes: { paused: 24 } },
        { day: '2026-01-01', outcomes: { succeeded: 20, paused: 3 } },
      ],
    });
    const later = await made.send({ path: 'jobs/hourly/calendar?from=2026-01-02T00:00:00Z', as: 'viewer' });
    expect(later.json).toMatchObject({
      days: [
        { day: '2026-01-03', outcomes: { paused: 3 } },
        { day: '2026-01-02', outcomes: { paused: 24 } },
      ],
    });
  });
});

/** The least CPU time of several tries, in milliseconds: other programs and the first try take longer. */
async function leastCpuMs(work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let count = 0; count < 5; count += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

describe('an overview of 1,000 jobs with 20 outcomes each', () => {
  async function thousand(sweepIntervalMs: number): Promise<{ made: ManageBench; now: number }> {
    const zones = ['UTC', 'Europe/Paris', 'America/New_York', 'Asia/Tokyo'];
    const schedules = ['*/5 * * * *', '0 3 * * *', '30 2 * * 1', '0 9 1 * *'];
    const jobs = Array.from({ length: 1_000 }, (_, index) => {
      const schedule = schedules[Math.floor(index / 4) % 4] ?? '';
      return jobSpec(`job-${String(index)}`, schedule, { timeZone: zones[index % 4] ?? '' });
    });
    const made = manageBench({ jobs, deployments: 0, sweepIntervalMs });
    const now = made.sim.clock.now();
    const recent = Array.from({ length: 20 }, (_, index): RecentRun => ({
      ...{ kind: 'run', scheduledFor: now - (20 - index) * 300_000, request: undefined, outcome: 'succeeded' },
      ...{ latenessMs: 12, durationMs: 3_456, waitedMs: 0, attempts: 1 },
    }));
    for (const { name, scheduleHash } of jobs) {
      await made.sim.store.createRow(name, encodeRow({ ...newRow(now, 0, scheduleHash), recent }));
    }
    return { made, now };
  }

  it('costs two listings, and the next one within the sweep interval none', async () => {
    const { made, now } = await thousand(60_000);
    const { json, status } = await made.send({ path: 'jobs', as: 'viewer' });
    expect(status).toBe(200);
    const { jobs: shown } = json as { jobs: { recent: object[]; nextDueAt: string }[] };
    expect(shown).toHaveLength(1_000);
    expect(shown.every((job) => job.recent.length === 20 && Date.parse(job.nextDueAt) > now)).toBe(true);
    expect(Object.fromEntries(made.calls)).toEqual({ list: 1, listPresences: 1 });
    await made.send({ path: 'jobs', as: 'viewer' });
    await made.send({ path: 'jobs/job-7', as: 'viewer' });
    expect(Object.fromEntries(made.calls)).toEqual({ list: 1, listPresences: 1 });
  });

  it('takes a few times as much CPU as its JSON alone', async () => {
    const { made } = await thousand(60_000);
    const { text } = await made.send({ path: 'jobs', as: 'viewer' });
    const json = await leastCpuMs(() => JSON.stringify(JSON.parse(text)));
    const whole = await leastCpuMs(() => made.send({ path: 'jobs', as: 'viewer' }));
    console.log(`an overview of 1,000 jobs: ${whole.toFixed(0)} ms of CPU, its JSON ${json.toFixed(0)} ms`);
    expect(whole / json).toBeLessThan(25);
  });

  it('leaves a page of 100 runs at two calls, and takes little CPU', async () => {
    const made = await bench();
    made.calls.clear();
    expect((await page(made, 'job=minutely&limit=100')).runs).toHaveLength(100);
    expect([...made.calls.values()].reduce((sum, calls) => sum + calls, 0)).toBeLessThanOrEqual(3);
    const cpu = await leastCpuMs(() => page(made, 'job=minutely&limit=100'));
    console.log(`a page of 100 runs: ${cpu.toFixed(0)} ms of CPU`);
    expect(cpu).toBeLessThan(1_000);
  });
});
