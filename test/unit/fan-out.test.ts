import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { type FanOutOptions, type ItemContext, defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import { StoreUnavailableError } from '../../src/lease/store';
import { readAtWork } from '../../src/operator/views/runs';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

interface ItemCall {
  readonly index: number;
  readonly attempt: number;
  readonly at: number;
  readonly on: Instance;
  ended?: number;
  outcome?: 'done' | 'failed' | 'aborted';
}

interface Setup {
  readonly sim: RivalTicks;
  readonly items: ItemCall[];
  readonly gathered: unknown[];
  plans: number;
  slept: boolean;
}

interface Behaviour extends Partial<Pick<FanOutOptions<unknown, number, string>, 'concurrency' | 'onItemFailure'>> {
  readonly count?: number;
  readonly deadline?: string;
  readonly itemTimeout?: string;
  readonly attempts?: number;
  readonly backoff?: string;
  /** How long the plan and the gathering take. */
  readonly leaderMs?: number;
  readonly each?: (context: ItemContext, item: number, on: Instance) => Promise<string>;
}

/** Two instances of one deployment, and a job that is due each ten minutes and has `count` items of 1 s. */
function setUp(behaviour: Behaviour = {}, spec: Partial<JobSpec> = {}, more: Partial<SimulationOptions> = {}): Setup {
  const { count = 6, leaderMs = 0, attempts = 3 } = behaviour;
  const setup: Omit<Setup, 'sim'> = { items: [], gathered: [], plans: 0, slept: false };
  const handler = (on: Instance) => {
    const { clock } = on.coordinator;
    return defineFanOut<unknown, number, string>({
      concurrency: behaviour.concurrency ?? 3,
      onItemFailure: behaviour.onItemFailure ?? 'failFast',
      ...(behaviour.deadline === undefined ? {} : { deadline: behaviour.deadline }),
      ...(behaviour.itemTimeout === undefined ? {} : { itemTimeout: behaviour.itemTimeout }),
      itemRetry: { attempts, backoff: behaviour.backoff ?? '2s', jitter: 'none' },
      plan: async () => {
        setup.plans += 1;
        await sleep(clock, leaderMs);
        return Array.from({ length: count }, (_, index) => index * 10);
      },
      each: async (context, item) => {
        const call: ItemCall = { index: context.index, attempt: context.attempt, at: clock.now(), on };
        setup.items.push(call);
        try {
          const result = await (behaviour.each?.(context, item, on) ?? work(context, item, on));
          call.outcome = context.signal.aborted ? 'aborted' : 'done';
          return result;
        } catch (error) {
          call.outcome = context.signal.aborted ? 'aborted' : 'failed';
          throw error;
        } finally {
          call.ended = clock.now();
        }
      },
      gather: async (context, outcomes) => {
        await sleep(clock, leaderMs);
        setup.gathered.push(outcomes);
        return { token: context.fence.token, attempt: context.attempt };
      },
    });
  };
  const sim = rivalTicks({
    jobs: [jobSpec('wide', '*/10 * * * *', { leaseMs: 15_000, ...spec })],
    fanOut: { wide: handler },
    sweepIntervalMs: 2_000,
    ...more,
  });
  sim.startInstance('d1');
  return Object.assign(setup, { sim });
}

async function work({ signal }: ItemContext, item: number, { coordinator }: Instance): Promise<string> {
  await sleep(coordinator.clock, 1_000, signal);
  if (signal.aborted) throw signal.reason;
  return `done ${String(item)}`;
}

const DONE = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    state: 'succeeded',
    index,
    item: index * 10,
    result: `done ${String(index * 10)}`,
  }));

async function pieces(sim: RivalTicks): Promise<readonly string[]> {
  const { pieces: found } = await sim.store.listPieces('wide' as JobName, { limit: 5000 });
  return found.map(({ name }) => name);
}

async function last(sim: RivalTicks) {
  const [record] = await sim.records('wide');
  if (record === undefined) throw new Error('no record yet');
  return record;
}

