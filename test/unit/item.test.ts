import { beforeEach, describe, expect, it } from 'vitest';
import { dispatch } from '../../src/coordinator/attempt/together';
import type { ETag, JobName, LeaseId, Token } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { recordKey } from '../../src/core/key';
import { type ItemContext, defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import type { AttemptResult, ItemInput, Lane } from '../../src/coordinator/message';
import { StoreUnavailableError } from '../../src/lease/store';
import { firstInstance, leaveRow, withoutTicks } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Durable, playLane } from '../support/orchestrations';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = 'a' as JobName;

interface LeftToItems {
  readonly sim: RivalTicks;
  readonly on: Instance;
  /** As its lane would send it. */
  readonly item: ItemInput;
}

/** A run that was left to its one item for so long, with token 8. */
async function leftToItems(
  forMs: number,
  each: (context: ItemContext, sim: RivalTicks) => unknown,
): Promise<LeftToItems> {
  const spec = jobSpec('a', '@daily');
  const sim: RivalTicks = rivalTicks({
    jobs: [spec],
    fanOut: { a: () => defineFanOut({ plan: () => [1], each: (context) => each(context, sim), gather: () => 1 }) },
  });
  const on = await withoutTicks(sim);
  const until = sim.clock.now() + forMs;
  await leaveRow(sim, A, ranRow(spec, { phase: 'fanning', notBefore: until, token: 8 as Token }), 'letGo');
  const item = { index: 0, item: '1', attempt: 1, token: 8, until };
  return { sim, on, item: { kind: 'item', job: 'a', key: recordKey(T0), ...item } };
}

