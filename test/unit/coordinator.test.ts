import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { StoreUnavailableError } from '../../src/lease/store';
import { firstInstance } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

const outcomes = async (sim: RivalTicks, job: string): Promise<Record<string, string | null>> =>
  Object.fromEntries((await sim.records(job)).map((record) => [record.scheduledFor.slice(11, 19), record.outcome]));

describe('an undisturbed job', () => {
  it('runs each due time once, on time, whoever else races', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 3 });
    await sim.clock.advance(20 * MINUTE + 30_000);
    expect(sim.calls.map((call) => call.at - call.scheduledFor)).toEqual(Array(20).fill(0));
    expect(sim.calls.map((call) => call.scheduledFor)).toEqual(
      Array.from({ length: 20 }, (_, index) => T0 + (index + 1) * MINUTE),
    );
    expect((await sim.records('a')).map((record) => record.outcome)).toEqual(Array(20).fill('succeeded'));
    expect((await sim.row('a')).token).toBe(20);
  });

  it('costs four calls a run: acquire, row, record, release', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/5 * * * *')], deployments: 1 });
    await sim.clock.advance(4 * MINUTE);
    const [instance] = sim.instances;
    instance?.calls.clear();
    await sim.clock.advance(5 * MINUTE);
    const { list, ...calls } = Object.fromEntries(instance?.calls ?? []);
    expect(calls).toEqual({ acquire: 1, writeRow: 1, createRecord: 1, release: 1 });
    expect(list).toBeLessThanOrEqual(8);
  });

  it('costs the losers of a race nothing but their listings', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/5 * * * *')], deployments: 3 });
    await sim.clock.advance(6 * MINUTE);
    for (const instance of sim.instances) instance.calls.clear();
    await sim.clock.advance(20 * MINUTE);
    const incumbent = (await sim.row('a')).incumbent;
    for (const { deployment, calls } of sim.instances) {
      const { list: _, ...others } = Object.fromEntries(calls);
      expect(others).toEqual(deployment === incumbent ? { acquire: 4, writeRow: 4, createRecord: 4, release: 4 } : {});
    }
  });

  it('runs every second without a gap', async () => {
    const jobs = Array.from({ length: 5 }, (_, index) => jobSpec(`a${String(index)}`, '* * * * * *'));
    const sim = rivalTicks({ jobs, deployments: 3 });
    await sim.clock.advance(60_000);
    sim.calls.length = 0;
    await sim.clock.advance(60_000);
    expect(sim.calls).toHaveLength(300);
    expect(Math.max(...sim.calls.map((call) => call.at - call.scheduledFor))).toBe(0);
  });
});

describe('a tick that stays for its sweeps', () => {
  it('looks again as soon as a claim of its own is over', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '* * * * * *')],
      deployments: 3,
      sweepIntervalMs: 2_000,
      latencyMs: 20,
    });
    await sim.clock.advance(15_000);
    sim.calls.length = 0;
    await sim.clock.advance(45_000);
    expect(sim.calls).toHaveLength(45);
    expect(sim.calls.filter((call) => call.at > call.scheduledFor)).toEqual([]);
    expect(new Set(sim.calls.map((call) => call.deployment)).size).toBe(1);
  });
});

describe('a tick that is called a little before its time', () => {
  it('serves the stretch up to the next fire all the same', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@at 2026-01-01T00:00:30Z')], ticksEarlyMs: 20 });
    await sim.clock.advance(40_000);
    expect(sim.calls.map((call) => call.at - call.scheduledFor)).toEqual([0]);
    expect(sim.instances[0]?.ticks()).toBe(3);
  });
});

