import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { recordKey, runIdOf } from '../../src/core/key';
import { defineFanOut } from '../../src/handler/define-fan-out';
import type { JobContext } from '../../src/handler/handler';
import { describe as describeOutcome } from '../../src/operator/views/describe';
import { explainTime } from '../../src/operator/views/explain';
import { StoreUnavailableError } from '../../src/lease/store';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import type { Instance, SimulationOptions } from '../support/rival-ticks';
import { T0 } from '../support/situation';
import { type TimedHandlers, timedHandlers } from '../support/timed-handlers';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DUE = T0 + HOUR;
/** Free permits are given away this long after the due time. */
const TOGETHER_MS = 5;

/** One instance that runs one handler at once. */
function setUp(
  lasts: Readonly<Record<string, number>>,
  jobs: readonly JobSpec[],
  more: Partial<SimulationOptions> = {},
): TimedHandlers {
  return timedHandlers(lasts, { jobs, maxConcurrentRuns: 1, start: DUE - 2 * MINUTE, ...more });
}

/** A job that runs at the hour for so long, before the other one. */
const blocker = (settings: Partial<JobSpec> = {}): JobSpec =>
  jobSpec('blocker', '@hourly', { priority: 9, ...settings });
const waiter = (settings: Partial<JobSpec> = {}): JobSpec => jobSpec('waiter', '@hourly', settings);

describe('a limit of handlers', () => {
  it('lets the most important due times run first, and the ledger shows who waited', async () => {
    const priorities = [0, 3, 9, 5, 7, 1];
    const jobs = priorities.map((priority) => jobSpec(`p${String(priority)}`, '@hourly', { priority }));
    const { sim, most, started } = setUp({}, jobs, { maxConcurrentRuns: 2 });
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    expect(started()).toEqual(['p9', 'p7', 'p5', 'p3', 'p1', 'p0']);
    expect(most()).toBe(2);
    const records = await Promise.all(started().map(async (job) => (await sim.records(job))[0]));
    const waited = records.map((record) => record?.attempts[0]?.waitedForConcurrencyMs);
    expect(waited).toEqual([undefined, undefined, 1_005, 1_005, 2_005, 2_005]);
    expect(records.map((record) => record?.latenessMs)).toEqual([5, 5, 1_005, 1_005, 2_005, 2_005]);
    const why = async (job: string): Promise<string> => {
      return describeOutcome(await explainTime(sim.store, jobSpec(job, '@hourly'), 0, DUE), String);
    };
    expect(await why('p9')).toBe('The handler returned.');
    expect(await why('p5')).toBe(
      'The handler returned. Its handler had waited 1 s for the concurrency limit of its instance.',
    );
    const events = sim.events.filter(({ event }) => event === 'started');
    expect(events.map(({ waitedForConcurrencyMs }) => waitedForConcurrencyMs)).toEqual(waited);
  });

  it('of none leaves no trace', async () => {
    const { sim, most } = setUp({}, [blocker(), waiter()], { maxConcurrentRuns: undefined });
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    expect(most()).toBe(2);
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ latenessMs: 0, outcome: 'succeeded' });
    expect(record?.attempts[0]).not.toHaveProperty('waitedForConcurrencyMs');
  });

  it('holds no permit for an attempt that waits for its due time', async () => {
    const jobs = [
      jobSpec('early', '@at 2026-01-01T01:00:00Z', { priority: 9 }),
      jobSpec('now', '@at 2026-01-01T00:59:57Z'),
    ];
    expect(DUE).toBe(Date.UTC(2026, 0, 1, 1));
    const { sim, started } = setUp({ now: 2 * SECOND }, jobs);
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    expect(started()).toEqual(['now', 'early']);
    expect(sim.calls.map(({ at }) => at - DUE)).toEqual([-3 * SECOND + TOGETHER_MS, TOGETHER_MS]);
  });

  it('keeps a run claimed and its lease renewed while it waits', async () => {
    const { sim, on } = setUp({ blocker: 3 * MINUTE }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(await sim.row('waiter')).toMatchObject({ token: 1, phase: 'running' });
    expect(on.calls.get('renew') ?? 0).toBeGreaterThan(10);
    await sim.clock.advanceTo(DUE + 4 * MINUTE);
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'succeeded', token: 1, latenessMs: 3 * MINUTE + TOGETHER_MS });
    expect(record?.attempts).toMatchObject([{ attempt: 1, waitedForConcurrencyMs: 3 * MINUTE + TOGETHER_MS }]);
  });

  it('leaves a handler its whole timeout, however long it waited', async () => {
    const { sim } = setUp({ blocker: 2 * MINUTE, waiter: 50 * SECOND }, [blocker(), waiter({ timeoutMs: MINUTE })]);
    await sim.clock.advanceTo(DUE + 4 * MINUTE);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('gives the permit of a handler that ignores its signal to the next one', async () => {
    const stubborn = (context: JobContext, { coordinator: { clock } }: Instance): unknown =>
      context.job === 'blocker' ? sleep(clock, 10 * MINUTE) : undefined;
    const jobs = [blocker({ timeoutMs: 30 * SECOND, retry: { ...blocker().retry, attempts: 1 } }), waiter()];
    const { sim } = setUp({}, jobs, { handler: stubborn });
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    const [record] = await sim.records('waiter');
    // Its timeout and its grace.
    expect(record?.latenessMs).toBe(35 * SECOND + TOGETHER_MS);
    const [given] = await sim.records('blocker');
    expect(given?.attempts[0]?.error?.message).toBe(
      'job "blocker" took longer than its timeout of 30s; its handler had not ended 5s after its signal (grace), and was given up',
    );
  });

  it('does not count leader jobs, which would keep their permits', async () => {
    const { sim, started } = setUp({ leader: HOUR }, [jobSpec('leader', '@always'), waiter()]);
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    expect(started()).toEqual(['leader', 'waiter']);
    expect((await sim.records('waiter'))[0]?.latenessMs).toBe(TOGETHER_MS);
  });

  it('shows in lists how late the handler was, and how long it took', async () => {
    const { sim } = setUp({ blocker: 20 * SECOND, waiter: 3 * SECOND }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + HOUR + 10 * SECOND);
    const { recent } = await sim.row('waiter');
    expect(recent).toMatchObject([{ kind: 'run', latenessMs: 20 * SECOND + TOGETHER_MS, durationMs: 3 * SECOND }]);
  });
});