describe('an item', () => {
  /** When its fence refused first, and why its signal was aborted. */
  let seen: { stale: number; aborted: string | undefined };
  beforeEach(() => {
    seen = { stale: 0, aborted: undefined };
  });

  /** Ignores its signal, and looks at its fence all the time. */
  async function watched({ fence, signal }: ItemContext, { clock }: RivalTicks): Promise<void> {
    signal.addEventListener('abort', () => {
      seen.aborted = (signal.reason as { code: string }).code;
    });
    while (seen.stale === 0) {
      await sleep(clock, 100);
      try {
        fence.check();
      } catch {
        seen.stale = clock.now();
      }
    }
    await sleep(clock, 20 * MINUTE);
  }

  it('of an earlier claim of its run is not worked on', async () => {
    let calls = 0;
    const { sim, on, item } = await leftToItems(10 * MINUTE, () => (calls += 1));
    const stale = dispatch(on.coordinator, { ...item, token: 7 }, on.report);
    await sim.clock.advance(5 * SECOND);
    expect(await stale).toEqual({ kind: 'item', state: 'stopped' });
    expect(calls).toBe(0);
    const current = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(5 * SECOND);
    expect(await current).toEqual({ kind: 'item', state: 'done' });
    expect(calls).toBe(1);
  });

  it('that is delivered after its run has gone on leaves no heartbeat', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, () => 1);
    const late = dispatch(on.coordinator, { ...item, token: 7 }, on.report);
    await sim.clock.advance(5 * SECOND);
    expect(await late).toEqual({ kind: 'item', state: 'stopped' });
    expect(on.calls.get('createPiece')).toBe(1);
    expect((await sim.store.listPieces(A, { limit: 9 })).pieces).toEqual([]);
  });

  it('does not trust on a heartbeat that was created before, and whose answer was lost, until it is renewed', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    interceptStore(on, 'createPiece', (createPiece) => async (...asked) => {
      await createPiece(...asked);
      throw new StoreUnavailableError('away');
    });
    expect(await dispatch(on.coordinator, item, on.report)).toMatchObject({ state: 'again', attempt: 1 });
    const created = sim.clock.now();
    await sim.clock.advance(30 * SECOND);
    interceptStore(
      on,
      'createPiece',
      () =>
        (...asked) =>
          sim.store.createPiece(...asked),
    );
    const begun = sim.clock.now();
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(0);
    const beats = async () => (await sim.store.listPieces(A, { prefix: 'alive', key: item.key, limit: 9 })).pieces;
    expect(created).toBeLessThan(begun);
    expect(await beats()).toMatchObject([{ writtenAt: begun }]);
    interceptStore(on, 'touchPiece', () => () => Promise.reject(new StoreUnavailableError('away')));
    await sim.clock.advance(MINUTE);
    expect(seen.stale).toBe(begun + 40 * SECOND);
    expect(await attempt).toMatchObject({ state: 'again' });
  });

  it('may write until 3 s before somebody else may take its run, and no longer', async () => {
    const mayWrite: boolean[] = [];
    const { sim, on, item } = await leftToItems(20 * SECOND, async ({ fence }, { clock }) => {
      for (const wait of [16_500, 1_000]) {
        await sleep(clock, wait);
        try {
          fence.check();
          mayWrite.push(true);
        } catch {
          mayWrite.push(false);
        }
      }
    });
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(30 * SECOND);
    expect(await attempt).toEqual({ kind: 'item', state: 'stopped' });
    expect(mayWrite).toEqual([true, false]);
  });

  it('trusts for 20 s after its last look that got an answer, and is aborted then', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(11 * SECOND);
    const cutOffAt = sim.clock.now();
    interceptStore(on, 'list', () => () => Promise.reject(new StoreUnavailableError('away')));
    await sim.clock.advance(MINUTE);
    // Looks come every 5 s: the last one was answered a second before.
    expect(seen).toEqual({ stale: cutOffAt - SECOND + 20 * SECOND, aborted: 'leaseLost' });
    // As an attempt whose lease is lost, it counts.
    expect(await attempt).toMatchObject({ kind: 'item', state: 'again', attempt: 2 });
  });

  it('trusts on for as long as its looks are answered', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(4 * MINUTE);
    expect(seen).toEqual({ stale: 0, aborted: undefined });
    await sim.clock.advance(6 * MINUTE);
    expect(seen.stale).toBe(item.until - 3 * SECOND);
    expect(await attempt).toEqual({ kind: 'item', state: 'stopped' });
  });

  it('may not write any more, in its grace neither, once a look shows that its run has gone on', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(6 * SECOND);
    const spec = jobSpec('a', '@daily');
    await leaveRow(sim, A, ranRow(spec, { phase: 'fanning', notBefore: item.until, token: 9 as Token }), 'letGo');
    const since = sim.clock.now();
    await sim.clock.advance(5 * SECOND);
    expect(seen.aborted).toBe('cancelled');
    expect(seen.stale).toBeGreaterThan(since);
    expect(seen.stale).toBeLessThanOrEqual(since + 5 * SECOND);
    await sim.clock.advance(5 * SECOND);
    expect(await attempt).toEqual({ kind: 'item', state: 'stopped' });
  });

  it('ends before its host would end it, though it ignores its signal', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, () => new Promise(() => undefined));
    Object.assign(on.coordinator.settings, { functionTimeoutMs: MINUTE });
    const from = sim.clock.now();
    let lasted = Infinity;
    void dispatch(on.coordinator, item, on.report).then(() => {
      lasted = sim.clock.now() - from;
    });
    await sim.clock.advance(2 * MINUTE);
    expect(lasted).toBeLessThan(MINUTE);
  });

  it('that was lost with its instance or cut off as often as it may be tried has failed', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const attempt = dispatch(on.coordinator, { ...item, attempt: 4 }, on.report);
    await sim.clock.advance(SECOND);
    // With failFast the others are not wanted any more.
    expect(await attempt).toEqual({ kind: 'item', state: 'stopped' });
    const stored = await sim.store.readPiece(A, item.key, 'item-00000');
    expect(JSON.parse(stored ?? '')).toMatchObject({ state: 'failed', error: { name: 'ItemLostError' }, attempts: 3 });
    expect(seen.aborted).toBeUndefined();
  });

  it('that cannot be tried again in time is sent again at the end of that time, so that its run waits for it', async () => {
    const { sim, on, item } = await leftToItems(MINUTE, () => {
      throw new Error('no');
    });
    const until = sim.clock.now() + 4 * SECOND;
    const attempt = dispatch(on.coordinator, { ...item, until }, on.report);
    await sim.clock.advance(SECOND / 2);
    expect(await attempt).toMatchObject({ state: 'again', attempt: 2, notBefore: until - 3 * SECOND });
    await sim.clock.advance(SECOND / 2);
    const late = dispatch(on.coordinator, { ...item, until, attempt: 2 }, on.report);
    await sim.clock.advance(SECOND);
    expect(await late).toEqual({ kind: 'item', state: 'stopped' });
  });

  it.each([
    [8, { kind: 'item', state: 'done' }, 'succeeded'],
    [9, { kind: 'item', state: 'stopped' }, undefined],
  ])(
    'that blocked its process for long looks again before its result is stored: token %i',
    async (token, answer, state) => {
      const { sim, on, item } = await leftToItems(10 * MINUTE, async () => {
        const row = { phase: 'fanning', notBefore: item.until, token: token as Token } as const;
        await leaveRow(sim, A, ranRow(jobSpec('a', '@daily'), row), 'letGo');
        // More time than it trusts has passed by its clock, and none of its timers could fire.
        on.skewMs = 30 * SECOND;
        return 'result';
      });
      const attempt = dispatch(on.coordinator, item, on.report);
      await sim.clock.advance(SECOND);
      expect(await attempt).toEqual(answer);
      const stored = await sim.store.readPiece(A, item.key, 'item-00000');
      expect(stored === undefined ? undefined : (JSON.parse(stored) as { state: string }).state).toBe(state);
    },
  );

  it('trusts for no longer than 40 s after the last beat of its process that was written', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const begun = sim.clock.now();
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(SECOND);
    interceptStore(on, 'touchPiece', () => () => Promise.reject(new StoreUnavailableError('away')));
    await sim.clock.advance(MINUTE);
    expect(seen).toEqual({ stale: begun + 40 * SECOND, aborted: 'leaseLost' });
    expect(await attempt).toMatchObject({ kind: 'item', state: 'again', attempt: 2 });
  });

  it('does not begin, and trusts no longer, while somebody holds its row', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    const leaseId = 'eeeeeeee-0000-4000-8000-000000000000' as LeaseId;
    const hold = async (): Promise<void> => {
      const ifMatch = (await sim.store.readRow(A))?.etag as ETag;
      await sim.store.acquire(A, { leaseId, leaseMs: 60_000, ifMatch });
    };
    await hold();
    expect(await dispatch(on.coordinator, item, on.report)).toMatchObject({ state: 'again', attempt: 1 });
    expect(seen.stale).toBe(0);
    await sim.store.release(A, leaseId);
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(6 * SECOND);
    const held = sim.clock.now();
    await hold();
    await sim.clock.advance(MINUTE);
    expect(seen).toEqual({ stale: held - SECOND + 20 * SECOND, aborted: 'leaseLost' });
    expect(await attempt).toMatchObject({ kind: 'item', state: 'again', attempt: 2 });
  });

  it('that is called before its time only says that its lane is there, whatever happens', async () => {
    const { sim, on, item } = await leftToItems(10 * MINUTE, watched);
    await sim.clock.advance(30 * SECOND);
    const notBefore = sim.clock.now() + 2 * MINUTE;
    const early = { ...item, attempt: 2, notBefore };
    const answer = { kind: 'item', state: 'again', attempt: 2, notBefore, beatBy: sim.clock.now() + 15 * SECOND };
    expect(await dispatch(on.coordinator, early, on.report)).toEqual(answer);
    const { pieces } = await sim.store.listPieces(A, { key: item.key, prefix: 'alive-8-', limit: 9 });
    expect(pieces).toMatchObject([{ writtenAt: sim.clock.now() }]);
    on.coordinator.stopping = true;
    expect(await dispatch(on.coordinator, early, on.report)).toEqual(answer);
    on.coordinator.stopping = false;
    interceptStore(on, 'list', () => () => Promise.reject(new StoreUnavailableError('away')));
    expect(await dispatch(on.coordinator, early, on.report)).toEqual(answer);
    expect(await dispatch(on.coordinator, { ...early, token: 7 }, on.report)).toEqual(answer);
    expect(seen.stale).toBe(0);
  });

  it('whose machine sets its clock ahead meanwhile is sent again soon all the same, as long as nobody has shown the time', async () => {
    const { sim, on, item } = await leftToItems(HOUR, async (_, { clock }) => {
      await sleep(clock, SECOND);
      on.skewMs = 10 * MINUTE;
      throw new Error('no');
    });
    const attempt = dispatch(on.coordinator, item, on.report);
    await sim.clock.advance(SECOND);
    interceptStore(on, 'list', () => () => Promise.reject(new StoreUnavailableError('away')));
    const results = [await attempt, await dispatch(on.coordinator, item, on.report)];
    for (const result of results) {
      if (result.kind !== 'item' || result.state !== 'again') throw new Error('it is not sent again');
      expect(result.notBefore).toBeGreaterThan(sim.clock.now());
      expect(result.notBefore).toBeLessThan(sim.clock.now() + 2 * MINUTE);
      expect(result.beatBy).toBeLessThan(sim.clock.now() + 2 * MINUTE);
    }
  });

  it('is sent again while storage is away, until the time for items is over', async () => {
    const { sim, on, item } = await leftToItems(MINUTE, () => 1);
    interceptStore(on, 'list', () => () => Promise.reject(new StoreUnavailableError('away')));
    expect(await dispatch(on.coordinator, item, on.report)).toMatchObject({ kind: 'item', state: 'again' });
    await sim.clock.advanceTo(item.until);
    expect(await dispatch(on.coordinator, item, on.report)).toEqual({ kind: 'item', state: 'stopped' });
  });

  it('that fails keeps the others from being started, also where the answer to that was lost', async () => {
    const begun: unknown[] = [];
    const sim = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      fanOut: {
        a: () =>
          defineFanOut({
            concurrency: 1,
            plan: () => [0, 1, 2, 3],
            each: (_context, item) => {
              begun.push(item);
              throw new NonRetryableError('no');
            },
            gather: () => 1,
          }),
      },
    });
    let isLost = false;
    interceptStore(firstInstance(sim), 'createPiece', (createPiece) => async (...given) => {
      const answer = await createPiece(...given);
      if (isLost || given[2] !== 'item-00000') return answer;
      isLost = true;
      throw new StoreUnavailableError('the answer was lost');
    });
    await sim.clock.advance(62 * MINUTE);
    expect(isLost).toBe(true);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', reason: 'itemFailed' }]);
    expect(begun).toEqual([0]);
  });
});