describe('a holder that dies', () => {
  it('is taken over with a higher token within lease and one tick', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '*/10 * * * *')],
      deployments: 3,
      handler: (context, on) => {
        if (context.attempt === 1) {
          on.kill();
          return new Promise(() => undefined);
        }
        return 'done';
      },
    });
    await sim.clock.advance(15 * MINUTE);
    expect(sim.calls.map(({ attempt, trigger, token }) => ({ attempt, trigger, token }))).toEqual([
      { attempt: 1, trigger: 'schedule', token: 1 },
      { attempt: 2, trigger: 'takeOver', token: 2 },
    ]);
    expect((sim.calls[1]?.at ?? 0) - (sim.calls[0]?.at ?? 0)).toBeLessThanOrEqual(47_000);
    const [record] = await sim.records('a');
    expect(record).toMatchObject({ outcome: 'succeeded', trigger: 'schedule', token: 2, result: 'done' });
    expect(record?.attempts.map((attempt) => [attempt.outcome, attempt.endedAt === null])).toEqual([
      ['holderLost', true],
      ['succeeded', false],
    ]);
  });

  it('between its claim and the due time leaves no start and no lateness in the ledger', async () => {
    const due = T0 + 10 * MINUTE;
    const sim = rivalTicks({ jobs: [jobSpec('a', '@at 2026-01-01T00:10:00Z')] });
    await sim.clock.advanceTo(due - 2_000);
    expect((await sim.row('a')).phase).toBe('running');
    sim.instances[0]?.kill();
    sim.startInstance('d2');
    await sim.clock.advance(2 * MINUTE);
    expect(sim.calls).toHaveLength(1);
    const called = sim.calls[0]?.at ?? 0;
    const [record] = await sim.records('a');
    expect(record).toMatchObject({
      ...{ outcome: 'succeeded', startedAt: new Date(called).toISOString(), latenessMs: called - due },
      attempts: [
        { outcome: 'holderLost', startedAt: null, endedAt: null, handlerStarted: 'unknown' },
        { outcome: 'succeeded', startedAt: new Date(called).toISOString() },
      ],
    });
    expect(record?.attempts[1]).not.toHaveProperty('handlerStarted');
    const claimedAt = Date.parse(record?.attempts[0]?.claimedAt ?? '');
    expect(claimedAt).toBeGreaterThanOrEqual(due - 5_100);
    expect(claimedAt).toBeLessThan(due - 2_000);
    // From here on `overlap` counts the run as going on.
    expect(Math.abs(Date.parse(record?.claimedAt ?? '') - claimedAt)).toBeLessThan(1_000);
  });

  it('fails its run once the attempts are used up by dead holders', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z', { retry: { ...jobSpec('a', '@hourly').retry, attempts: 2 } })],
      deployments: 3,
      handler: (_context, on) => {
        on.kill();
        return new Promise(() => undefined);
      },
    });
    await sim.clock.advance(15 * MINUTE);
    expect(sim.calls).toHaveLength(2);
    const [record] = await sim.records('a');
    expect(record).toMatchObject({ outcome: 'failed', reason: 'holderLost', state: 'final' });
    expect(record?.attempts.map((attempt) => attempt.outcome)).toEqual(['holderLost', 'holderLost']);
  });
});

describe('a leader that was paused', () => {
  it('sees its signal aborted when it wakes, and its fence refuses', async () => {
    let aborted: unknown;
    let refused: unknown;
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')],
      deployments: 2,
      handler: async (context, on) => {
        if (context.attempt > 1) return 'successor';
        context.signal.addEventListener('abort', () => {
          aborted = context.signal.reason;
          try {
            context.fence.check();
          } catch (error) {
            refused = error;
          }
        });
        on.pause();
        return new Promise(() => undefined);
      },
    });
    await sim.clock.advance(8 * MINUTE);
    expect(sim.calls).toHaveLength(2);
    expect(aborted).toBeUndefined();
    for (const instance of sim.instances) instance.wake();
    await sim.clock.advance(200);
    expect(aborted).toMatchObject({ code: 'leaseLost' });
    expect(refused).toMatchObject({ code: 'StaleLeader' });
    expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded', token: 2, result: 'successor' }]);
  });
});

describe('retries', () => {
  it('try again after the back-off, with a token each, and keep every error', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')],
      deployments: 2,
      handler: ({ attempt }) => {
        if (attempt < 3) throw new Error(`no ${String(attempt)}`);
        return { attempt };
      },
    });
    await sim.clock.advance(8 * MINUTE);
    expect(sim.calls.map((call) => call.at - (sim.calls[0]?.at ?? 0))).toEqual([0, 10_005, 30_010]);
    const [record] = await sim.records('a');
    expect(record).toMatchObject({ outcome: 'succeeded', token: 3, result: { attempt: 3 } });
    expect(record?.attempts.map((attempt) => attempt.error?.message ?? null)).toEqual(['no 1', 'no 2', null]);
  });

  it('end in the outcome of the last attempt', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')],
      handler: () => {
        throw new Error('never');
      },
    });
    await sim.clock.advance(10 * MINUTE);
    expect(sim.calls).toHaveLength(3);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', reason: 'handlerError' }]);
    expect((await sim.row('a')).failures).toBe(1);
  });
});

describe('draining', () => {
  it('hands the run over at once, and does not count the attempt', async () => {
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z', { retry: { ...jobSpec('a', '@hourly').retry, attempts: 1 } })],
      deployments: 2,
      handler: ({ attempt, signal }) =>
        attempt > 1
          ? 'elsewhere'
          : new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                reject(new Error('stopped'));
              });
            }),
    });
    await sim.clock.advanceTo(T0 + 5 * MINUTE + 2_000);
    const first = sim.instances.find((instance) => instance.deployment === sim.calls[0]?.deployment);
    const drained = first?.drain();
    await sim.clock.advance(20_000);
    await drained;
    expect(sim.calls.map((call) => call.attempt)).toEqual([1, 2]);
    expect((sim.calls[1]?.at ?? 0) - (sim.calls[0]?.at ?? 0)).toBeLessThan(17_500);
    const [record] = await sim.records('a');
    expect(record).toMatchObject({ outcome: 'succeeded', result: 'elsewhere' });
    expect(record?.attempts.map((attempt) => attempt.outcome)).toEqual(['draining', 'succeeded']);
  });
});