describe('a job that fans out', () => {
  it('plans, works on its items over all instances, and gathers in the order of the plan', async () => {
    const setup = setUp();
    await setup.sim.clock.advance(11 * MINUTE);
    expect(setup.plans).toBe(1);
    expect(setup.items.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(new Set(setup.items.map(({ on }) => on)).size).toBe(2);
    expect(setup.gathered).toEqual([DONE(6)]);
    const record = await last(setup.sim);
    expect(record).toMatchObject({ outcome: 'succeeded', reason: 'completed', result: { token: 2, attempt: 2 } });
    expect(record.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'planned'],
      [2, 'succeeded'],
    ]);
    expect(record.latenessMs).toBe(0);
  });

  it('keeps the state, the attempts and the duration of each item in its record, failed ones first', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 4) throw new Error(`no room\n${'x'.repeat(500)}`);
      const result = await work(context, item, on);
      if (context.index === 1 && context.attempt < 3) throw new Error('not yet');
      return result;
    };
    const setup = setUp({ each, onItemFailure: 'collect' });
    await setup.sim.clock.advance(11 * MINUTE);
    const done = { state: 'succeeded', attempts: 1, durationMs: 1_000 };
    const { items } = await last(setup.sim);
    const waitedMs = expect.any(Number) as number;
    expect(items).toEqual({
      ...{ planned: 6, succeeded: 5, failed: 1, leftOut: 0 },
      lines: [
        { index: 4, state: 'failed', attempts: 3, durationMs: 0, waitedMs, error: 'Error: no room' },
        { index: 0, ...done },
        // The handler's time in all three calls.
        { index: 1, ...done, attempts: 3, durationMs: 3_000, waitedMs },
        ...[2, 3, 5].map((index) => ({ index, ...done })),
      ],
    });
    expect(setup.gathered[0]).toContainEqual({
      ...{ state: 'failed', index: 4, item: 40, attempts: 3 },
      error: expect.objectContaining({ name: 'Error' }) as unknown,
    });
  });

  it('goes on while an instance of its deployment still has a file without it', async () => {
    const { sim, items } = setUp();
    sim.startInstance('d1', { jobs: [jobSpec('other', '@hourly')] });
    await sim.clock.advance(15 * MINUTE);
    const record = await last(sim);
    expect(record).toMatchObject({
      outcome: 'succeeded',
      attempts: [{ outcome: 'planned' }, { outcome: 'succeeded' }],
    });
    expect(new Set(items.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  });

  it('leaves nothing behind, and does all of it anew at the next due time', async () => {
    const setup = setUp();
    await setup.sim.clock.advance(21 * MINUTE);
    expect(setup.plans).toBe(2);
    expect(setup.items).toHaveLength(12);
    expect(await pieces(setup.sim)).toEqual([]);
  });

  it('works on no more items at once than it may', async () => {
    const setup = setUp({ count: 20, concurrency: 4 });
    await setup.sim.clock.advance(11 * MINUTE);
    const atOnce = setup.items.map(
      ({ at }) => setup.items.filter((other) => other.at <= at && (other.ended ?? Infinity) > at).length,
    );
    expect(Math.max(...atOnce)).toBe(4);
    expect(setup.gathered).toEqual([DONE(20)]);
  });

  it('gathers at once where there is nothing to do', async () => {
    const setup = setUp({ count: 0 });
    await setup.sim.clock.advance(11 * MINUTE);
    expect(setup.gathered).toEqual([[]]);
    expect(await last(setup.sim)).toMatchObject({ outcome: 'succeeded', attempts: [{ attempt: 1 }] });
  });

  it('leaves the lease free while items run, and nobody takes the run over', async () => {
    const slow = async ({ signal }: ItemContext, item: number, on: Instance): Promise<string> => {
      await sleep(on.coordinator.clock, 50_000, signal);
      return `done ${String(item)}`;
    };
    const setup = setUp({ count: 3, each: slow }, {}, { deployments: 3 });
    await setup.sim.clock.advance(10 * MINUTE + 40_000);
    expect(await setup.sim.store.readRow('wide' as JobName)).toMatchObject({ lease: 'available' });
    expect((await setup.sim.row('wide')).phase).toBe('fanning');
    await setup.sim.clock.advance(MINUTE);
    expect(setup.plans).toBe(1);
    expect(setup.items).toHaveLength(3);
    expect(setup.gathered).toEqual([DONE(3)]);
  });

  it('overlaps what is due while its items run', async () => {
    const slow = async ({ signal }: ItemContext, item: number, on: Instance): Promise<string> => {
      await sleep(on.coordinator.clock, 90_000, signal);
      return `done ${String(item)}`;
    };
    const sim = setUp({ count: 3, each: slow, deadline: '5m' }, { ...jobSpec('wide', '* * * * *'), leaseMs: 15_000 });
    await sim.sim.clock.advance(4 * MINUTE);
    const outcomes = (await sim.sim.records('wide')).map(({ scheduledFor, outcome }) => [
      scheduledFor.slice(14, 16),
      outcome,
    ]);
    expect(outcomes).toContainEqual(['01', 'succeeded']);
    expect(outcomes).toContainEqual(['02', 'overlapped']);
  });
});