describe('a due time that waits for a permit beyond its window', () => {
  it.each<[string, Partial<JobSpec>, number]>([
    ['catchUpWindow', { catchUpWindowMs: 90 * SECOND }, 90 * SECOND],
    // With `none`, it is missed once it is older than its lease and 20 s.
    ['catchUp none', { catchUp: 'none' }, 50 * SECOND],
  ])('expires without its handler: %s', async (_, settings, window) => {
    const { sim, started } = setUp({ blocker: 5 * MINUTE }, [blocker(), waiter(settings)]);
    await sim.clock.advanceTo(DUE + window - SECOND);
    expect(await sim.records('waiter')).toEqual([]);
    await sim.clock.advanceTo(DUE + 10 * MINUTE);
    expect(started()).toEqual(['blocker']);
    const [record, ...others] = await sim.records('waiter');
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      outcome: 'expired',
      reason: 'concurrencyLimit',
      trigger: 'schedule',
      startedAt: null,
      latenessMs: null,
      attempts: [],
    });
    expect(Date.parse(record?.endedAt ?? '') - DUE).toBe(window);
    const why = describeOutcome(await explainTime(sim.store, waiter(settings), 0, DUE), String);
    expect(why).toContain('CRONLEASE_MAX_CONCURRENT_RUNS');
    const row = await sim.row('waiter');
    expect(row.failures).toBe(0);
    expect(row.recent).toMatchObject([
      { kind: 'gap', outcome: 'expired', reason: 'concurrencyLimit', scheduledFor: DUE },
    ]);
    expect(sim.events.filter(({ event, job }) => event === 'expired' && job === 'waiter')).toHaveLength(1);
    await sim.clock.advanceTo(DUE + HOUR + 6 * MINUTE);
    expect((await sim.records('waiter')).map(({ outcome }) => outcome)).toEqual(['expired', 'expired']);
  });

  it('overlaps with the due times that pass meanwhile, as any run does', async () => {
    const often = jobSpec('often', '* * * * *', { catchUpWindowMs: 150 * SECOND });
    const { sim } = setUp({ blocker: 4 * MINUTE }, [blocker(), often]);
    await sim.clock.advanceTo(DUE + 6 * MINUTE + 10 * SECOND);
    const records = await sim.records('often');
    const outcomes = records.map(({ scheduledFor, outcome }) => [(Date.parse(scheduledFor) - DUE) / MINUTE, outcome]);
    expect(outcomes).toEqual([
      [6, 'succeeded'],
      [5, 'succeeded'],
      [4, 'overlapped'],
      [3, 'succeeded'],
      [1, 'overlapped'],
      [0, 'expired'],
      [-1, 'succeeded'],
    ]);
    expect(records.find(({ outcome, count }) => outcome === 'overlapped' && count === 2)?.through).toBe(
      new Date(DUE + 2 * MINUTE).toISOString(),
    );
  });

  it('expires a request too, which lists do not show as a success', async () => {
    const { sim, started } = setUp({ blocker: 5 * MINUTE }, [
      blocker(),
      jobSpec('asked', '@manual', { catchUpWindowMs: MINUTE }),
    ]);
    await sim.clock.advanceTo(DUE + SECOND);
    const request = { number: 1, id: 'req1', time: DUE + SECOND };
    await sim.control('asked', (control) => ({ ...control, manualRuns: [request] }));
    await sim.clock.advanceTo(DUE + 10 * MINUTE);
    expect(started()).toEqual(['blocker']);
    expect(await sim.records('asked')).toMatchObject([
      { outcome: 'expired', reason: 'concurrencyLimit', trigger: 'manual' },
    ]);
    await sim.control('asked', (control) => ({
      ...control,
      manualRuns: [{ number: 2, id: 'req2', time: DUE + 10 * MINUTE }],
    }));
    await sim.clock.advanceTo(DUE + 13 * MINUTE);
    expect((await sim.row('asked')).recent).toMatchObject([{ kind: 'gap', outcome: 'expired' }]);
    expect(started()).toEqual(['blocker', 'asked']);
  });

  it('does not expire once its handler was called: a retry waits for as long as it takes', async () => {
    let calls = 0;
    const handler = async (context: JobContext, { coordinator: { clock } }: Instance): Promise<void> => {
      if (context.job === 'blocker') await sleep(clock, 3 * MINUTE, context.signal);
      else if ((calls += 1) === 1) throw new Error('first');
    };
    const jobs = [jobSpec('blocker', '@at 2026-01-01T01:00:05Z', { priority: 9 }), waiter({ catchUpWindowMs: MINUTE })];
    const { sim } = setUp({}, jobs, { handler });
    await sim.clock.advanceTo(DUE + 5 * MINUTE);
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'succeeded' });
    expect(
      record?.attempts.map(({ attempt, waitedForConcurrencyMs = 0 }) => [attempt, waitedForConcurrencyMs > 2 * MINUTE]),
    ).toEqual([
      [1, false],
      [2, true],
    ]);
  });
});

