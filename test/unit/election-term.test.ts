import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { marginOf } from '../../src/core/job';
import { claim, decodeElectionRow, encodeElectionRow } from '../../src/election/campaign';
import { checkOptions } from '../../src/election/options';
import type { RowStore } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { LEASES, electionWorld, OPTIONS } from '../support/election';
import type { Leadership } from '../../src/election/leadership';

const NAME = 'a' as JobName;
const LEASE = 15_000;
const SLOW = 4_000;

describe("a leader's first trust", () => {
  it('counts from when its acquisition was sent, and not from its answer', async () => {
    const clock = settableClock();
    const store = memoryService(clock).open();
    await store.createRow(NAME, encodeElectionRow({ token: 0 as Token }));
    const seen = await store.readRow(NAME);
    if (seen === undefined) throw new Error('no row');
    const slow: RowStore = {
      ...store,
      acquire: async (...call) => {
        const answer = await store.acquire(...call);
        await sleep(clock, SLOW);
        return answer;
      },
    };
    const world = { store: slow, clock, random: () => 0, newId: () => '00000001-0000-4000-8000-000000000000' };
    const settings = checkOptions({ ...OPTIONS, lease: '15s' }, () => 'x', LEASES);
    const sighting = { row: decodeElectionRow(seen.metadata), etag: seen.etag };
    const won = claim(settings, world, sighting as Parameters<typeof claim>[2], new AbortController().signal);
    await clock.advance(SLOW);
    expect((await won)?.trust.remaining()).toBe(LEASE - marginOf(LEASE) - SLOW);
  });
});

describe('the fence of a term that is over', () => {
  it('is closed for a task that ignores its signal, however much trust is left', async () => {
    const world = electionWorld();
    const kept: Leadership[] = [];
    const leader = world.candidate('x', {
      grace: '2s',
      task: (leadership) => {
        kept.push(leadership);
        return new Promise(() => undefined);
      },
    });
    await world.until(() => leader.elector.isLeader, 5_000);
    const [leadership] = kept;
    if (leadership === undefined) throw new Error('no term');
    expect(() => leadership.fence.check()).not.toThrow();
    // A release that gets no answer leaves the lease, and the trust in it, as they are.
    leader.luck = (call) => (call === 'release' ? 'hangs' : 'fine');
    void leader.elector.resign();
    await world.clock.advance(2_100);
    expect(() => leadership.fence.check()).toThrow(/has ended/);
  });
});

describe('a container that was deleted while candidates run', () => {
  it('is made again once no leader from before can trust its lease', async () => {
    const world = electionWorld();
    const made: number[] = [];
    let isThere = true;
    const [one, other] = ['x', 'y'].map((id) => {
      const candidate = world.candidate(id);
      candidate.luck = (call) => {
        if (call === 'prepare') {
          if (!isThere) made.push(world.clock.now());
          isThere = true;
        }
        return isThere ? 'fine' : 'noContainer';
      };
      return candidate;
    });
    const leads = (): boolean => one?.elector.isLeader === true || other?.elector.isLeader === true;
    await world.until(leads, 5_000);
    await world.clock.advance(20_000);
    const deletedAt = world.clock.now();
    isThere = false;
    world.service.deleteRow(NAME);
    await world.clock.advance(75_000);
    expect({ made, leads: leads() }).toEqual({ made: [], leads: false });
    await world.until(leads, 30_000);
    expect((made[0] ?? 0) - deletedAt).toBeGreaterThanOrEqual(75_000);
    expect((await world.row()).token).toBe(2);
  });
});

describe('an election', () => {
  /** A value that neither can be shown nor allows any look at it. */
  const hostile = (): unknown => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  it.each([
    ['an object without a prototype', () => Object.create(null) as unknown],
    ['a proxy that allows nothing', hostile],
  ])('goes on after a health check that threw %s', async (_, thrown) => {
    const world = electionWorld();
    let isFit = false;
    const one = world.candidate('x', {
      healthCheck: () => {
        if (isFit) return true;
        throw thrown();
      },
    });
    await world.clock.advance(10_000);
    expect(one.events).toMatchObject([
      { kind: 'observed' },
      { kind: 'error', error: { message: expect.stringContaining('cannot be shown') as string } },
    ]);
    isFit = true;
    await world.until(() => one.elector.isLeader, 20_000);
    isFit = false;
    await world.until(() => !one.elector.isLeader, 20_000);
    await world.settled(one.elector.stop(), 20_000);
  });

  it('goes on after a task whose aborted signal made it throw a proxy that allows nothing', async () => {
    const world = electionWorld();
    const one = world.candidate('x', {
      task: async ({ signal }) => {
        await sleep(world.clock, Infinity, signal);
        throw hostile();
      },
    });
    await world.until(() => one.elector.isLeader, 5_000);
    expect(await world.settled(one.elector.resign())).toBe(true);
    await world.until(() => one.elector.isLeader, 60_000);
    await world.settled(one.elector.stop());
  });
});
