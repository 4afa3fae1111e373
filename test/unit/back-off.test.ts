import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { isWell } from '../../src/coordinator/reachability';
import { backOff, within } from '../../src/lease/deadline';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { systemClock } from '../../src/system-clock';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;

/** Puts a switch between every instance and storage. */
function breakable(sim: RivalTicks): { away(how: 'refuses' | 'hangs'): void; back(): void } {
  let state: 'answers' | 'refuses' | 'hangs' = 'answers';
  for (const { coordinator } of sim.instances) {
    const { store } = coordinator;
    const broken = new Proxy(store, {
      get(target, property: keyof LeaseStore) {
        const member = target[property];
        if (typeof member !== 'function') return member;
        return (...parameters: unknown[]): unknown => {
          if (state === 'answers') return Reflect.apply(member, target, parameters);
          if (state === 'hangs') return new Promise(() => undefined);
          return Promise.reject(new StoreUnavailableError('503 ServerBusy'));
        };
      },
    });
    Object.assign(coordinator, { store: broken });
  }
  return {
    away: (how) => {
      state = how;
    },
    back: () => {
      state = 'answers';
    },
  };
}

const unhealthy = (sim: RivalTicks): string[] =>
  sim.events.filter(({ event }) => event === 'unhealthy' || event === 'healthy').map(({ event }) => event);

describe('the back-off of calls', () => {
  it('doubles up to its most, less a random part of up to a half', () => {
    const longest = backOff(() => 0, 250, 2_000);
    expect([1, 2, 3, 4, 5].map(() => longest(undefined))).toEqual([250, 500, 1_000, 2_000, 2_000]);
    const shortest = backOff(() => 1, 250, 2_000);
    expect([1, 2, 3, 4, 5].map(() => shortest(undefined))).toEqual([125, 250, 500, 1_000, 1_000]);
  });

  it('heeds a service that says when to come back', () => {
    const delay = backOff(() => 0, 250, 2_000);
    expect(delay(new StoreUnavailableError('503', { retryAfterMs: 7_000 }))).toBe(7_000);
    expect(delay(new StoreUnavailableError('503', { retryAfterMs: 1 }))).toBe(500);
  });
});