describe('an attempt that waits for a permit', () => {
  it('is handed on before the host ends its invocation, and uses up no attempt', async () => {
    const settings = { functionTimeoutMs: MINUTE };
    const jobs = [
      blocker({ timeoutMs: 50 * SECOND }),
      waiter({ timeoutMs: 30 * SECOND, retry: { ...waiter().retry, attempts: 1 } }),
    ];
    const { sim, on } = setUp({ blocker: 45 * SECOND }, jobs, { settings });
    let longest = 0;
    const waiting = new Map<unknown, number>();
    for (let at = DUE - 10 * SECOND; at <= DUE + 2 * MINUTE; at += SECOND) {
      await sim.clock.advanceTo(at);
      for (const one of on.coordinator.running) waiting.set(one, waiting.get(one) ?? at);
      for (const [one, since] of waiting)
        if (on.coordinator.running.has(one as never)) longest = Math.max(longest, at - since);
    }
    expect(longest).toBeLessThanOrEqual(MINUTE);
    const retrying = sim.events.filter(({ event, job }) => event === 'retrying' && job === 'waiter');
    expect(retrying.map(({ reason }) => reason)).toContain('concurrencyLimit');
    const [record] = await sim.records('waiter');
    expect(record).toMatchObject({ outcome: 'succeeded' });
    expect(record?.attempts).toHaveLength(1);
    expect(record?.latenessMs).toBeLessThan(50 * SECOND);
  });

  it('ends when its run is cancelled, and its permit goes to the next one', async () => {
    const next = jobSpec('next', '@hourly', { priority: 0 });
    const { sim, started } = setUp({ blocker: MINUTE }, [blocker(), waiter(), next]);
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    await sim.control('waiter', (control) => ({ ...control, cancel: runIdOf(waiter().name, recordKey(DUE)) }));
    await sim.clock.advanceTo(DUE + 30 * SECOND);
    expect(await sim.records('waiter')).toMatchObject([
      { outcome: 'cancelled', reason: 'cancelRequested', attempts: [] },
    ]);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(started()).toEqual(['blocker', 'next']);
  });

  it('is resumed elsewhere when its instance is shut down', async () => {
    const { sim, on } = setUp({ blocker: 5 * MINUTE }, [blocker(), waiter()]);
    await sim.clock.advanceTo(DUE + 10 * SECOND);
    const other = sim.startInstance('d2');
    void on.drain();
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    const call = sim.calls.find(({ job, deployment }) => job === 'waiter' || deployment === other.deployment);
    expect(call).toBeDefined();
    await sim.clock.advanceTo(DUE + 10 * MINUTE);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'succeeded' }]);
    expect(sim.calls.filter(({ job }) => job === 'waiter')).toHaveLength(1);
  });

  it('ends without effect when its lease is lost, and leaves its permit to others', async () => {
    const { sim, on, started } = setUp({ blocker: 2 * MINUTE }, [
      blocker({ leaseMs: 60_000 }),
      waiter({ leaseMs: 15_000 }),
    ]);
    interceptStore(on, 'renew', (renew) => async (job, ...rest) => {
      return job === 'waiter' && sim.clock.now() < DUE + 8 * SECOND ? 'lost' : renew(job, ...rest);
    });
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect(sim.events.some(({ event, job }) => event === 'superseded' && job === 'waiter')).toBe(true);
    expect(started()).toEqual(['blocker', 'waiter']);
  });
});