describe('an item that fails', () => {
  it('is tried again by itself, behind the others', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 1 && context.attempt < 3) throw new Error('not yet');
      return work(context, item, on);
    };
    const setup = setUp({ each });
    await setup.sim.clock.advance(11 * MINUTE);
    const attempts = Map.groupBy(setup.items, ({ index }) => index);
    expect([...attempts].map(([index, calls]) => [index, calls.length]).toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
      [0, 1],
      [1, 3],
      [2, 1],
      [3, 1],
      [4, 1],
      [5, 1],
    ]);
    const [first, second, third] = attempts.get(1) ?? [];
    expect((second?.at ?? 0) - (first?.ended ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect((third?.at ?? 0) - (second?.ended ?? 0)).toBeGreaterThanOrEqual(4_000);
    expect(setup.gathered).toEqual([DONE(6)]);
  });

  it('ends the run with failFast: no more items are started, nothing is gathered, nothing is tried again', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 1) throw new Error('for good');
      return work(context, item, on);
    };
    const setup = setUp({ each, count: 30, concurrency: 3, attempts: 1 });
    await setup.sim.clock.advance(15 * MINUTE);
    expect(setup.items.length).toBeLessThan(8);
    expect(setup.gathered).toEqual([]);
    expect(await last(setup.sim)).toMatchObject({ outcome: 'failed', reason: 'itemFailed' });
    expect((await last(setup.sim)).attempts.at(-1)?.error?.message).toBe('item 1: for good');
    expect(await pieces(setup.sim)).toEqual([]);
  });

  it('is told to gather with collect', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 1) throw new NonRetryableError('for good');
      return work(context, item, on);
    };
    const setup = setUp({ each, onItemFailure: 'collect' });
    await setup.sim.clock.advance(11 * MINUTE);
    expect(setup.items).toHaveLength(6);
    const failed = { state: 'failed', index: 1, item: 10, attempts: 1, error: { message: 'for good' } };
    const expected = DONE(6).map((outcome, index) => (index === 1 ? failed : outcome));
    expect(setup.gathered).toMatchObject([expected]);
    expect(await last(setup.sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('is aborted after its timeout, and fails with what the ledger cannot hold', async () => {
    const each = async ({ index, signal }: ItemContext, _item: number, on: Instance): Promise<string> => {
      if (index === 0) return 'x'.repeat(40_000);
      await sleep(on.coordinator.clock, 60_000, signal);
      throw signal.reason;
    };
    const setup = setUp({ each, count: 2, onItemFailure: 'collect', itemTimeout: '5s', attempts: 2 });
    await setup.sim.clock.advance(11 * MINUTE);
    expect(setup.gathered).toMatchObject([
      [
        { state: 'failed', attempts: 1, error: { name: 'InvalidResultError' } },
        { state: 'failed', attempts: 2, error: { message: 'item 1 of job "wide" took longer than its timeout of 5s' } },
      ],
    ]);
    expect(setup.items.filter(({ index }) => index === 1)).toHaveLength(2);
  });
});

describe('a run that is cancelled while its items run', () => {
  it('starts no more items, aborts those that run, and ends cancelled', async () => {
    const each = async ({ signal }: ItemContext, item: number, on: Instance): Promise<string> => {
      await sleep(on.coordinator.clock, 20_000, signal);
      if (signal.aborted) throw signal.reason;
      return `done ${String(item)}`;
    };
    const setup = setUp({ each, count: 9 });
    await setup.sim.clock.advance(10 * MINUTE + 5_000);
    const runId = setup.sim.events.find(({ event }) => event === 'fannedOut')?.runId;
    await setup.sim.control('wide', (control) => ({ ...control, cancel: runId }));
    await setup.sim.clock.advance(MINUTE);
    expect(setup.items.map(({ outcome }) => outcome)).toEqual(['aborted', 'aborted', 'aborted']);
    expect(Math.max(...setup.items.map(({ ended = Infinity }) => ended)) - T0).toBeLessThan(10 * MINUTE + 15_000);
    expect(await last(setup.sim)).toMatchObject({
      ...{ outcome: 'cancelled', reason: 'cancelRequested' },
      items: { planned: 9, succeeded: 0, failed: 0, lines: [], leftOut: 0 },
    });
    expect(setup.gathered).toEqual([]);
    expect(await pieces(setup.sim)).toEqual([]);
  });
});

