import { describe, expect, it } from 'vitest';
import { StoreDeniedError, type StoreError, StoreUnavailableError } from '../../src/lease/store';
import { sleep } from '../../src/core/clock';
import { firstInstance, listedRow } from '../support/by-hand';
import { ANSWERS, CALL_FAILS, CALLS, errorOf } from '../support/failing-calls';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import type { JobName } from '../../src/core/brand';

const SECOND = 1_000;
const HOUR = 3_600_000;
const A = 'a' as JobName;

/** A job of every hour, whose run outlasts a renewal, and one of whose calls, or several, fail for a while. */
async function failing(
  call: (typeof CALLS)[number],
  error: StoreError,
  forMs: number,
  others: readonly ('renew' | 'replaceRecord')[] = [],
) {
  const sim: RivalTicks = rivalTicks({
    jobs: [jobSpec('a', '@hourly', { leaseMs: 60_000 })],
    handler: (_, { coordinator }) => sleep(coordinator.clock, 40 * SECOND),
  });
  const on = firstInstance(sim);
  await sim.clock.advance(HOUR - 30 * SECOND);
  let since: number | undefined;
  const wrap =
    <Args extends unknown[], T>(real: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> => {
      since ??= sim.clock.now();
      return sim.clock.now() - since < forMs ? Promise.reject(error) : real(...args);
    };
  for (const one of [call, ...others]) interceptStore(on, one, wrap as never);
  await sim.clock.advance(5 * 60 * SECOND);
  return { sim, failed: since !== undefined };
}

describe('an answer to a call of blob storage', () => {
  it.each(ANSWERS)('%s is %s', (answer, code) => {
    expect(errorOf(answer)).toMatchObject({ code, message: expect.stringContaining(answer) as unknown });
  });
});

describe.each(CALLS.map((call) => [call, CALL_FAILS[call][0]] as const))('a failure of %s in a run: %s', (call) => {
  const errors = [
    ...new Map(ANSWERS.map(([answer, code]) => [code, errorOf(answer)])).values(),
    ...(['noToken', 'credentials', 'role', 'network'] as const).map((why) => new StoreDeniedError('denied', { why })),
    new StoreUnavailableError('throttled', { retryAfterMs: SECOND }),
  ];

  it.each(errors)('that passes within 10 s changes nothing: %s', async (error) => {
    const { sim, failed } = await failing(call, error, 10 * SECOND);
    expect(failed).toBe(true);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1]);
    expect((await listedRow(sim, A)).lease).toBe('available');
    expect(sim.events.filter(({ event }) => ['takenOver', 'superseded', 'failed'].includes(event))).toEqual([]);
    expect(sim.events.filter(({ event }) => event === 'succeeded')).toHaveLength(1);
  });
});

describe('a refusal that lasts', () => {
  const denied = new StoreDeniedError('denied', { why: 'role' });

  it.each(CALLS)('of %s alone for three leases ends in one outcome, and no handler runs twice', async (call) => {
    const { sim, failed } = await failing(call, denied, 180 * SECOND);
    expect(failed).toBe(true);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1]);
    expect(await sim.records('a')).toMatchObject([{ state: 'final', outcome: 'succeeded' }]);
  });

  it('of renewals and of the record until trust ends is the end of the attempt, and another one follows', async () => {
    const { sim } = await failing('createRecord', denied, 80 * SECOND, ['renew', 'replaceRecord']);
    await sim.clock.advance(60 * SECOND);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    const events = sim.events.map(({ event }) => event).filter((event) => !/healthy|started/.test(event));
    expect(events).toEqual(['claimed', 'superseded', 'takenOver', 'succeeded']);
    expect(sim.events.find(({ event }) => event === 'superseded')?.reason).toBe('storageRefused');
    expect(sim.trouble.join()).toMatch(/the end of its run could not be stored before its lease ended: .*denied/);
    const message = 'storage refused the renewals of its lease';
    expect(await sim.records('a')).toMatchObject([
      {
        state: 'final',
        outcome: 'succeeded',
        attempts: [
          { outcome: 'holderLost', error: { message } },
          { outcome: 'succeeded', error: null },
        ],
      },
    ]);
  });

  it('of renewals and of the record for three leases uses up no attempt but the one whose handler was called', async () => {
    const { sim } = await failing('createRecord', denied, 190 * SECOND, ['renew', 'replaceRecord']);
    await sim.clock.advance(2 * 60 * SECOND);
    expect(sim.events.filter(({ event }) => event === 'takenOver').length).toBeGreaterThan(2);
    expect(sim.calls).toHaveLength(2);
    expect(await sim.records('a')).toMatchObject([
      {
        state: 'final',
        outcome: 'succeeded',
        attempts: [{ attempt: 1, outcome: 'holderLost' }, { outcome: 'succeeded' }],
      },
    ]);
  });
});