describe('a job that is paused while its run waits for a permit', () => {
  /** The pause begins so long after the due time. */
  async function pauseAt(setup: TimedHandlers, ms: number, job = 'waiter'): Promise<void> {
    await setup.sim.clock.advanceTo(DUE + ms);
    const pause = { by: 'ann', note: 'incident', since: DUE + ms, until: undefined };
    await setup.sim.control(job, (control) => ({ ...control, pauses: [pause] }));
  }

  it('does not start, and its due time is recorded as paused', async () => {
    const setup = setUp({ blocker: 34 * SECOND }, [blocker(), waiter()]);
    const { sim, on, started } = setup;
    await pauseAt(setup, 29 * SECOND);
    const before = on.calls.get('readControl') ?? 0;
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(started()).toEqual(['blocker']);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'paused', reason: 'paused', attempts: [] }]);
    expect((await sim.row('waiter')).recent).toMatchObject([{ kind: 'gap', outcome: 'paused' }]);
    // The last renewal had read it 9 s before the permit was free.
    expect((on.calls.get('readControl') ?? 0) - before).toBe(1);
    // The permit is free again.
    await sim.control('waiter', (control) => ({ ...control, pauses: [] }));
    await sim.clock.advanceTo(DUE + HOUR + MINUTE);
    expect(started()).toEqual(['blocker', 'blocker', 'waiter']);
  });

  it('does not start although its control is not read again, where a renewal has just read it', async () => {
    const setup = setUp({ blocker: 28 * SECOND }, [blocker(), waiter()]);
    const { sim, on, started } = setup;
    await pauseAt(setup, 20 * SECOND);
    await sim.clock.advanceTo(DUE + 27 * SECOND);
    const before = on.calls.get('readControl') ?? 0;
    await sim.clock.advanceTo(DUE + 32 * SECOND);
    expect(started()).toEqual(['blocker']);
    expect((on.calls.get('readControl') ?? 0) - before).toBe(0);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'paused' }]);
  });

  it('starts after a wait of 5 s or less, without a call', async () => {
    const setup = setUp({ blocker: 4 * SECOND }, [blocker(), waiter()]);
    await pauseAt(setup, SECOND);
    const before = setup.on.calls.get('readControl') ?? 0;
    await setup.sim.clock.advanceTo(DUE + 4.5 * SECOND);
    expect(setup.started()).toEqual(['blocker', 'waiter']);
    expect((setup.on.calls.get('readControl') ?? 0) - before).toBe(0);
  });

  it('starts where its control cannot be read', async () => {
    const setup = setUp({ blocker: 34 * SECOND }, [blocker(), waiter()]);
    await pauseAt(setup, 29 * SECOND);
    interceptStore(setup.on, 'readControl', () => () => Promise.reject(new StoreUnavailableError('gone')));
    await setup.sim.clock.advanceTo(DUE + 36 * SECOND);
    expect(setup.started()).toEqual(['blocker', 'waiter']);
  });

  it('is not shown among the last outcomes with a due time that was back-filled', async () => {
    const daily = jobSpec('waiter', '0 0 * * *');
    const setup = setUp({ blocker: 40 * SECOND }, [blocker(), daily]);
    const { sim, started } = setup;
    await sim.clock.advanceTo(DUE + SECOND);
    const range = { from: T0, through: T0, order: 'oldest', includeSucceeded: true } as const;
    const origin = { actor: 'ann', channel: 'shell' } as const;
    const { scheduleHash } = daily;
    const backfill = { id: 'bf1', ...range, scheduleHash, origin, at: DUE + SECOND, stopped: undefined };
    await sim.control('waiter', (control) => ({ ...control, backfill }));
    await pauseAt(setup, 20 * SECOND);
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(started()).toEqual(['blocker']);
    expect(await sim.records('waiter')).toMatchObject([{ outcome: 'paused', trigger: 'backfill' }]);
    expect((await sim.row('waiter')).recent).toEqual([]);
  });

  it('starts if a person asked for the run', async () => {
    const setup = setUp({ blocker: 40 * SECOND }, [blocker(), jobSpec('asked', '@manual')]);
    const { sim, started } = setup;
    const request = { number: 1, id: 'req1', time: DUE + SECOND };
    await sim.clock.advanceTo(DUE + SECOND);
    await sim.control('asked', (control) => ({ ...control, manualRuns: [request] }));
    const asked = async (): Promise<boolean> => (await sim.row('asked')).token > 0;
    for (let at = 2; !(await asked()) && at < 30; at += 1) await sim.clock.advanceTo(DUE + at * SECOND);
    const pause = { by: 'ann', note: 'incident', since: sim.clock.now(), until: undefined };
    await sim.control('asked', (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advanceTo(DUE + 2 * MINUTE);
    expect(started()).toEqual(['blocker', 'asked']);
  });
});

