import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { readGroup } from '../../src/core/group';
import type { JobSpec } from '../../src/core/job';
import { recordKey, runIdOf } from '../../src/core/key';
import { defineFanOut } from '../../src/handler/define-fan-out';
import type { JobContext } from '../../src/handler/handler';
import { stillRuns } from '../../src/operator/operations/pause';
import { describe as describeOutcome } from '../../src/operator/views/describe';
import { explainTime } from '../../src/operator/views/explain';
import { readOverview } from '../../src/operator/views/overview';
import { jobSpec } from '../support/job';
import type { Instance, RivalTicks, SimulationOptions } from '../support/rival-ticks';
import { T0 } from '../support/situation';
import { type TimedHandlers, timedHandlers } from '../support/timed-handlers';
import { pauseJob } from '../support/by-operator';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DUE = T0 + HOUR;
/** Those that are due together ask together, this long after the due time. */
const TOGETHER_MS = 5;
const GROUP_CALLS = ['readGroup', 'writeGroup'];

/** With the number of calls for groups, of all instances. */
function setUp(
  lasts: Readonly<Record<string, number>>,
  jobs: readonly JobSpec[],
  more: Partial<SimulationOptions> = {},
): TimedHandlers & { groupCalls(): number } {
  const world = timedHandlers(lasts, { jobs, start: DUE - 2 * MINUTE, ...more });
  const groupCalls = (): number =>
    world.sim.instances
      .flatMap(({ calls }) => GROUP_CALLS.map((kind) => calls.get(kind) ?? 0))
      .reduce((sum, n) => sum + n, 0);
  return { ...world, groupCalls };
}

const db = (maxParallel: number): Partial<JobSpec> => ({ group: { name: 'db', maxParallel } });
const member = (name: string, settings: Partial<JobSpec> = {}, maxParallel = 1): JobSpec =>
  jobSpec(name, '@hourly', { ...db(maxParallel), ...settings });
const blocker = (settings: Partial<JobSpec> = {}): JobSpec => member('blocker', { priority: 9, ...settings });
const waiter = (settings: Partial<JobSpec> = {}): JobSpec => member('waiter', settings);

async function groupOf({ store }: RivalTicks): Promise<ReturnType<typeof readGroup>> {
  return readGroup('db', (await store.readGroup('db'))?.body ?? '');
}

