import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { marginOf } from '../../src/core/job';
import { keepAlive } from '../../src/lease/keep-alive';
import { serviceTime } from '../../src/lease/service-time';
import { StoreUnavailableError } from '../../src/lease/store';
import { moment, Trust } from '../../src/lease/trust';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const job = 'a' as JobName;
const leaseId = '11111111-1111-4111-8111-111111111111' as LeaseId;
const LEASE = 30_000;
const LENGTH = LEASE - marginOf(LEASE);

/** A held lease that is kept alive, on a store whose renewals the test decides. */
async function held(renew: (calls: number) => 'renew' | 'fail' | 'hang' = () => 'renew') {
  const clock = settableClock();
  const store = memoryService(clock).open();
  await store.createRow(job, { format: '1' });
  const row = await store.readRow(job);
  if (row === undefined) throw new Error('no row');
  await store.acquire(job, { leaseId, leaseMs: LEASE, ifMatch: row.etag });
  const trust = Trust.inLease(clock, moment(clock), LEASE);
  const seen = { lost: [] as string[], controls: 0, troubles: 0, renewals: 0 };
  const alive = keepAlive({
    store: {
      ...store,
      renew: (name, id, options) => {
        seen.renewals += 1;
        switch (renew(seen.renewals)) {
          case 'renew':
            return store.renew(name, id, options);
          case 'fail':
            return Promise.reject(new StoreUnavailableError('no'));
          case 'hang':
            return new Promise(() => undefined);
        }
      },
    },
    clock,
    random: () => 0,
    job,
    leaseId,
    leaseMs: LEASE,
    trust,
    onLost: (why) => seen.lost.push(why),
    onControl: () => {
      seen.controls += 1;
    },
    onTrouble: () => {
      seen.troubles += 1;
    },
  });
  return { clock, store, trust, seen, alive };
}

describe('a kept-alive lease', () => {
  it('is renewed at a third of its length, and the control record read each time', async () => {
    const { clock, seen, trust, alive } = await held();
    await clock.advance(10 * LEASE);
    expect(seen).toMatchObject({ lost: [], renewals: 30, controls: 30 });
    expect(trust.holds).toBe(true);
    alive.stop();
    await clock.advance(LEASE);
    expect(seen.renewals).toBe(30);
    expect(clock.pending()).toBe(0);
  });

  it('is lost when somebody else has it', async () => {
    const { clock, store, seen } = await held();
    await clock.advance(1_000);
    await store.release(job, leaseId);
    await clock.advance(LEASE / 3);
    expect(seen.lost).toHaveLength(1);
    await clock.advance(LEASE);
    expect(seen.lost).toHaveLength(1);
  });

  it.each(['fail', 'hang'] as const)('is lost when no renewal gets through in time (%s)', async (how) => {
    const { clock, seen, trust } = await held(() => how);
    await clock.advance(LENGTH - 1);
    expect(seen.lost).toEqual([]);
    await clock.advance(1);
    expect(seen.lost).toHaveLength(1);
    expect(trust.holds).toBe(false);
    expect(seen.troubles).toBeGreaterThan(0);
  });

  it('survives renewals that fail for a while', async () => {
    const { clock, seen } = await held((calls) => (calls < 8 ? 'fail' : 'renew'));
    await clock.advance(3 * LEASE);
    expect(seen.lost).toEqual([]);
  });

  it('tells a machine that wakes from sleep at once', async () => {
    const { clock, seen } = await held();
    await clock.advance(1_000);
    // The monotonic clock stood still meanwhile.
    clock.setWall(clock.now() + LEASE);
    await clock.advance(150);
    expect(seen.lost).toHaveLength(1);
    expect(seen.renewals).toBe(0);
  });
});