describe('an outage of storage', () => {
  it.each(['refuses', 'hangs'] as const)(
    'is said once by each instance, however many jobs there are, and its end too (%s)',
    async (how) => {
      const jobs = Array.from({ length: 20 }, (_, index) => jobSpec(`j${String(index)}`, '@every 5s'));
      // The outage is shorter than a sweep: what lasts longer is said again.
      const sim = rivalTicks({ jobs, deployments: 2, sweepIntervalMs: 60_000 });
      const storage = breakable(sim);
      await sim.clock.advance(60 * SECOND);
      expect(unhealthy(sim)).toEqual([]);
      storage.away(how);
      await sim.clock.advance(40 * SECOND);
      for (const { deployment, coordinator } of sim.instances) {
        expect(coordinator.health.healthy).toBe(false);
        const said = sim.events.filter((event) => event.deployment === deployment && event.event === 'unhealthy');
        // Reading and writing are two things that may fail.
        expect(said.length).toBeGreaterThan(0);
        expect(said.length).toBeLessThanOrEqual(2);
      }
      storage.back();
      await sim.clock.advance(60 * SECOND);
      expect(sim.instances.map(({ coordinator }) => coordinator.health.healthy)).toEqual([true, true]);
      expect(unhealthy(sim).filter((event) => event === 'healthy')).toHaveLength(
        unhealthy(sim).filter((event) => event === 'unhealthy').length,
      );
    },
  );

  it('does not make the instances ask in step', async () => {
    const at: number[] = [];
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 5s')], deployments: 1, sweepIntervalMs: 2_000 });
    await sim.clock.advance(60 * SECOND);
    const [{ coordinator } = {} as Instance] = sim.instances;
    let seed = 1;
    Object.assign(coordinator, { random: () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647 });
    breakable(sim).away('refuses');
    const { store } = coordinator;
    const counting: LeaseStore = Object.assign(Object.create(store) as LeaseStore, {
      list: (...parameters: Parameters<LeaseStore['list']>) => {
        at.push(sim.clock.now());
        return store.list(...parameters);
      },
    });
    Object.assign(coordinator, { store: counting });
    await sim.clock.advance(60 * SECOND);
    const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    expect(at.length).toBeLessThan(70);
    expect(new Set(waits).size).toBeGreaterThan(waits.length / 2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_500);
  });

  it('keeps a handler going as long as its trust lasts, and warns of leases once', async () => {
    const jobs = ['a', 'b', 'c'].map((name) => jobSpec(name, '* * * * *', { leaseMs: 60_000 }));
    const ended: string[] = [];
    const sim = rivalTicks({
      jobs,
      handler: async ({ job, signal }, { coordinator }) => {
        await sleep(coordinator.clock, 50 * SECOND, signal);
        ended.push(`${job} ${signal.aborted ? 'aborted' : 'done'}`);
      },
    });
    const storage = breakable(sim);
    await sim.clock.advance(65 * SECOND);
    storage.away('refuses');
    // The first renewal is due after 20 s.
    await sim.clock.advance(30 * SECOND);
    const said = sim.events.filter(({ event, reason }) => event === 'unhealthy' && reason?.startsWith('leases'));
    expect(said).toHaveLength(1);
    storage.back();
    await sim.clock.advance(25 * SECOND);
    expect(ended).toEqual(['a done', 'b done', 'c done']);
    await sim.clock.advance(30 * SECOND);
    expect(sim.events.filter(({ event, reason }) => event === 'healthy' && reason?.startsWith('leases'))).toHaveLength(
      1,
    );
    expect(sim.instances.map(({ coordinator }) => coordinator.health.healthy)).toEqual([true]);
  });

  it('is caught up with by each job as it says, within 5 s of its end', async () => {
    const jobs = [
      jobSpec('all', '@every 20s', { catchUp: 'all' }),
      jobSpec('latest', '@every 20s', { catchUp: 'latest' }),
      jobSpec('none', '@every 20s', { catchUp: 'none', leaseMs: 15 * SECOND }),
    ];
    const sim = rivalTicks({ jobs, deployments: 2, sweepIntervalMs: 2_000 });
    const storage = breakable(sim);
    await sim.clock.advance(65 * SECOND);
    storage.away('refuses');
    await sim.clock.advance(62 * SECOND);
    storage.back();
    const from = sim.clock.now();
    await sim.clock.advance(5 * SECOND);
    const ran = (job: string): number => sim.calls.filter((call) => call.job === job && call.at >= from).length;
    // Of the three that were due meanwhile, one is older than 30 s, and than this lease and 20 s.
    expect([ran('all'), ran('latest'), ran('none')]).toEqual([3, 2, 2]);
    await sim.clock.advance(60 * SECOND);
    for (const job of ['all', 'latest', 'none']) {
      const due = new Set<number>();
      for (const record of await sim.records(job)) {
        const last = Date.parse(record.through ?? record.scheduledFor);
        for (let time = Date.parse(record.scheduledFor); time <= last; time += 20 * SECOND) {
          expect(due.has(time)).toBe(false);
          due.add(time);
        }
      }
      const times = [...due].toSorted((a, b) => a - b);
      expect(times.at(-1)).toBeGreaterThan(from + 30 * SECOND);
      expect(times.length).toBe(((times.at(-1) ?? 0) - (times[0] ?? 0)) / (20 * SECOND) + 1);
    }
    const outcomes = async (job: string) => new Set((await sim.records(job)).map(({ reason }) => reason));
    expect(await outcomes('all')).toEqual(new Set(['completed']));
    expect(await outcomes('latest')).toEqual(new Set(['completed', 'catchUpLatest']));
    expect(await outcomes('none')).toEqual(new Set(['completed', 'catchUpNone']));
  });

  it('is no trouble of an instance whose ticks have gone to another one', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@every 5s')] });
    const storage = breakable(sim);
    await sim.clock.advance(60 * SECOND);
    storage.away('refuses');
    await sim.clock.advance(40 * SECOND);
    const [{ coordinator } = {} as Instance] = sim.instances;
    expect(isWell(coordinator)).toBe(false);
    // The timer fires elsewhere from now on, so nothing here finds out that storage is back.
    coordinator.stopping = true;
    await sim.clock.advance(170 * SECOND);
    expect(isWell(coordinator)).toBe(false);
    await sim.clock.advance(20 * SECOND);
    expect(coordinator.health.healthy).toBe(false);
    expect(isWell(coordinator)).toBe(true);
  });
});

describe('a call with a limit', () => {
  /** Rejects at once with its own error when its signal is aborted. */
  const abortable = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('own')));
    });

  it('rejects because there was no answer, whatever the call makes of the end of its time', async () => {
    await expect(within(systemClock, 1, abortable)).rejects.toThrow(StoreUnavailableError);
  });

  it('rejects with the reason of its caller', async () => {
    const caller = new AbortController();
    const call = within(systemClock, 60_000, abortable, { signal: caller.signal });
    caller.abort(new Error('given up'));
    await expect(call).rejects.toThrow('given up');
  });
});
