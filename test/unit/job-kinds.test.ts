import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { runIdOf } from '../../src/core/key';
import { requestRun } from '../../src/operator/operations/run';
import { jobSpec } from '../support/job';
import { JOB_KINDS, type Job, type Work } from '../support/job-kinds';
import { type Instance, type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T0 = Date.UTC(2026, 0, 1);
const RETRY = { attempts: 2, backoffMs: 10 * SECOND, factor: 2, maxBackoffMs: 5 * MINUTE, jitter: 'none' } as const;

interface World {
  readonly sim: RivalTicks;
  readonly works: readonly Work[];
}

/** The instance that has begun the last piece of work. */
function holderOf({ works }: World): Instance {
  const last = works.at(-1);
  if (last === undefined) throw new Error('nothing has begun');
  return last.from;
}

const byAttempt = ({ works }: World): readonly string[] =>
  works.map(({ scheduledFor, attempt }) => `${scheduledFor.slice(11, 16)} ${String(attempt)}`);

const endsOf = async ({ sim }: World, job = 'close') =>
  (await sim.records(job)).toReversed().map(({ scheduledFor, outcome, reason }) => {
    return [scheduledFor.slice(11, 16), outcome, reason];
  });

/** The same cases for each kind of job: another kind is one more entry of {@link JOB_KINDS}. */
describe.each(JOB_KINDS)('a job that is $name', (kind) => {
  function start(
    job: Partial<Job> = {},
    spec: Partial<JobSpec> & { readonly schedule?: string } = {},
    more: Partial<SimulationOptions> = {},
  ): World {
    const { schedule = '*/10 * * * *', ...settings } = spec;
    const works: Work[] = [];
    const sim = rivalTicks({
      jobs: [jobSpec('close', schedule, { leaseMs: 15_000, retry: RETRY, input: { rows: 7 }, ...settings })],
      fanOut: { close: kind.handler({ name: 'close', lastsMs: 40 * SECOND, ...job }, works) },
      deployments: 2,
      sweepIntervalMs: 2_000,
      ...more,
    });
    return { sim, works };
  }
  /** What works for a run whose first attempt was lost: the second begins the work, or goes on with it. */
  const again = <T>(first: T, second: T): readonly T[] => (kind.outlivesHolder ? [first] : [first, second]);
  /** The number of the first attempt after one whose work has failed. */
  const next = String(1 + kind.attempts.length);

  it('steady: runs once for each due time over all deployments', async () => {
    const world = start();
    await world.sim.clock.advance(32 * MINUTE);
    expect(byAttempt(world)).toEqual(['00:10 1', '00:20 1', '00:30 1']);
    const ran = ['succeeded', 'completed'];
    expect(await endsOf(world)).toEqual([
      ['00:10', ...ran],
      ['00:20', ...ran],
      ['00:30', ...ran],
    ]);
    expect((await world.sim.records('close'))[0]).toMatchObject({
      result: { rows: 3 },
      attempts: kind.attempts.map((outcome, index) => ({ attempt: index + 1, outcome })),
    });
    expect(world.sim.instances.flatMap(({ coordinator }) => [...coordinator.running])).toEqual([]);
  });

  it('kill: another deployment takes over', async () => {
    const world = start();
    await world.sim.clock.advance(10 * MINUTE + 20 * SECOND);
    const holder = holderOf(world);
    holder.kill();
    await world.sim.clock.advance(3 * MINUTE);
    expect(byAttempt(world)).toEqual(again('00:10 1', '00:10 2'));
    expect(await endsOf(world)).toEqual([['00:10', 'succeeded', 'completed']]);
    const [record] = await world.sim.records('close');
    const [lost = 'holderLost'] = kind.attempts.slice(0, -1);
    expect(record?.attempts.map(({ outcome }) => outcome)).toEqual([lost, ...kind.attempts]);
    expect(record?.attempts[1]?.deployment).not.toBe(holder.deployment);
  });

  it('zombie: a holder that slept changes nothing, and ends nothing that another one has begun', async () => {
    const world = start();
    await world.sim.clock.advance(10 * MINUTE + 20 * SECOND);
    const holder = holderOf(world);
    holder.pause();
    await world.sim.clock.advance(2 * kind.silentMs);
    holder.wake();
    await world.sim.clock.advance(3 * MINUTE);
    expect(byAttempt(world)).toEqual(again('00:10 1', '00:10 2'));
    expect(world.works.map((work) => work.isEnded)).toEqual(again(!kind.outlivesHolder, false));
    // What it does before that is refused.
    expect(world.works[0]?.refusals).not.toBe(0);
    expect(await endsOf(world)).toEqual([['00:10', 'succeeded', 'completed']]);
  });

  it('shutdown: another instance continues, and no attempt is used up', async () => {
    const world = start({}, { retry: { ...RETRY, attempts: 1 } });
    await world.sim.clock.advance(10 * MINUTE + 20 * SECOND);
    const draining = holderOf(world).drain();
    await world.sim.clock.advance(3 * MINUTE);
    await draining;
    expect(byAttempt(world)).toEqual(again('00:10 1', '00:10 2'));
    expect(await endsOf(world)).toEqual([['00:10', 'succeeded', 'completed']]);
  });

  it('cancel: the work is ended', async () => {
    const world = start();
    await world.sim.clock.advance(10 * MINUTE + 20 * SECOND);
    const { run } = await world.sim.row('close');
    const cancel = runIdOf('close' as JobName, run?.key ?? '');
    await world.sim.control('close', (control) => ({ ...control, cancel }));
    await world.sim.clock.advance(MINUTE);
    expect(world.works.map((work) => work.isEnded)).toEqual([true]);
    expect(await endsOf(world)).toEqual([['00:10', 'cancelled', 'cancelRequested']]);
  });

  it('timeout: the work of each attempt is ended', async () => {
    const world = start({}, { timeoutMs: 20 * SECOND });
    await world.sim.clock.advance(13 * MINUTE);
    expect(byAttempt(world)).toEqual(['00:10 1', '00:10 2']);
    expect(world.works.map((work) => work.isEnded)).toEqual([true, true]);
    expect(await endsOf(world)).toEqual([['00:10', 'timedOut', 'timeout']]);
  });

  it('retry: begins again after a failure', async () => {
    const world = start({ fails: [1] });
    await world.sim.clock.advance(13 * MINUTE);
    expect(byAttempt(world)).toEqual(['00:10 1', `00:10 ${next}`]);
    expect(await endsOf(world)).toEqual([['00:10', 'succeeded', 'completed']]);
  });

  it.each([
    ['skip', ['00:01 1', '00:03 1'], [false, false]],
    ['queue', ['00:01 1', '00:02 1', '00:03 1'], [false, false, false]],
    ['cancel', ['00:01 1', '00:02 1', '00:03 1'], [true, true, false]],
  ] as const)('overlap: %s', async (overlap, begun, ended) => {
    const world = start({ lastsMs: 70 * SECOND }, { schedule: '1-3 0 * * *', overlap });
    await world.sim.clock.advance(8 * MINUTE);
    expect(byAttempt(world)).toEqual(begun);
    expect(world.works.map((work) => work.isEnded)).toEqual(ended);
    expect(world.works.filter(({ besides = 0 }) => besides > 0)).toEqual([]);
    const middle = { skip: 'overlapped', queue: 'succeeded', cancel: 'cancelled' }[overlap];
    expect((await endsOf(world)).map(([, outcome]) => outcome)[1]).toBe(middle);
  });

  it('catch-up: runs the last of the due times that nobody served', async () => {
    const world = start();
    await world.sim.clock.advance(MINUTE);
    for (const instance of world.sim.instances) instance.pause();
    await world.sim.clock.advance(35 * MINUTE);
    for (const instance of world.sim.instances) instance.wake();
    await world.sim.clock.advance(2 * MINUTE);
    expect(byAttempt(world)).toEqual(['00:30 1']);
  });

  it('back-fill: runs the due times of a range again, with their own times', async () => {
    const world = start({ lastsMs: 5 * SECOND });
    await world.sim.clock.advance(41 * MINUTE);
    const before = world.works.length;
    await world.sim.control('close', () => ({
      ...NO_CONTROL,
      backfill: {
        ...{ id: 'fill', from: T0 + 10 * MINUTE, through: T0 + 30 * MINUTE, order: 'oldest', includeSucceeded: true },
        ...{ scheduleHash: 'hash of */10 * * * *', origin: { actor: 'ann', channel: 'shell' } },
        ...{ at: T0, stopped: undefined },
      },
    }));
    await world.sim.clock.advance(5 * MINUTE);
    expect(byAttempt(world).slice(before)).toEqual(['00:10 1', '00:20 1', '00:30 1']);
    const filled = (await world.sim.records('close')).filter(({ trigger }) => trigger === 'backfill');
    expect(filled.map(({ outcome }) => outcome)).toEqual(Array(3).fill('succeeded'));
  });

  it('groups: no two of a group are at work at once', async () => {
    const works: Work[] = [];
    const names = ['a', 'b', 'c'];
    const job = { lastsMs: 20 * SECOND };
    const sim = rivalTicks({
      jobs: names.map((name) =>
        jobSpec(name, '@hourly', { group: { name: 'db', maxParallel: 1 }, input: { rows: 1 }, leaseMs: 15_000 }),
      ),
      fanOut: Object.fromEntries(names.map((name) => [name, kind.handler({ ...job, name }, works)])),
      ...{ deployments: 2, start: T0 + 58 * MINUTE },
    });
    await sim.clock.advance(5 * MINUTE);
    expect(works.map((work) => work.job).toSorted()).toEqual(names);
    const begins = works.map(({ at }) => at);
    for (const [index, at] of begins.slice(1).entries()) {
      expect(at - (begins[index] ?? 0)).toBeGreaterThanOrEqual(job.lastsMs);
    }
  });

  it('spread: begins later than its due time, which it still has', async () => {
    const world = start({}, { offsetMs: 3 * MINUTE });
    await world.sim.clock.advance(15 * MINUTE);
    expect(byAttempt(world)).toEqual(['00:10 1']);
    expect(world.works[0]?.at).toBeGreaterThanOrEqual(T0 + 13 * MINUTE);
    expect(world.works[0]?.at).toBeLessThan(T0 + 13 * MINUTE + 2 * SECOND);
  });

  it('requires: waits for the success of another job', async () => {
    const other: Work[] = [];
    const works: Work[] = [];
    const common = { leaseMs: 15_000, input: { rows: 1 } };
    const sim = rivalTicks({
      jobs: [
        jobSpec('first', '@hourly', common),
        jobSpec('close', '@hourly', { ...common, requires: ['first' as JobName] }),
      ],
      fanOut: {
        first: kind.handler({ name: 'first', lastsMs: 30 * SECOND }, other),
        close: kind.handler({ name: 'close', lastsMs: 5 * SECOND }, works),
      },
      start: T0 + 58 * MINUTE,
    });
    await sim.clock.advance(5 * MINUTE);
    expect(works).toHaveLength(1);
    expect(works[0]?.at).toBeGreaterThanOrEqual((other[0]?.at ?? Infinity) + 30 * SECOND);
  });

  it('run now with another input: has that input', async () => {
    const world = start({}, { schedule: '@manual' });
    await world.sim.clock.advance(MINUTE);
    const spec = jobSpec('close', '@manual');
    await requestRun(world.sim, spec, { id: 'abc', input: { rows: 99 } });
    await world.sim.clock.advance(2 * MINUTE);
    await requestRun(world.sim, spec, { id: 'def' });
    await world.sim.clock.advance(2 * MINUTE);
    expect(world.works.map((work) => work.input)).toEqual([{ rows: 99 }, { rows: 7 }]);
  });
});