describe('a lease that grows with its first renewal', () => {
  const SHORT = 15_000;
  const SHORT_LENGTH = SHORT - marginOf(SHORT);

  /** A lease of 15 s that its first renewal makes one of 30 s. The test decides how each call for that is answered. */
  async function growing(answer: (calls: number) => 'answers' | 'is lost' | 'takes effect' | 'hangs' | 'is refused') {
    const clock = settableClock();
    const store = memoryService(clock).open();
    await store.createRow(job, { format: '1' });
    const row = await store.readRow(job);
    if (row === undefined) throw new Error('no row');
    const ifMatch = row.etag;
    await store.acquire(job, { leaseId, leaseMs: SHORT, ifMatch });
    const trust = Trust.inLease(clock, moment(clock), SHORT);
    const seen = { lost: [] as string[], growths: [] as number[], renewals: [] as number[] };
    const grow = () => store.acquire(job, { leaseId, leaseMs: LEASE, ifMatch });
    const alive = keepAlive({
      store: {
        ...store,
        renew: (name, id, options) => {
          seen.renewals.push(clock.monotonic());
          return store.renew(name, id, options);
        },
      },
      ...{ clock, random: () => 0, job, leaseId, leaseMs: SHORT, trust },
      growth: {
        leaseMs: LEASE,
        isUrgent: false,
        acquire: async () => {
          seen.growths.push(clock.monotonic());
          switch (answer(seen.growths.length)) {
            case 'answers':
              return grow();
            case 'takes effect':
              await grow();
              throw new StoreUnavailableError('the answer was lost');
            case 'is lost':
              throw new StoreUnavailableError('lost');
            case 'is refused':
              return { kind: 'lost' };
            case 'hangs':
              return new Promise(() => undefined);
          }
        },
      },
      onLost: (why) => seen.lost.push(why),
      onTrouble: () => undefined,
    });
    const since = clock.monotonic();
    const sinceThen = (times: readonly number[]): readonly number[] => times.map((at) => at - since);
    const isLeased = async (): Promise<boolean> => (await store.readRow(job))?.lease === 'leased';
    return { clock, store, trust, alive, seen, sinceThen, isLeased };
  }

  it('is renewed after a third of the short one, and from then on after thirds of the long one', async () => {
    const { clock, seen, sinceThen, trust, alive } = await growing(() => 'answers');
    await clock.advance(40_000);
    expect(sinceThen(seen.growths)).toEqual([5_000]);
    expect(sinceThen(seen.renewals)).toEqual([15_000, 25_000, 35_000]);
    expect(trust.remaining()).toBe(LENGTH - 5_000);
    expect(alive.mayGrowLate).toBe(false);
  });

  it.each(['is lost', 'takes effect', 'hangs'] as const)(
    'is trusted as the short one until an answer has come (the call %s)',
    async (how) => {
      const { clock, seen, trust, isLeased, alive } = await growing(() => how);
      await clock.advance(SHORT_LENGTH - 1);
      expect(seen.lost).toEqual([]);
      expect(trust.holds).toBe(true);
      await clock.advance(1);
      expect(seen.lost).toHaveLength(1);
      expect(trust.holds).toBe(false);
      expect(alive.mayGrowLate).toBe(true);
      // Others see the lease that the service holds, perhaps the longer one.
      await clock.advance(SHORT);
      expect(await isLeased()).toBe(how === 'takes effect');
    },
  );

  it.each(['is lost', 'takes effect', 'hangs'] as const)(
    'is asked for again, and then trusted as the long one (the first call %s)',
    async (how) => {
      const { clock, seen, trust } = await growing((calls) => (calls === 1 ? how : 'answers'));
      await clock.advance(13_000);
      expect(seen.growths).toHaveLength(2);
      expect(seen.renewals).toEqual([]);
      expect(trust.remaining()).toBeGreaterThan(SHORT_LENGTH);
      await clock.advance(10 * LEASE);
      expect(seen.lost).toEqual([]);
    },
  );

  it('stays short in a store that refuses another length, and is renewed at once', async () => {
    const { clock, seen, sinceThen, trust } = await growing(() => 'is refused');
    await clock.advance(22_000);
    expect(sinceThen(seen.growths)).toEqual([5_000]);
    expect(sinceThen(seen.renewals)).toEqual([5_000, 10_000, 15_000, 20_000]);
    expect(trust.remaining()).toBe(SHORT_LENGTH - 2_000);
  });

  it('is lost if another holder has the row', async () => {
    const { clock, store, seen } = await growing(() => 'answers');
    await clock.advance(1_000);
    const row = await store.readRow(job);
    if (row === undefined) throw new Error('no row');
    await store.writeRow(job, { format: '1', token: '7' }, { leaseId, ifMatch: row.etag });
    await store.release(job, leaseId);
    await clock.advance(SHORT);
    expect(seen.lost).toHaveLength(1);
  });

  it('is trusted no longer than the service holds it, whatever is lost on the way', async () => {
    const answers = ['answers', 'is lost', 'takes effect', 'hangs', 'is refused'] as const;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...answers), { maxLength: 8 }), async (given) => {
        const { clock, trust, isLeased, alive } = await growing((calls) => given[calls - 1] ?? 'answers');
        for (let at = 0; at < 80; at += 1) {
          await clock.advance(500);
          if (trust.holds) expect(await isLeased()).toBe(true);
        }
        alive.stop();
        const heldFor = trust.remaining();
        if (heldFor === 0) return;
        await clock.advance(heldFor - 1);
        expect(await isLeased()).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe('trust', () => {
  it('is not lengthened by a wall clock that is set back', async () => {
    const clock = settableClock();
    const trust = Trust.withoutLease(clock, moment(clock), 10_000);
    clock.setWall(clock.now() - 3_600_000);
    await clock.advance(9_999);
    expect(trust.remaining()).toBe(1);
    await clock.advance(1);
    expect(trust.holds).toBe(false);
  });

  it('is over for good once it is over: a late renewal proves nothing', async () => {
    const clock = settableClock();
    const trust = Trust.withoutLease(clock, moment(clock), 10_000);
    await clock.advance(10_000);
    expect(trust.extend(moment(clock), 10_000)).toBe(false);
    expect(trust.holds).toBe(false);
  });

  it('ends when the lease is known to be lost', () => {
    const clock = settableClock();
    const trust = Trust.withoutLease(clock, moment(clock), 10_000);
    trust.end();
    expect(trust.remaining()).toBe(0);
  });
});

describe('time', () => {
  it.each([
    [1_900, 0],
    [-1_900, 0],
    [2_600, 2_600],
    [300_000, 300_000],
    [-300_000, -300_000],
  ])('a clock that is %i ms off is corrected by %i', (skew, corrected) => {
    const clock = settableClock(Date.UTC(2026, 0, 1, 0, 0, 0, 500) + skew);
    const time = serviceTime(clock);
    time.observe(Date.UTC(2026, 0, 1), moment(clock));
    expect(time.skewMs).toBe(corrected);
    expect(time.now()).toBe(clock.now() - corrected);
  });

  it('learns nothing from an answer that came over a sleep of the machine', async () => {
    const clock = settableClock(Date.UTC(2026, 0, 1, 0, 0, 0, 500));
    const time = serviceTime(clock);
    const sent = moment(clock);
    clock.setWall(clock.now() + 57_000);
    time.observe(Date.UTC(2026, 0, 1), sent);
    expect(time.skewMs).toBe(0);
    const slow = moment(clock);
    await clock.advance(9_000);
    time.observe(Math.floor(slow.wall / 1000) * 1000, slow);
    expect(time.skewMs).toBe(0);
  });

  it.each([
    ['further off than half of its time and 2 s', 600_000, 600_000],
    ['set back, and so', -600_000, -600_000],
    ['no further off than that', 6_000, 0],
  ])('corrects from a slow answer a clock that is %s', async (_what, skew, corrected) => {
    const clock = settableClock(Date.UTC(2026, 0, 1, 0, 0, 0, 500) + skew);
    const time = serviceTime(clock);
    const sent = moment(clock);
    await clock.advance(9_000);
    // The Date was written half way.
    time.observe(Math.floor((sent.wall + 4_500 - skew) / 1000) * 1000, sent);
    expect(Math.abs(time.skewMs - corrected)).toBeLessThanOrEqual(500);
  });

  it('keeps an exact correction where a slow answer is within its own inexactness', async () => {
    const clock = settableClock(Date.UTC(2026, 0, 1, 0, 0, 0, 500) + 600_000);
    const time = serviceTime(clock);
    time.observe(Date.UTC(2026, 0, 1), moment(clock));
    const sent = moment(clock);
    await clock.advance(9_000);
    time.observe(Math.floor((sent.wall - 600_000) / 1000) * 1000, sent);
    expect(time.skewMs).toBe(600_000);
  });

  it('comes back from a correction that was wrong', () => {
    const clock = settableClock(Date.UTC(2026, 0, 1, 0, 0, 0, 500));
    const time = serviceTime(clock);
    const observe = (skew: number): number => {
      time.observe(Date.UTC(2026, 0, 1) - skew, moment(clock));
      return time.skewMs;
    };
    expect([57_000, 1_500, 1_200, 500, 1_500].map(observe)).toEqual([57_000, 1_500, 1_200, 0, 0]);
  });
});