describe('a run that fans out and loses instances', () => {
  it('goes on where a leader died while planning', async () => {
    const setup = setUp({ leaderMs: 8_000 });
    await setup.sim.clock.advance(10 * MINUTE + 2_000);
    const planner = setup.sim.instances.find(({ coordinator }) => coordinator.running.size > 0);
    planner?.kill();
    setup.sim.startInstance('d1');
    await setup.sim.clock.advance(3 * MINUTE);
    expect(setup.plans).toBe(2);
    expect(setup.gathered).toEqual([DONE(6)]);
    expect((await last(setup.sim)).attempts.map(({ outcome }) => outcome)).toEqual([
      'holderLost',
      'planned',
      'succeeded',
    ]);
  });

  it('repeats no item that is done when the instance of an item, and then the one that gathers, dies', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 3) await sleep(on.coordinator.clock, 15_000);
      return work(context, item, on);
    };
    const setup = setUp({ each, leaderMs: 6_000, concurrency: 6 }, {}, { deployments: 2 });
    setup.sim.startInstance('d1');
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    expect(setup.items.filter(({ outcome }) => outcome === 'done')).toHaveLength(5);
    setup.items.find(({ index }) => index === 3)?.on.kill();
    setup.sim.startInstance('d1');
    for (let waited = 0; setup.items.filter(({ outcome }) => outcome === 'done').length < 6; waited += 1_000) {
      if (waited > 2 * MINUTE) throw new Error('the lost item was not done');
      await setup.sim.clock.advance(1_000);
    }
    await setup.sim.clock.advance(2_000);
    const gatherer = setup.sim.instances.find(({ dead, coordinator }) => !dead && coordinator.running.size > 0);
    expect(gatherer).toBeDefined();
    gatherer?.kill();
    await setup.sim.clock.advance(2 * MINUTE);
    expect(setup.plans).toBe(1);
    expect(setup.gathered).toEqual([DONE(6)]);
    const done = setup.items.filter(({ outcome }) => outcome === 'done').map(({ index }) => index);
    expect(done.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    expect((await last(setup.sim)).outcome).toBe('succeeded');
  });

  it('is resumed by a tick after the deadline when its orchestration is lost, with the items that are left', async () => {
    let hang = true;
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 4 && hang) return new Promise(() => undefined);
      return work(context, item, on);
    };
    const setup = setUp({ each, deadline: '1m' }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 10_000);
    for (const { deployment, kill } of setup.sim.instances) if (deployment === incumbent(setup.sim)) kill();
    hang = false;
    await setup.sim.clock.advance(2 * MINUTE);
    expect(setup.plans).toBe(1);
    expect(setup.gathered).toEqual([DONE(6)]);
    const calls = setup.items.map(({ index }) => index).toSorted((a, b) => a - b);
    expect(calls).toEqual([0, 1, 2, 3, 4, 4, 5]);
  });

  it('times out when its items are not done by the deadline, and is tried again with those that are left', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.index === 2 && setup.items.filter(({ index }) => index === 2).length === 1) {
        await sleep(on.coordinator.clock, 5 * MINUTE, context.signal);
        throw context.signal.reason;
      }
      return work(context, item, on);
    };
    const setup: Setup = setUp(
      { each, deadline: '30s' },
      { retry: { attempts: 2, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } },
    );
    await setup.sim.clock.advance(13 * MINUTE);
    expect((await last(setup.sim)).attempts.map(({ outcome }) => outcome)).toEqual([
      'planned',
      'timedOut',
      'succeeded',
    ]);
    expect((await last(setup.sim)).attempts[1]?.error?.message).toBe(
      '2 of 6 items of job "wide" were not done within 30s',
    );
    expect(setup.gathered).toEqual([DONE(6)]);
    expect(setup.items).toHaveLength(7);
  });

  it('ends timed out when the attempts are used up', async () => {
    const each = ({ signal }: ItemContext): Promise<string> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    const retry = { attempts: 1, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } as const;
    const own = setUp({ each, deadline: '30s' }, { retry });
    await own.sim.clock.advance(12 * MINUTE);
    expect(await last(own.sim)).toMatchObject({ outcome: 'timedOut', reason: 'timeout' });

    const lost = setUp({ each, deadline: '30s' }, { retry }, { deployments: 2 });
    await lost.sim.clock.advance(10 * MINUTE + 10_000);
    for (const { deployment, kill } of lost.sim.instances) if (deployment === incumbent(lost.sim)) kill();
    await lost.sim.clock.advance(2 * MINUTE);
    expect(await last(lost.sim)).toMatchObject({ outcome: 'timedOut', reason: 'timeout' });
  });

  it.each([
    ['is gathered although the attempts are used up where all of its items are done', 6, 'succeeded', 'completed'],
    ['ends timed out where an item is left', 5, 'timedOut', 'timeout'],
  ])('whose orchestration is lost %s', async (_what, most, outcome, reason) => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> =>
      context.index < most ? work(context, item, on) : new Promise(() => undefined);
    const retry = { attempts: 1, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } as const;
    const setup = setUp({ each, deadline: '30s' }, { retry }, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE);
    const done = async () => (await pieces(setup.sim)).filter((name) => name.startsWith('item-')).length;
    while ((await done()) < most) await setup.sim.clock.advance(1);
    for (const { deployment, kill } of setup.sim.instances) if (deployment === incumbent(setup.sim)) kill();
    await setup.sim.clock.advance(2 * MINUTE);
    expect(await last(setup.sim)).toMatchObject({ outcome, reason });
    expect(setup.gathered).toEqual(outcome === 'succeeded' ? [DONE(6)] : []);
    expect(setup.plans).toBe(1);
  });

  it('gives an item of an instance that shuts down to another one, without counting that', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      await sleep(on.coordinator.clock, 10_000, context.signal);
      if (context.signal.aborted) throw context.signal.reason;
      return `done ${String(item)}`;
    };
    const setup = setUp({ each, attempts: 1, concurrency: 6 });
    await setup.sim.clock.advance(10 * MINUTE + 5_000);
    const leaving = setup.items[0]?.on;
    await Promise.all([leaving?.drain(), setup.sim.clock.advance(3_000)]);
    await setup.sim.clock.advance(MINUTE);
    expect(setup.gathered).toEqual([DONE(6)]);
    expect(setup.items.filter(({ outcome }) => outcome === 'aborted').length).toBeGreaterThan(0);
    expect(setup.items.every(({ attempt }) => attempt === 1)).toBe(true);
  });
});

describe('a leader of a run that fans out whose machine slept for longer than its lease', () => {
  /** The machine sleeps while the call is on its way. */
  const sleepIn = async (setup: Setup, on: Instance, meanwhile: () => Promise<unknown> = async () => undefined) => {
    await meanwhile();
    on.skewMs = 20_000;
    setup.slept = true;
  };

  it('deletes nothing of a successor', async () => {
    const setup = setUp();
    const key = 'successor-s';
    for (const on of setup.sim.instances) {
      interceptStore(on, 'listPieces', (listPieces) => async (job, request, options) => {
        if (request.key === undefined && !setup.slept) {
          const piece = { body: '[]', summary: { items: '0' } };
          await sleepIn(setup, on, () => setup.sim.store.createPiece(job, key, 'plan', piece));
        }
        return listPieces(job, request, options);
      });
    }
    await setup.sim.clock.advance(11 * MINUTE);
    expect(setup.slept).toBe(true);
    expect(await setup.sim.store.readPiece('wide' as JobName, key, 'plan')).toBe('[]');
    expect((await last(setup.sim)).outcome).toBe('succeeded');
  });

  it('ends without effect where a successor has deleted what it reads', async () => {
    const setup = setUp();
    for (const on of setup.sim.instances) {
      interceptStore(on, 'readPiece', (readPiece) => async (job, key, name, options) => {
        const body = await readPiece(job, key, name, options);
        if (name !== 'item-00005' || body === undefined || setup.slept) return body;
        await sleepIn(setup, on);
        return undefined;
      });
    }
    await setup.sim.clock.advance(12 * MINUTE);
    expect(setup.sim.events.filter(({ event }) => event === 'superseded')).toHaveLength(1);
    const { attempts, outcome } = await last(setup.sim);
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'holderLost', 'succeeded']);
    expect(outcome).toBe('succeeded');
  });
});