describe('a group of jobs', () => {
  it('runs as many at once as it may, by priority, on whatever instances, and the ledger shows who waited', async () => {
    const priorities = [0, 3, 9, 5, 7, 1];
    const jobs = priorities.map((priority) => member(`p${String(priority)}`, { priority }, 2));
    const { sim, most, started } = setUp({}, [...jobs, jobSpec('alone', '@hourly')], { deployments: 3 });
    await sim.clock.advanceTo(DUE + 20 * SECOND);
    expect(started().slice(0, 3).toSorted()).toEqual(['alone', 'p7', 'p9']);
    expect(started().slice(3)).toEqual(['p5', 'p3', 'p1', 'p0']);
    expect(most()).toBe(3);
    const waits = await Promise.all(
      ['p9', 'p7', 'p5', 'p0'].map(async (job) => (await sim.records(job))[0]?.attempts[0]?.waitedForGroupMs ?? 0),
    );
    expect(waits.slice(0, 2)).toEqual([0, 0]);
    expect(waits[2]).toBeGreaterThanOrEqual(SECOND);
    expect(waits[3]).toBeGreaterThanOrEqual(2 * SECOND);
    const events = sim.events.filter(({ event, job }) => event === 'started' && job === 'p5');
    expect(events).toMatchObject([{ waitedForGroupMs: waits[2] }]);
    const why = describeOutcome(await explainTime(sim.store, member('p5', {}, 2), 0, DUE), String);
    expect(why).toMatch(/^The handler returned\. It had waited \d.* for a place in group "db"\.$/);
    expect(await groupOf(sim)).toEqual({ running: [], waiting: [] });
  });

  it('hands a place over on one instance with one write, at once', async () => {
    const { sim } = setUp({ blocker: 10 * SECOND }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + 20 * SECOND);
    expect(sim.calls.map(({ job, at }) => [job, at - DUE])).toEqual([
      ['blocker', TOGETHER_MS],
      ['waiter', 10 * SECOND + TOGETHER_MS],
    ]);
  });

  it('costs a job without a group no call, and a run that need not wait two', async () => {
    const { sim, groupCalls } = setUp({}, [jobSpec('alone', '@hourly')]);
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(groupCalls()).toBe(0);
    const one = setUp({}, [waiter()]);
    await one.sim.clock.advanceTo(DUE + MINUTE);
    // The first read of this process.
    expect(one.groupCalls()).toBe(3);
    await one.sim.clock.advanceTo(DUE + HOUR + MINUTE);
    expect(one.groupCalls()).toBe(5);
    expect(one.started()).toEqual(['waiter', 'waiter']);
  });

  it('is asked about twice in four seconds at most while its places are taken', async () => {
    const { sim, groupCalls } = setUp({ blocker: 4 * MINUTE }, [blocker(), waiter(), member('third')]);
    await sim.clock.advanceTo(DUE + MINUTE);
    const before = groupCalls();
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect(groupCalls() - before).toBeLessThanOrEqual(61);
    expect(groupCalls() - before).toBeGreaterThanOrEqual(55);
  });

  it('keeps a run claimed and its lease renewed while it waits, and `why` says for whom', async () => {
    const { sim, on } = setUp({ blocker: 3 * MINUTE }, [blocker(), waiter(), member('last', { priority: 0 })]);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(await sim.row('waiter')).toMatchObject({ token: 1, phase: 'running' });
    expect(on.calls.get('renew') ?? 0).toBeGreaterThan(10);
    const explained = await explainTime(sim.store, member('last', { priority: 0 }), 0, DUE);
    expect(explained).toMatchObject({ outcome: 'running', reason: 'waitsForGroup' });
    expect(describeOutcome(explained, String)).toBe(
      'It waits for a place in group "db", which runs 1 at once: blocker. 1 other run waits before it.',
    );
    expect(await explainTime(sim.store, blocker(), 0, DUE)).toMatchObject({ reason: 'attemptRunning' });
    await sim.clock.advanceTo(DUE + 4 * MINUTE);
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'succeeded', token: 1, latenessMs: 3 * MINUTE + TOGETHER_MS });
    expect(record?.attempts).toMatchObject([{ attempt: 1, waitedForGroupMs: 3 * MINUTE + TOGETHER_MS }]);
  });

  it('is marked in the list of jobs while it has more runs than places, from the listing alone', async () => {
    const jobs = [blocker(), waiter(), jobSpec('alone', '@hourly')];
    const { sim } = setUp({ blocker: 3 * MINUTE, alone: 3 * MINUTE }, jobs);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    const details = async (): Promise<unknown> =>
      Object.fromEntries((await readOverview(sim.store, jobs)).jobs.map(({ name, detail }) => [name, detail]));
    const mark = 'one of 2 runs of group "db", 1 at a time';
    expect(await details()).toEqual({ blocker: mark, waiter: mark, alone: null });
    await sim.clock.advanceTo(DUE + 10 * MINUTE);
    expect(await details()).toEqual({ blocker: null, waiter: null, alone: null });
  });

  it('gives the place of a dead holder away once its lease has ended', async () => {
    const handler = async ({ job }: JobContext, { deployment, coordinator: { clock } }: Instance): Promise<void> => {
      await sleep(clock, job === 'blocker' && deployment === 'd1' ? HOUR : 5 * SECOND);
    };
    // The waiter is only in the file of the second deployment.
    const { sim, on } = setUp({}, [blocker()], { handler });
    sim.startInstance('d2', { jobs: [waiter()] });
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    on.kill();
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(sim.calls.map(({ job }) => job)).toEqual(['blocker', 'waiter']);
    const [record] = await sim.records('waiter');
    // The lease, and the interval at which rows are read.
    expect(record?.latenessMs).toBeGreaterThan(30 * SECOND);
    expect(record?.latenessMs).toBeLessThanOrEqual(10 * SECOND + 30 * SECOND + 7 * SECOND);
  });

  it('counts runs by request, and gives the place back between two attempts', async () => {
    const retry = { ...jobSpec('any', '@hourly').retry, backoffMs: 60 * SECOND };
    let calls = 0;
    const handler = async ({ job }: JobContext, { coordinator: { clock } }: Instance): Promise<void> => {
      if (job === 'fails' && (calls += 1) === 1) throw new Error('first');
      await sleep(clock, 5 * SECOND);
    };
    const jobs = [member('fails', { priority: 9, retry }), jobSpec('asked', '@manual', db(1))];
    const { sim } = setUp({}, jobs, { handler });
    await sim.clock.advanceTo(DUE - 30 * SECOND);
    const request = { number: 1, id: 'req1', time: DUE - 30 * SECOND };
    await sim.control('asked', (control) => ({ ...control, manualRuns: [request] }));
    await sim.clock.advanceTo(DUE + 50 * SECOND);
    expect(sim.calls.map(({ job, attempt }) => [job, attempt])).toEqual([
      ['asked', 1],
      ['fails', 1],
    ]);
    expect((await groupOf(sim)).running).toEqual([]);
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect((await sim.records('fails'))[0]).toMatchObject({ outcome: 'succeeded' });
  });

  it('keeps the place of a run that fans out from its plan to its end', async () => {
    const places: string[][] = [];
    const see = async (): Promise<void> => {
      places.push((await groupOf(sim)).running.map(({ job }) => job));
    };
    const fan = ({ coordinator: { clock } }: Instance) =>
      defineFanOut({
        plan: async () => [1, 2, 3, 4],
        each: async () => {
          await sleep(clock, 20 * SECOND);
          await see();
        },
        gather: see,
        concurrency: 2,
      });
    const jobs = [member('fan', { priority: 9 }), waiter()];
    const { sim } = setUp({}, jobs, { fanOut: { fan } });
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect(places).toEqual(Array.from({ length: 5 }, () => ['fan']));
    const [record] = await sim.records('waiter');
    expect(record?.latenessMs).toBeGreaterThanOrEqual(40 * SECOND);
    expect(record?.latenessMs).toBeLessThan(60 * SECOND);
    expect(await groupOf(sim)).toEqual({ running: [], waiting: [] });
  });
});