describe('overlap', () => {
  const slow = (sim: () => RivalTicks) => async () => {
    const { clock, calls } = sim();
    if (calls.length === 1) await sleep(clock, 150_000);
  };

  it('skip: due times during the run are overlapped', async () => {
    const sim: RivalTicks = rivalTicks({ jobs: [jobSpec('a', '* * * * *')], deployments: 2, handler: slow(() => sim) });
    await sim.clock.advance(6 * MINUTE);
    expect(await outcomes(sim, 'a')).toMatchObject({
      '00:01:00': 'succeeded',
      '00:02:00': 'overlapped',
      '00:04:00': 'succeeded',
      '00:05:00': 'succeeded',
    });
    const range = (await sim.records('a')).find((record) => record.outcome === 'overlapped');
    expect(range).toMatchObject({ reason: 'overlapSkip', count: 2, through: '2026-01-01T00:03:00.000Z' });
  });

  it('queue: the newest one runs right after, the others are overlapped', async () => {
    const jobs = [jobSpec('a', '* * * * *', { overlap: 'queue' })];
    const sim: RivalTicks = rivalTicks({ jobs, deployments: 2, handler: slow(() => sim) });
    await sim.clock.advance(6 * MINUTE);
    expect(await outcomes(sim, 'a')).toMatchObject({
      '00:02:00': 'overlapped',
      '00:03:00': 'succeeded',
      '00:04:00': 'succeeded',
    });
    const queued = sim.calls.find((call) => call.scheduledFor === T0 + 3 * MINUTE);
    expect((queued?.at ?? 0) - (T0 + MINUTE + 150_000)).toBeLessThan(5_000);
  });

  it('cancel: the running attempt gives way at the due time', async () => {
    const jobs = [jobSpec('a', '* * * * *', { overlap: 'cancel' })];
    const sim: RivalTicks = rivalTicks({
      jobs,
      deployments: 2,
      handler: ({ signal }) =>
        sim.calls.length > 1
          ? undefined
          : new Promise((resolve) => {
              signal.addEventListener('abort', resolve);
            }),
    });
    await sim.clock.advance(4 * MINUTE);
    expect(await outcomes(sim, 'a')).toMatchObject({
      '00:01:00': 'cancelled',
      '00:02:00': 'succeeded',
      '00:03:00': 'succeeded',
    });
    expect((sim.calls[1]?.at ?? 0) - (T0 + 2 * MINUTE)).toBeLessThan(3_000);
  });

  it('cancel: a run that has ended no longer asks whether a due time is paused', async () => {
    // 00:02 comes during the run of 00:01, which ends before the control could be read.
    const jobs = [jobSpec('a', '1,2 0 * * *', { overlap: 'cancel' })];
    const sim: RivalTicks = rivalTicks({ jobs, handler: () => sleep(sim.clock, MINUTE + 500) });
    interceptStore(firstInstance(sim), 'readControl', () => () => Promise.reject(new StoreUnavailableError('gone')));
    await sim.clock.advance(5 * MINUTE);
    expect(await outcomes(sim, 'a')).toMatchObject({ '00:01:00': 'succeeded' });
    sim.trouble.length = 0;
    await sim.clock.advance(10 * MINUTE);
    expect(sim.trouble).toEqual([]);
  });
});

describe('a backlog of a job that cancels', () => {
  it('runs each in turn: what passed before a run began does not cancel it', async () => {
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '* * * * *', { overlap: 'cancel', catchUp: 'all' })],
      handler: () => sleep(sim.clock, 500),
    });
    await sim.clock.advance(3 * MINUTE + 30_000);
    sim.instances[0]?.kill();
    await sim.clock.advance(7 * MINUTE);
    sim.startInstance('d1');
    await sim.clock.advance(4 * MINUTE);
    const records = await sim.records('a');
    expect(records.length).toBeGreaterThanOrEqual(14);
    expect(new Set(records.map((record) => record.outcome))).toEqual(new Set(['succeeded']));
  });
});

describe('a probe that is lost', () => {
  it('is sent again, so that the deployment races after all', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
    const [instance] = sim.instances;
    if (instance !== undefined) instance.hubDead = true;
    await sim.clock.advance(12_000);
    if (instance !== undefined) instance.hubDead = false;
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2);
    expect(instance?.coordinator.health.healthy).toBe(true);
  });
});