describe('a piece that somebody has changed', () => {
  it.each([
    ['item-00005', 'missing'],
    ['item-00005', 'not JSON'],
    ['plan', 'not JSON'],
    ['plan', '{}'],
  ])('fails the attempt that reads it: %s, %s', async (piece, content) => {
    const retry = { attempts: 2, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } as const;
    const setup = setUp({}, { retry });
    for (const on of setup.sim.instances) {
      interceptStore(on, 'readPiece', (readPiece) => async (job, key, name, options) => {
        const body = await readPiece(job, key, name, options);
        const isDone = (await pieces(setup.sim)).includes('item-00005');
        if (name !== piece || body === undefined || !isDone) return body;
        return content === 'missing' ? undefined : content;
      });
    }
    await setup.sim.clock.advance(11 * MINUTE);
    const { outcome, attempts } = await last(setup.sim);
    expect(outcome).toBe('failed');
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'failed', 'failed']);
    expect(attempts.at(-1)?.error?.message).toMatch(new RegExp(`"${piece}" of run \\d+-s of job "wide" is missing or`));
  });
});

describe('a run whose items are silent', () => {
  /** Items take this long; the deadline of all is 20 minutes. */
  const LONG = { deadline: '20m', itemTimeout: '10m' } as const;
  const lasting =
    (ms: number) =>
    async ({ signal }: ItemContext, item: number, { coordinator }: Instance): Promise<string> => {
      await sleep(coordinator.clock, ms, signal);
      if (signal.aborted) throw signal.reason;
      return `done ${String(item)}`;
    };
  const killIncumbent = (sim: RivalTicks): void => {
    for (const { deployment, kill } of sim.instances) if (deployment === incumbent(sim)) kill();
  };
  const claims = (sim: RivalTicks) => sim.events.filter(({ event }) => event === 'claimed');

  it('goes on in another deployment 45 s after their last beat and a tick, and that is no attempt', async () => {
    const retry = { attempts: 1, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } as const;
    const setup = setUp({ ...LONG, count: 3, each: lasting(30_000) }, { retry }, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    const killedAt = setup.sim.clock.now();
    killIncumbent(setup.sim);
    await setup.sim.clock.advance(2 * MINUTE);
    const again = claims(setup.sim)[1];
    expect(again?.token).toBe(2);
    expect((again?.at ?? 0) - killedAt).toBeGreaterThan(30_000);
    expect((again?.at ?? 0) - killedAt).toBeLessThanOrEqual(62_000);
    const record = await last(setup.sim);
    expect(record.attempts.map(({ outcome }) => outcome)).toEqual(['planned', 'succeeded']);
    expect(setup.plans).toBe(1);
    expect(setup.gathered).toEqual([DONE(3)]);
  });

  it('goes on although the Date of its last beat is a second behind that of the listing', async () => {
    const setup = setUp({ ...LONG, each: lasting(8 * MINUTE) }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    for (const one of setup.sim.instances) {
      interceptStore(one, 'listPieces', (call) => async (...asked) => {
        const { pieces: seen, continuation } = await call(...asked);
        return { pieces: seen.map((piece) => ({ ...piece, date: piece.date - 1_000 })), continuation };
      });
    }
    killIncumbent(setup.sim);
    await setup.sim.clock.advance(90_000);
    expect(await setup.sim.row('wide')).toMatchObject({ phase: 'fanning', token: 2 });
  });

  it('keeps the deadline of its items', async () => {
    const setup = setUp({ ...LONG, deadline: '3m', each: lasting(8 * MINUTE) }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    const { notBefore } = await setup.sim.row('wide');
    killIncumbent(setup.sim);
    await setup.sim.clock.advance(90_000);
    expect(await setup.sim.row('wide')).toMatchObject({ phase: 'fanning', token: 2, notBefore });
  });

  it('is not taken for silent while its items run, and says so once each 15 s for each process', async () => {
    const setup = setUp({ ...LONG, count: 6, concurrency: 6, each: lasting(4 * MINUTE) }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 8_000);
    const before = setup.sim.instances.map(({ calls }) => new Map(calls));
    await setup.sim.clock.advance(3 * MINUTE);
    expect(claims(setup.sim)).toHaveLength(1);
    const made = (method: string): number[] =>
      setup.sim.instances.map(({ calls }, index) => (calls.get(method) ?? 0) - (before[index]?.get(method) ?? 0));
    for (const touches of made('touchPiece')) expect(touches).toBeLessThanOrEqual(12);
    expect(Math.max(...made('touchPiece'))).toBeGreaterThanOrEqual(9);
    // The ticks of each deployment ask once every 30 s or less often.
    for (const asked of made('listPieces')) expect(asked).toBeLessThanOrEqual(6);
    expect(made('createPiece')).toEqual([0, 0, 0]);
    await setup.sim.clock.advance(5 * MINUTE);
    expect(setup.gathered).toEqual([DONE(6)]);
  });

  it('shows which items are at work, and which wait for their next attempt', async () => {
    const each: Behaviour['each'] = async (context, item, on) => {
      if (context.index === 1) throw new Error('not yet');
      return lasting(4 * MINUTE)(context, item, on);
    };
    const setup = setUp({ ...LONG, count: 6, concurrency: 3, backoff: '2m', each });
    await setup.sim.clock.advance(10 * MINUTE + 40_000);
    const { run } = await setup.sim.row('wide');
    if (run === undefined) throw new Error('no run');
    const { items: table } = await readAtWork(setup.sim.store, { job: 'wide' as JobName, ...run });
    expect(table?.noted).toEqual([
      { index: 0, state: 'running', attempt: 1 },
      { index: 1, state: 'retrying', attempt: 2 },
      { index: 2, state: 'running', attempt: 1 },
      // The lane of the second item does not wait with it.
      { index: 4, state: 'running', attempt: 1 },
    ]);
    expect(table?.notEnded).toEqual([
      { from: 3, to: 3 },
      { from: 5, to: 5 },
    ]);
  });

  it('is not taken for silent while its items wait to be tried again', async () => {
    const each = async (context: ItemContext, item: number, on: Instance): Promise<string> => {
      if (context.attempt === 1) throw new Error('not yet');
      return work(context, item, on);
    };
    const setup = setUp({ ...LONG, each, backoff: '3m' }, {}, { deployments: 2 });
    await setup.sim.clock.advance(15 * MINUTE);
    expect(claims(setup.sim).map(({ token }) => token)).toEqual([1, 2]);
    expect(setup.gathered).toEqual([DONE(6)]);
    const waited = setup.items.filter(({ attempt }) => attempt === 2).map(({ at }) => at - (setup.items[0]?.at ?? 0));
    for (const ms of waited) expect(ms).toBeGreaterThanOrEqual(3 * MINUTE);
    expect(setup.items).toHaveLength(12);
  });

  it('waits for the deadline where somebody has deleted its heartbeats', async () => {
    const setup = setUp({ ...LONG, each: lasting(MINUTE) }, {}, { deployments: 2 });
    for (const on of setup.sim.instances) {
      interceptStore(
        on,
        'createPiece',
        (createPiece) => async (job, key, name, piece, options) =>
          name.startsWith('alive') ? 'created' : createPiece(job, key, name, piece, options),
      );
    }
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    killIncumbent(setup.sim);
    await setup.sim.clock.advance(5 * MINUTE);
    expect(await setup.sim.row('wide')).toMatchObject({ phase: 'fanning', token: 1 });
    await setup.sim.clock.advance(20 * MINUTE);
    expect((await setup.sim.row('wide')).token).toBeGreaterThan(1);
  });

  it('is left alone where an item beats just before it is claimed', async () => {
    const setup = setUp({ ...LONG, count: 2, each: lasting(MINUTE) }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    killIncumbent(setup.sim);
    let beats = 0;
    for (const on of setup.sim.instances) {
      interceptStore(on, 'acquire', (acquire) => async (job, request, options) => {
        const answer = await acquire(job, request, options);
        const { run } = await setup.sim.row('wide');
        const [beating] = (await pieces(setup.sim)).filter((name) => name.startsWith('alive-'));
        if (beats < 2) await setup.sim.store.touchPiece(job, run?.key ?? '', beating ?? 'none', {});
        beats += 1;
        return answer;
      });
    }
    await setup.sim.clock.advance(2 * MINUTE);
    // It was put back, and is claimed once no one has beaten for 45 s.
    expect(beats).toBeGreaterThanOrEqual(1);
    expect(claims(setup.sim)).toHaveLength(1);
    await setup.sim.clock.advance(3 * MINUTE);
    expect(claims(setup.sim)[1]?.token).toBe(2);
  });

  it('is seen at work by whichever of its processes beats', async () => {
    const setup = setUp({ ...LONG, count: 6, concurrency: 6, each: lasting(4 * MINUTE) }, {}, { deployments: 2 });
    await setup.sim.clock.advance(10 * MINUTE + 8_000);
    const [planner, other] = new Set(setup.items.map(({ on }) => on));
    planner?.kill();
    await setup.sim.clock.advance(3 * MINUTE);
    expect(other?.dead).toBe(false);
    expect(claims(setup.sim)).toHaveLength(1);
  });

  it('is gone on with by its own deployment once its task hub is proven', async () => {
    const setup = setUp({ ...LONG, count: 3, each: lasting(30_000) });
    await setup.sim.clock.advance(10 * MINUTE + 12_000);
    killIncumbent(setup.sim);
    setup.sim.startInstance('d1');
    await setup.sim.clock.advance(70_000);
    expect(claims(setup.sim)[1]?.token).toBe(2);
    await setup.sim.clock.advance(2 * MINUTE);
    expect(setup.gathered).toEqual([DONE(3)]);
  });
});

describe('a run whose items are left in a shutdown', () => {
  const LONG = { deadline: '20m', itemTimeout: '10m', count: 6, concurrency: 6 } as const;
  const lasting = async ({ signal }: ItemContext, item: number, { coordinator }: Instance): Promise<string> => {
    await sleep(coordinator.clock, 4 * MINUTE, signal);
    if (signal.aborted) throw signal.reason;
    return `done ${String(item)}`;
  };
  const claims = (sim: RivalTicks) => sim.events.filter(({ event }) => event === 'claimed');
  const beats = async (sim: RivalTicks) => (await pieces(sim)).filter((name) => /^alive-\d+-/.test(name));

  /** Two instances of one deployment work on items, and another deployment ticks. */
  async function atWork(each: Behaviour['each'] = lasting) {
    const setup = setUp({ ...LONG, each }, {}, { deployments: 2, sweepIntervalMs: MINUTE });
    setup.sim.startInstance(incumbent(setup.sim) ?? 'd1');
    await setup.sim.clock.advance(10 * MINUTE + 1_000);
    const own = setup.sim.instances.filter(({ deployment }) => deployment === incumbent(setup.sim));
    const workers = [...new Set(setup.items.map(({ on }) => on))];
    return { setup, sim: setup.sim, own, workers };
  }

  /** As a host ends: its process is gone after its hook. */
  async function shutDown(sim: RivalTicks, leaving: readonly Instance[]): Promise<void> {
    const drained = leaving.map((instance) => instance.drain());
    await sim.clock.advance(2_100);
    await Promise.all(drained);
    for (const instance of leaving) instance.kill();
  }

  it('goes on in another deployment with its next tick, and that is no attempt', async () => {
    const { setup, sim, own, workers } = await atWork();
    expect(workers.length).toBeGreaterThan(1);
    const { notBefore } = await sim.row('wide');
    const since = sim.clock.now();
    await shutDown(sim, own);
    expect(await sim.row('wide')).toMatchObject({ phase: 'fanning', token: 1, itemsLeftAt: since, notBefore });
    expect(await beats(sim)).toEqual([]);
    await sim.clock.advance(16_000);
    const again = claims(sim)[1];
    expect(again).toMatchObject({ token: 2 });
    expect((again?.at ?? 0) - since).toBeLessThanOrEqual(15_000 + 2_100);
    expect(await sim.row('wide')).toMatchObject({ phase: 'fanning', notBefore, itemsLeftAt: undefined });
    await sim.clock.advance(5 * MINUTE);
    const record = await last(sim);
    expect(record.attempts.map(({ outcome }) => outcome)).toEqual(['planned', 'succeeded']);
    expect(setup.plans).toBe(1);
    expect(setup.gathered).toEqual([DONE(6)]);
  });

  it('stays with its task hub while another instance works on items', async () => {
    const { setup, sim, workers } = await atWork();
    const [first] = workers;
    await shutDown(sim, first === undefined ? [] : [first]);
    expect((await sim.row('wide')).itemsLeftAt).toBeUndefined();
    expect(await beats(sim)).toHaveLength(workers.length - 1);
    await sim.clock.advance(9 * MINUTE);
    expect(claims(sim).map(({ token }) => token)).toEqual([1, 2]);
    expect(setup.gathered).toEqual([DONE(6)]);
  });

  it('is gone on with by its own deployment first, if that ticks', async () => {
    const { sim, own, workers } = await atWork();
    sim.startInstance(own[0]?.deployment ?? 'd1');
    for (const instance of sim.instances) instance.takesNothing = workers.every((worker) => worker !== instance);
    await shutDown(sim, workers);
    for (const instance of sim.instances) instance.takesNothing = false;
    await sim.clock.advance(16_000);
    expect(claims(sim)[1]).toMatchObject({ token: 2, deployment: own[0]?.deployment });
  });

  it('is not handed on before all items of the process have ended', async () => {
    const deaf = async (_: ItemContext, _item: number, { coordinator }: Instance): Promise<string> => {
      await sleep(coordinator.clock, 4 * MINUTE);
      return 'late';
    };
    const { sim, own } = await atWork(deaf);
    const drained = own.map((instance) => instance.drain());
    await sim.clock.advance(900);
    expect(await sim.row('wide')).toMatchObject({ itemsLeftAt: undefined });
    expect(await beats(sim)).not.toEqual([]);
    // By now their fences are closed, whatever they do.
    await sim.clock.advance(1_200);
    await Promise.all(drained);
    expect((await sim.row('wide')).itemsLeftAt).toBeDefined();
  });

  it('keeps its silence of 45 s where the shutdown cannot end its heartbeat', async () => {
    const { sim, own } = await atWork();
    for (const on of own) {
      interceptStore(on, 'deletePiece', () => () => Promise.reject(new StoreUnavailableError('away')));
    }
    await shutDown(sim, own);
    expect((await sim.row('wide')).itemsLeftAt).toBeUndefined();
    await sim.clock.advance(25_000);
    expect(claims(sim)).toHaveLength(1);
    await sim.clock.advance(40_000);
    expect(claims(sim)[1]).toMatchObject({ token: 2 });
  });

  it('keeps its silence of 45 s where the shutdown ends its heartbeat and no more', async () => {
    const { sim, own } = await atWork();
    for (const on of own) {
      interceptStore(on, 'readRow', () => () => Promise.reject(new StoreUnavailableError('away')));
    }
    await shutDown(sim, own);
    expect(await beats(sim)).toEqual([]);
    expect((await sim.row('wide')).itemsLeftAt).toBeUndefined();
    await sim.clock.advance(40_000);
    expect(claims(sim)).toHaveLength(1);
    await sim.clock.advance(40_000);
    expect(claims(sim)[1]).toMatchObject({ token: 2 });
  });

  it('is not handed on where an item begins elsewhere between the look and the lease', async () => {
    const { sim, own } = await atWork();
    for (const on of own) {
      interceptStore(on, 'acquire', (acquire) => async (job, ...asked) => {
        const { run } = await sim.row('wide');
        await sim.store.createPiece(job, run?.key ?? '', 'alive-1-other', { body: '{}', summary: {} });
        return acquire(job, ...asked);
      });
    }
    await shutDown(sim, own);
    expect((await sim.row('wide')).itemsLeftAt).toBeUndefined();
    expect(await sim.store.readRow('wide' as JobName)).toMatchObject({ lease: 'available' });
  });

  it.each(['leased', 'expired'] as const)('is left alone where its row is %s', async (lease) => {
    const { sim, own } = await atWork();
    for (const on of own) {
      interceptStore(on, 'readRow', (readRow) => async (...asked) => {
        const seen = await readRow(...asked);
        return seen && { ...seen, lease };
      });
    }
    await shutDown(sim, own);
    expect((await sim.row('wide')).itemsLeftAt).toBeUndefined();
  });
});

describe('a run whose job stops fanning out while its items are at work', () => {
  it('goes on with the new handler, and leaves nothing behind', async () => {
    const fanOut = ({ deployment, coordinator: { clock } }: Instance) =>
      deployment === 'd1'
        ? defineFanOut({ plan: () => [1, 2], each: () => sleep(clock, 5 * MINUTE), gather: () => 1 })
        : (undefined as never);
    const sim = rivalTicks({ jobs: [jobSpec('wide', '*/10 * * * *')], fanOut: { wide: fanOut } });
    await sim.clock.advance(11 * MINUTE);
    expect((await sim.row('wide')).phase).toBe('fanning');
    for (const one of sim.instances) one.kill();
    sim.startInstance('d2');
    await sim.clock.advance(3 * MINUTE);
    expect(await last(sim)).toMatchObject({
      outcome: 'succeeded',
      attempts: [{ outcome: 'planned' }, { deployment: 'd2' }],
    });
    expect(await pieces(sim)).toEqual([]);
  });
});

describe('a plan that cannot be carried out', () => {
  it.each([
    ['no array', 7, 'plan must return an array of items'],
    ['too many items', Array.from({ length: 1001 }, () => 1), 'plan returned 1001 items, more than maxItems (1000)'],
    ['what is not JSON', [1n], 'item 0 of the plan is not JSON'],
    ['a hole', [undefined], 'item 0 of the plan is a undefined, which is not JSON'],
    ['a place that was never set', Object.assign([1], { length: 2 }), 'item 1 of the plan is a undefined'],
    ['too much', ['x'.repeat(1024 * 1024)], 'more than 1048576'],
  ])('fails the run without retry: %s', async (_, plan, message) => {
    let plans = 0;
    const handler = defineFanOut({
      plan: () => {
        plans += 1;
        return plan as never;
      },
      each: () => 1,
      gather: () => 1,
    });
    const sim = rivalTicks({ jobs: [jobSpec('wide', '* * * * *')], fanOut: { wide: () => handler } });
    await sim.clock.advance(MINUTE + 30_000);
    const record = await last(sim);
    expect(record).toMatchObject({ outcome: 'failed', reason: 'nonRetryable' });
    expect(record.attempts.at(-1)?.error?.message).toContain(message);
    expect(plans).toBe(1);
  });
});

describe('defineFanOut', () => {
  const parts = { plan: () => [], each: () => 1, gather: () => 1 };
  it.each([
    [{ concurrency: 0 }, 'defineFanOut: concurrency is 0: use a whole number from 1 to 100'],
    [{ maxItems: 10_001 }, 'defineFanOut: maxItems is 10001: use a whole number from 1 to 10000'],
    [{ deadline: 'soon' }, 'defineFanOut: deadline is "soon": use a duration from 1s to 7d, such as "5m"'],
    [{ itemTimeout: '0s' }, 'defineFanOut: itemTimeout is "0s": use a duration from 1s to 7d, such as "5m"'],
    [{ onItemFailure: 'ignore' }, 'defineFanOut: onItemFailure is "ignore": use "failFast" or "collect"'],
    [{ itemRetry: { factor: 0 } }, 'defineFanOut: itemRetry.factor is 0: use a number from 1'],
    [{ itemRetry: { backoff: 5 } }, 'defineFanOut: itemRetry.backoff is 5: use a duration from 0s to 7d, such as "5m"'],
    [{ gather: undefined }, 'defineFanOut: gather is undefined: must be a function'],
  ])('refuses %j', (wrong, message) => {
    expect(() => defineFanOut({ ...parts, ...wrong } as never)).toThrow(message);
  });
});

function incumbent(sim: RivalTicks): string | undefined {
  return sim.events.findLast(({ event }) => event === 'claimed')?.deployment;
}