describe('a due time that waits for its group beyond its window', () => {
  it.each<[string, Partial<JobSpec>, number]>([
    ['catchUpWindow', { catchUpWindowMs: 90 * SECOND }, 90 * SECOND],
    ['catchUp none', { catchUp: 'none' }, 50 * SECOND],
  ])('expires without its handler: %s', async (_, settings, window) => {
    const { sim, started } = setUp({ blocker: 5 * MINUTE }, [blocker(), waiter(settings)]);
    await sim.clock.advanceTo(DUE + window - SECOND);
    expect(await sim.records('waiter')).toEqual([]);
    await sim.clock.advanceTo(DUE + 4 * MINUTE);
    expect((await groupOf(sim)).waiting).toEqual([]);
    expect(started()).toEqual(['blocker']);
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'expired', reason: 'groupFull', startedAt: null, attempts: [] });
    expect(Date.parse(record?.endedAt ?? '') - DUE).toBe(window);
    const why = describeOutcome(await explainTime(sim.store, waiter(settings), 0, DUE), String);
    expect(why).toBe('1 other run of group "db" was at work until the due time was too old to run.');
    expect((await sim.row('waiter')).recent).toMatchObject([{ outcome: 'expired', reason: 'groupFull' }]);
  });
});

describe('an attempt that waits for its group', () => {
  it('is handed on before the host ends its invocation, and uses up no attempt', async () => {
    const jobs = [
      blocker({ timeoutMs: 50 * SECOND }),
      waiter({ timeoutMs: 30 * SECOND, retry: { ...waiter().retry, attempts: 1 } }),
    ];
    const { sim } = setUp({ blocker: 45 * SECOND }, jobs, { settings: { functionTimeoutMs: MINUTE } });
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    const retrying = sim.events.filter(({ event, job }) => event === 'retrying' && job === 'waiter');
    expect(retrying.map(({ reason }) => reason)).toContain('groupFull');
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'succeeded' });
    expect(record?.attempts).toHaveLength(1);
  });

  it('leaves the queue when its run is cancelled', async () => {
    const { sim, started } = setUp({ blocker: 2 * MINUTE }, [blocker(), waiter(), member('next', { priority: 0 })]);
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    const cancel = runIdOf('waiter' as JobName, recordKey(DUE));
    await sim.control('waiter', (control) => ({ ...control, cancel }));
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'cancelled', reason: 'cancelRequested' }]);
    expect((await groupOf(sim)).waiting.map(({ job }) => job)).toEqual(['next']);
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect(started()).toEqual(['blocker', 'next']);
  });

  it('does not start if its job was paused meanwhile', async () => {
    const { sim, started } = setUp({ blocker: MINUTE }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + 30 * SECOND);
    const pause = { by: 'ann', note: 'wait', since: DUE + 30 * SECOND, until: undefined };
    await sim.control('waiter', (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(started()).toEqual(['blocker']);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'paused' }]);
    expect(await groupOf(sim)).toEqual({ running: [], waiting: [] });
  });

  it('does not start if its job is paused meanwhile, and the command says so', async () => {
    const job = waiter();
    const { sim } = setUp({ blocker: 5 * MINUTE, waiter: SECOND }, [blocker(), job]);
    await sim.clock.advanceTo(DUE + MINUTE);
    const subject = { name: job.name, spec: job };
    await pauseJob(sim.store, subject, { by: 'ann', note: 'wait' });
    expect(await stillRuns(sim.store, subject)).toMatchObject({ how: 'claimedEarly' });
    await sim.clock.advanceTo(DUE + 6 * MINUTE);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'paused', trigger: 'schedule' }]);
  });

  it('goes on elsewhere when its instance is shut down', async () => {
    const { sim, on } = setUp({ blocker: MINUTE }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    sim.startInstance('d2');
    const drained = on.drain();
    await sim.clock.advance(3 * SECOND);
    await drained;
    on.kill();
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect((await sim.records('waiter'))[0]).toMatchObject({ outcome: 'succeeded' });
    expect((await sim.records('blocker'))[0]).toMatchObject({ outcome: 'succeeded' });
  });

  it('holds no permit of its instance meanwhile', async () => {
    const jobs = [blocker(), waiter(), jobSpec('alone', '@hourly', { priority: 0 })];
    const { sim } = setUp({ blocker: MINUTE }, jobs, { maxConcurrentRuns: 2 });
    await sim.clock.advanceTo(DUE + 30 * SECOND);
    expect((await sim.records('alone'))[0]).toMatchObject({ outcome: 'succeeded' });
    expect(await sim.records('waiter')).toEqual([]);
  });
});

describe('a group that cannot be read', () => {
  it('keeps its runs waiting with a remedy, until somebody deletes or mends it', async () => {
    const { sim, on, started } = setUp({}, [waiter()]);
    await sim.clock.advanceTo(DUE - 20 * SECOND);
    const written = await sim.store.writeGroup('db', '{"format":2}', undefined);
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(started()).toEqual([]);
    const unhealthy = sim.events.filter(({ event }) => event === 'unhealthy');
    expect([...new Set(unhealthy.map(({ reason }) => reason))]).toEqual([
      'groups/db cannot be read: this version of cronlease did not write it. While no job of the group runs, delete it; the next run writes it again.',
    ]);
    expect([...on.coordinator.health.troubles.keys()]).toEqual(['group db']);
    const explained = await explainTime(sim.store, waiter(), 0, DUE);
    expect(explained).toMatchObject({ reason: 'attemptRunning', warnings: [unhealthy[0]?.reason] });
    if (written.kind !== 'written') throw new Error('refused');
    await sim.store.writeGroup('db', '{"format":1,"running":[],"waiting":[]}', written.etag);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(started()).toEqual(['waiter']);
    expect(on.coordinator.health.healthy).toBe(true);
  });
});