describe('the items of a fan-out', () => {
  it('take permits too, one each', async () => {
    const running = { now: 0, most: 0, done: 0 };
    const fanOut = (on: Instance) =>
      defineFanOut<unknown, number, number>({
        concurrency: 4,
        plan: () => [1, 2, 3, 4],
        each: async (_context, item) => {
          running.now += 1;
          running.most = Math.max(running.most, running.now);
          await sleep(on.coordinator.clock, SECOND);
          running.now -= 1;
          running.done += 1;
          return item;
        },
        gather: () => undefined,
      });
    const { sim } = setUp({}, [jobSpec('wide', '@hourly')], { fanOut: { wide: fanOut }, maxConcurrentRuns: 2 });
    await sim.clock.advanceTo(DUE + MINUTE);
    expect(running).toEqual({ now: 0, most: 2, done: 4 });
    expect(await sim.records('wide')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('wait for as long as the run wants them, and call no attempt their own that never began', async () => {
    const attempts: number[] = [];
    const fanOut = () =>
      defineFanOut<unknown, number, number>({
        plan: () => [1],
        itemRetry: { attempts: 1 },
        itemTimeout: '20s',
        each: ({ attempt }, item) => {
          attempts.push(attempt);
          return item;
        },
        gather: () => undefined,
      });
    const jobs = [
      jobSpec('blocker', '@at 2026-01-01T01:00:01Z', { priority: 9, timeoutMs: 50 * SECOND }),
      jobSpec('wide', '@hourly', { timeoutMs: 20 * SECOND }),
    ];
    // The item's invocation may wait for 60 - 20 - 2 * 5 - 10 s.
    const { sim } = setUp({ blocker: 45 * SECOND }, jobs, {
      fanOut: { wide: fanOut },
      settings: { functionTimeoutMs: MINUTE },
    });
    await sim.clock.advanceTo(DUE + 3 * MINUTE);
    expect(attempts).toEqual([1]);
    expect(await sim.records('wide')).toMatchObject([{ outcome: 'succeeded' }]);
  });
});