describe('a lane of items', () => {
  const DONE: AttemptResult = { kind: 'item', state: 'done' };

  function laneOf(count: number): Lane {
    const items = Array.from({ length: count }, (_, index) => ({ index, item: String(index) }));
    return { job: 'a', key: recordKey(T0), token: 1, until: T0 + MINUTE, attempts: 3, items };
  }

  /** Notes the calls for items, and what is left to parts of the lane. */
  function durable(work: (item: ItemInput) => AttemptResult, partEnd?: (part: number) => 'done' | 'stopped') {
    const calls: ItemInput[] = [];
    const parts: Lane[] = [];
    const noted: Durable = {
      activity: async (input) => {
        if (input.kind !== 'item') throw new Error(input.kind);
        calls.push(input);
        return work(input);
      },
      timer: async () => undefined,
      lane: async (lane) => {
        parts.push(lane);
        return partEnd === undefined ? playLane(noted, lane) : partEnd(parts.length);
      },
    };
    return { noted, calls, parts };
  }

  // Durable replays the whole history of an orchestration with each answer.
  it('that is long is worked on in parts of a hundred, one after another', async () => {
    const { noted, calls, parts } = durable(() => DONE);
    const lane = laneOf(10_000);
    expect(await playLane(noted, lane)).toBe('done');
    expect(parts.map(({ items }) => items.length)).toEqual(Array(100).fill(100));
    expect(parts.at(-1)).toEqual({ ...lane, items: lane.items.slice(-100) });
    expect(calls.map(({ index }) => index)).toEqual(lane.items.map(({ index }) => index));
  });

  it('ends with the first of its parts that is stopped', async () => {
    const { noted, parts } = durable(
      () => DONE,
      (part) => (part < 3 ? 'done' : 'stopped'),
    );
    expect(await playLane(noted, laneOf(10_000))).toBe('stopped');
    expect(parts).toHaveLength(3);
  });

  it.each([
    [100, []],
    [101, [100, 1]],
  ])('of %i items is worked on in parts of %j', async (count, expected) => {
    const { noted, calls, parts } = durable(() => DONE);
    expect(await playLane(noted, laneOf(count))).toBe('done');
    expect(parts.map(({ items }) => items.length)).toEqual(expected);
    expect(calls).toHaveLength(count);
  });

  it('is called each time a beat is due while its items wait', async () => {
    const every = 15_000;
    const timers: number[] = [];
    let now = T0;
    const notBefore = T0 + 40_000;
    const { noted, calls } = durable((item) => {
      if (calls.length > 1 && (item.notBefore ?? 0) <= now) return DONE;
      return { kind: 'item', state: 'again', attempt: 2, notBefore, beatBy: now + every };
    });
    const timed: Durable = {
      ...noted,
      timer: async (at) => {
        timers.push(at.getTime() - T0);
        now = at.getTime();
      },
    };
    expect(await playLane(timed, laneOf(1))).toBe('done');
    expect(timers).toEqual([15_000, 30_000, 40_000]);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 2, 2]);
    // Only those that come before its time are told when that is.
    expect(calls.map((call) => call.notBefore)).toEqual([undefined, notBefore, notBefore, undefined]);
  });

  it('calls an item whose calls were all lost once more, so that this is written down, and then skips it', async () => {
    const { noted, calls } = durable(({ index }) => {
      if (index === 0) throw new Error('its process died');
      return DONE;
    });
    expect(await playLane(noted, laneOf(1))).toBe('done');
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });

  it('goes on with the others where the calls of an item are lost', async () => {
    const { noted, calls } = durable(({ index }) => {
      if (index === 0) throw new Error('its process died');
      return DONE;
    });
    expect(await playLane(noted, laneOf(2))).toBe('done');
    expect(calls.map(({ index, attempt }) => [index, attempt])).toEqual([
      [0, 1],
      [1, 1],
      [0, 2],
      [0, 3],
      [0, 4],
    ]);
  });
});
