import { describe, expect, it } from 'vitest';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import { runFanOut, settableClock } from '../../src/testing/index';
import { sleep } from '../../src/core/clock';

const url = 'https://example.blob.core.windows.net/index/all.txt';

const squares = (each: (item: number, attempt: number) => number, onItemFailure: 'failFast' | 'collect' = 'failFast') =>
  defineFanOut<{ upTo: number }, number, number>({
    onItemFailure,
    itemRetry: { attempts: 3 },
    plan: (_, { upTo }) => Array.from({ length: upTo }, (_item, index) => index),
    each: ({ attempt }, item) => each(item, attempt),
    gather: async ({ fence }, outcomes) => {
      const results = outcomes.map((outcome) => (outcome.state === 'succeeded' ? outcome.result : null));
      await fence.write({ url } as never, JSON.stringify(results));
      return results;
    },
  });

const settings = { input: { upTo: 3 } };

describe('runFanOut', () => {
  it('plans, works on each item, and gathers with the fence', async () => {
    const run = await runFanOut(
      squares((item) => item * item),
      { settings, token: 7 },
    );
    expect(run).toMatchObject({ outcome: 'succeeded', result: [0, 1, 4], itemCalls: 3, error: null });
    expect(run.items.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(run.writes).toMatchObject([{ url, body: '[0,1,4]', token: 7 }]);
  });

  it('tries an item again by itself, and no longer than it may', async () => {
    const flaky = squares((item, attempt) => {
      if (item === 1 && attempt < 3) throw new Error('not yet');
      return item;
    });
    expect(await runFanOut(flaky, { settings })).toMatchObject({ outcome: 'succeeded', itemCalls: 5 });
    const broken = squares((item) => {
      if (item === 1) throw new Error('never');
      return item;
    });
    const run = await runFanOut(broken, { settings });
    expect(run).toMatchObject({ outcome: 'failed', reason: 'itemFailed', itemCalls: 4, error: { message: 'never' } });
    expect(run.writes).toEqual([]);
  });

  it('tells gather of items that failed, with collect', async () => {
    const run = await runFanOut(
      squares((item) => {
        if (item === 1) throw new NonRetryableError('never');
        return item;
      }, 'collect'),
      { settings },
    );
    expect(run).toMatchObject({ outcome: 'succeeded', result: [0, null, 2], itemCalls: 3 });
    expect(run.items[1]).toMatchObject({ state: 'failed', attempts: 1, error: { message: 'never' } });
  });

  it('passes items and results through JSON, and refuses a plan that is none', async () => {
    const dates = defineFanOut<unknown, Date>({
      plan: () => [new Date(0)],
      each: (_, item) => item,
      gather: (_, outcomes) => outcomes.map((outcome) => (outcome.state === 'succeeded' ? outcome.result : null)),
    });
    expect(await runFanOut(dates)).toMatchObject({ result: ['1970-01-01T00:00:00.000Z'] });
    const none = defineFanOut({ plan: () => 'x' as never, each: () => 1, gather: () => 1 });
    expect(await runFanOut(none)).toMatchObject({ outcome: 'failed', reason: 'nonRetryable', itemCalls: 0 });
  });

  it('ends an item that takes longer than it may', async () => {
    const clock = settableClock(Date.UTC(2026, 0, 1));
    const slow = defineFanOut({
      itemTimeout: '10s',
      itemRetry: { attempts: 1 },
      plan: () => [1],
      each: async ({ signal }) => {
        const waited = sleep(clock, 60_000, signal);
        void clock.advance(10_000);
        await waited;
        throw signal.reason;
      },
      gather: () => 'gathered',
    });
    const run = await runFanOut(slow, { clock });
    expect(run).toMatchObject({ outcome: 'failed', reason: 'itemFailed' });
    expect(run.error?.message).toBe('item 0 of job "job" took longer than its timeout of 10s');
  });
});
