import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { createScout, encodeElectionRow } from '../../src/election/campaign';
import { checkOptions } from '../../src/election/options';
import type { RowStore } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { type Candidate, type ElectionWorld, LEASES, OPTIONS, aborted, electionWorld } from '../support/election';
import type { LeadershipEndedError } from '../../src/election/leadership';

const LEASE = 15_000;
/** A poll of a third of the lease, give or take a fifth. */
const POLL = (LEASE / 3) * 1.2;

function leaders(...candidates: Candidate[]): Candidate[] {
  return candidates.filter(({ elector }) => elector.isLeader);
}

async function elected(world: ElectionWorld, ...candidates: Candidate[]): Promise<Candidate> {
  await world.until(() => leaders(...candidates).some(({ terms }) => terms.length > 0), 2 * LEASE);
  const [leader, second] = leaders(...candidates);
  if (leader === undefined || second !== undefined) throw new Error('not one leader');
  return leader;
}

function ends(candidate: Candidate): string[] {
  return candidate.events.flatMap((event) => (event.kind === 'lost' ? [event.reason] : []));
}

function errors(candidate: Candidate): unknown[] {
  return candidate.events.flatMap((event) => (event.kind === 'error' ? [event.error] : []));
}

describe('a campaign', () => {
  it('elects one, whose row names it with a token, and keeps it', async () => {
    const world = electionWorld({ latencyMs: 10 });
    const all = ['x', 'y', 'z'].map((id) => world.candidate(id));
    const leader = await elected(world, ...all);
    await world.clock.advance(10 * LEASE);
    expect(leaders(...all)).toEqual([leader]);
    expect(all.flatMap(({ terms }) => terms)).toHaveLength(1);
    const [term] = leader.terms;
    expect(term).toMatchObject({ name: 'a', token: 1, fence: { token: 1 } });
    expect(await world.row()).toMatchObject({ token: 1, leader: term?.id, since: term?.since.getTime() });
    for (const { elector } of all)
      expect(await world.settled(elector.leader())).toMatchObject({ id: term?.id, token: 1 });
  });

  it('costs a candidate one read a poll, and a leader one renewal a third of its lease', async () => {
    const world = electionWorld();
    const leader = world.candidate('x');
    await elected(world, leader);
    const other = world.candidate('y');
    await world.clock.advance(1_000);
    for (const { calls } of [leader, other]) calls.clear();
    await world.clock.advance(10 * LEASE);
    expect(Object.fromEntries(leader.calls)).toEqual({ renew: 30 });
    expect([...other.calls.keys()]).toEqual(['readRow']);
    expect(other.calls.get('readRow')).toBeGreaterThanOrEqual(25);
    expect(other.calls.get('readRow')).toBeLessThanOrEqual(38);
  });

  it('is won by another within lease and poll when the leader dies, with a higher token', async () => {
    const world = electionWorld({ latencyMs: 10 });
    const all = ['x', 'y', 'z'].map((id) => world.candidate(id));
    const first = await elected(world, ...all);
    await world.clock.advance(2 * LEASE + 1_234);
    first.kill();
    const rest = all.filter((one) => one !== first);
    await world.until(() => leaders(...rest).length === 1, LEASE + POLL + 1_000);
    expect((await world.row()).token).toBe(2);
  });

  it('goes on while storage is away from the start, with one report', async () => {
    const world = electionWorld();
    const candidate = world.candidate('x');
    candidate.luck = () => 'lostBefore';
    await world.clock.advance(10 * 60_000);
    expect(errors(candidate)).toMatchObject([{ code: 'StoreUnavailable' }]);
    // Never more often than once a poll interval in the long run.
    expect(candidate.calls.get('prepare')).toBeLessThan(250);
    candidate.luck = () => 'fine';
    await elected(world, candidate);
    expect(errors(candidate)).toHaveLength(1);
  });

  it.each(['lostAfter', 'lostBefore', 'hangs'] as const)('gets over an answer that is lost (%s)', async (luck) => {
    for (const call of ['prepare', 'createRow', 'readRow', 'acquire', 'writeRow']) {
      const world = electionWorld();
      const candidate = world.candidate('x');
      let times = 0;
      candidate.luck = (what) => {
        times += what === call ? 1 : 0;
        return what === call && times === 1 ? luck : 'fine';
      };
      // Long before the lease of a claim that no one knows of would have run out.
      await world.until(() => candidate.terms.length > 0, LEASE / 2);
      expect(await world.row(), call).toMatchObject({ leader: 'x', token: 1 });
      await world.clock.advance(3 * LEASE);
      expect(leaders(candidate), call).toHaveLength(1);
    }
  });

  it('respects a lease that was broken until it has seen it so for a lease and the margin', async () => {
    const world = electionWorld();
    const leader = world.candidate('x', { lease: '60s' });
    await elected(world, leader);
    const other = world.candidate('y');
    await world.clock.advance(5_000);
    leader.pause();
    world.service.breakLease('a' as JobName, 0);
    const brokenAt = world.clock.monotonic();
    await world.until(() => other.elector.isLeader, 120_000);
    // The longer lease of the old leader counts: 60 s and a tenth of it.
    expect(world.clock.monotonic() - brokenAt).toBeGreaterThanOrEqual(66_000);
    expect(world.clock.monotonic() - brokenAt).toBeLessThan(66_000 + 2 * POLL);
  });

  it('does not take a row that somebody else has written, and says so once', async () => {
    const world = electionWorld();
    const store = world.service.open();
    await store.createRow('a' as JobName, { format: '2', token: 'many' });
    const candidate = world.candidate('x');
    await world.clock.advance(60_000);
    expect(leaders(candidate)).toEqual([]);
    expect(errors(candidate)).toMatchObject([{ code: 'ForeignMetadata' }]);
    await expect(world.settled(candidate.elector.leader())).rejects.toMatchObject({ code: 'ForeignMetadata' });
  });
});

describe('a leader', () => {
  it.each(['lostBefore', 'hangs'] as const)('ends its term before its lease when renewals fail (%s)', async (luck) => {
    const world = electionWorld();
    const leader = world.candidate('x');
    const other = world.candidate('y');
    other.luck = () => 'lostBefore';
    await elected(world, leader);
    leader.luck = () => luck;
    const start = world.clock.monotonic();
    await world.until(() => !leader.elector.isLeader, LEASE);
    expect(world.clock.monotonic() - start).toBeLessThanOrEqual(13_050);
    await world.clock.advance(0);
    const [term] = leader.terms;
    expect(term?.signal.reason).toMatchObject({ code: 'leaseLost' });
    expect(() => term?.fence.check()).toThrow(/election "a"/);
    expect(ends(leader)).toEqual(['leaseLost']);
    // One for the trouble, one for the loss, one for storage that is still away.
    await world.clock.advance(5 * 60_000);
    expect(errors(leader).length).toBeLessThanOrEqual(3);
    leader.luck = () => 'fine';
    await elected(world, leader);
    expect(leader.terms.map(({ token }) => token)).toEqual([1, 2]);
  });

  it('knows at once when it wakes from a pause that it leads no more, and is told within 200 ms', async () => {
    const world = electionWorld({ latencyMs: 10 });
    const all = [world.candidate('x'), world.candidate('y')];
    const first = await elected(world, ...all);
    const other = all.find((one) => one !== first);
    first.pause();
    await world.until(() => other?.elector.isLeader === true, LEASE + POLL + 1_000);
    expect(first.elector.isLeader).toBe(false);
    expect(() => first.terms[0]?.fence.check()).toThrow();
    expect(first.terms[0]?.signal.aborted).toBe(false);
    first.wake();
    await world.clock.advance(200);
    expect(first.terms[0]?.signal.reason).toMatchObject({ code: 'leaseLost' });
    await world.clock.advance(3 * LEASE);
    expect(leaders(...all)).toEqual([other]);
  });

  it('resigns, lets the others go first, and may be elected again', async () => {
    const world = electionWorld({ latencyMs: 10 });
    const all = [world.candidate('x'), world.candidate('y')];
    const first = await elected(world, ...all);
    expect(await world.settled(first.elector.resign())).toBe(true);
    expect(first.terms[0]?.signal.reason).toMatchObject({ code: 'resigned' });
    expect(leaders(...all)).toEqual([]);
    expect(await world.settled(first.elector.leader())).toBeUndefined();
    await world.until(() => leaders(...all).length === 1, POLL + 500);
    const [second] = leaders(...all);
    expect(second).not.toBe(first);
    expect(await first.elector.resign()).toBe(false);
    second?.kill();
    await world.until(() => first.elector.isLeader, LEASE + POLL + 500);
    expect((await world.row()).token).toBe(3);
  });

  it('is elected again when it resigns alone', async () => {
    const world = electionWorld();
    const only = world.candidate('x');
    await elected(world, only);
    await world.settled(only.elector.resign());
    await world.until(() => only.elector.isLeader, 2 * POLL);
    expect(only.terms.map(({ token }) => token)).toEqual([1, 2]);
  });

  it('that has stalled steps down, and its lease is let go at once', async () => {
    const world = electionWorld();
    const leader = world.candidate('x', {
      stallAfter: '10s',
      task: async ({ progress, signal }) => {
        for (let step = 0; step < 6; step += 1) {
          await sleep(world.clock, 8_000);
          progress(`step ${String(step)}`);
        }
        await aborted(signal);
      },
    });
    await elected(world, leader);
    const other = world.candidate('y');
    await world.clock.advance(48_000);
    expect(leaders(leader, other)).toEqual([leader]);
    await world.until(() => other.elector.isLeader, 10_000 + POLL + 500);
    expect(ends(leader)).toEqual(['stalled']);
    expect(errors(leader)).toMatchObject([{ code: 'stalled', message: expect.stringContaining('step 5') as unknown }]);
  });

  it.each([
    ['says no', () => false],
    ['throws', () => Promise.reject(new Error('the disk is full'))],
    ['hangs', () => new Promise<boolean>(() => undefined)],
  ])('whose health check %s steps down, and does not campaign until it is well', async (_, check) => {
    const world = electionWorld();
    let sick = false;
    const leader = world.candidate('x', { healthCheck: () => (sick ? check() : true), healthTimeout: '1s' });
    await elected(world, leader);
    const other = world.candidate('y');
    await world.clock.advance(60_000);
    expect(leaders(leader, other)).toEqual([leader]);
    sick = true;
    await world.until(() => other.elector.isLeader, 6_000 + POLL + 500);
    expect(leader.terms[0]?.signal.reason).toMatchObject({ code: 'unhealthy' });
    other.kill();
    await world.clock.advance(5 * LEASE);
    expect(leader.elector.isLeader).toBe(false);
    expect(errors(leader)).toMatchObject([{ code: 'unhealthy' }, { code: 'unhealthy' }]);
    sick = false;
    await world.until(() => leader.elector.isLeader, POLL + 500);
  });

  it('whose task throws says so, lets go, and stays out for ever longer', async () => {
    const world = electionWorld();
    const began: number[] = [];
    const leader = world.candidate('x', {
      backoff: '4s',
      maxBackoff: '30s',
      task: () => {
        began.push(world.clock.monotonic());
        throw new Error('it does not work');
      },
    });
    await world.clock.advance(5 * 60_000);
    expect(errors(leader).slice(0, 2)).toMatchObject([
      { message: 'it does not work' },
      { message: 'it does not work' },
    ]);
    const waits = began.slice(1).map((at, index) => at - (began[index] ?? 0));
    // With the random number at a half, the wait is three quarters of the back-off.
    expect(waits.slice(0, 6)).toEqual([3_000, 6_000, 12_000, 22_500, 22_500, 22_500]);
    expect(leader.events.filter(({ kind }) => kind === 'elected')).toHaveLength(began.length);
    expect((await world.row()).token).toBe(began.length);
    expect(await world.settled(leader.elector.leader())).toBeUndefined();
  });

  it('whose task returns goes on campaigning, or stops', async () => {
    const world = electionWorld();
    const again = world.candidate('x', { task: () => sleep(world.clock, 1_000) });
    await world.clock.advance(60_000);
    expect(again.terms.length).toBeGreaterThan(5);
    expect(again.terms.length).toBeLessThan(12);
    expect(new Set(ends(again))).toEqual(new Set(['completed']));
    await world.settled(again.elector.stop());

    const once = world.candidate('y', { task: () => 'done', afterTask: 'stop' });
    await world.clock.advance(60_000);
    await once.elector.over();
    expect(once.terms).toHaveLength(1);
    expect(errors(once)).toEqual([]);
    expect(world.clock.pending()).toBe(0);
  });

  it('whose task ignores its signal is not waited for, and does not lead again before it has ended', async () => {
    const world = electionWorld();
    let letEnd = (): void => undefined;
    const leader = world.candidate('x', { task: () => new Promise<void>((resolve) => (letEnd = resolve)) });
    await elected(world, leader);
    await world.settled(leader.elector.resign(), 5_100);
    expect(leader.elector.isLeader).toBe(false);
    await world.clock.advance(3 * LEASE);
    expect(leader.terms).toHaveLength(1);
    expect(errors(leader)).toMatchObject([{ code: 'TaskNotEnded' }]);
    const other = world.candidate('y');
    await elected(world, other);
    other.kill();
    letEnd();
    await world.until(() => leader.elector.isLeader, LEASE + POLL + 500);
  });
});

describe('stopping', () => {
  it('aborts the task, gives it its grace, and lets go, so that another leads within a poll', async () => {
    const world = electionWorld({ latencyMs: 10 });
    let windUp = '';
    const task = async ({ signal, fence }: { signal: AbortSignal; fence: { check(): void } }): Promise<void> => {
      await aborted(signal);
      await sleep(world.clock, 3_000);
      fence.check();
      windUp = 'written under the fence';
    };
    const first = world.candidate('x', { task });
    await elected(world, first);
    const other = world.candidate('y');
    await world.clock.advance(60_000);
    await world.settled(first.elector.stop(), 3_100);
    expect(windUp).not.toBe('');
    expect(first.terms[0]?.signal.reason).toMatchObject({ code: 'draining' });
    expect(ends(first)).toEqual(['draining']);
    await world.until(() => other.elector.isLeader, POLL + 500);
    expect(() => first.elector.start()).toThrow(/create a new LeaderElection/);
  });

  it('does not wait longer than the grace', async () => {
    const world = electionWorld();
    const leader = world.candidate('x', { grace: '2s', task: () => new Promise(() => undefined) });
    await elected(world, leader);
    let over = false;
    void leader.elector.stop().then(() => (over = true));
    await world.clock.advance(1_900);
    expect(over).toBe(false);
    await world.clock.advance(200);
    expect(over).toBe(true);
    expect(world.clock.pending()).toBe(0);
  });

  it.each(['prepare', 'readRow', 'acquire', 'writeRow'])('ends a campaign in the middle of %s', async (call) => {
    const world = electionWorld({ latencyMs: 100 });
    const candidate = world.candidate('x');
    await world.until(() => candidate.calls.has(call), LEASE);
    let over = false;
    void candidate.elector.stop().then(() => (over = true));
    await world.clock.advance(1_500);
    expect(over).toBe(true);
    expect(candidate.elector.isLeader).toBe(false);
    if (candidate.terms.length > 0) expect(candidate.terms[0]?.signal.aborted).toBe(true);
    // Nothing is left behind that others would have to wait for.
    const next = world.candidate('y');
    await world.until(() => next.elector.isLeader, 2_000);
    await world.settled(next.elector.stop());
    await world.clock.advance(10_000);
    expect(world.clock.pending()).toBe(0);
  });
});

describe('observing', () => {
  it('yields who leads, and each change, to candidates and to mere observers', async () => {
    const world = electionWorld({ latencyMs: 10 });
    const first = world.candidate('x');
    await elected(world, first);
    const other = world.candidate('y');
    const seen: (string | undefined)[] = [];
    const done = (async () => {
      for await (const leader of other.elector.observe()) seen.push(leader && `${leader.id} ${String(leader.token)}`);
    })();
    await world.clock.advance(LEASE);
    expect(seen).toEqual(['x 1']);
    await world.settled(first.elector.resign());
    await world.clock.advance(POLL);
    expect(seen.filter((one) => one !== undefined)).toEqual(['x 1', 'y 2']);
    const observed = other.events.flatMap((event) => (event.kind === 'observed' ? [event.leader?.id] : []));
    expect(observed.filter((one) => one !== undefined)).toEqual(['x', 'y']);
    await world.settled(other.elector.stop());
    await done;
  });
});

describe('the row', () => {
  it('is made anew from the highest token seen, should somebody delete it', async () => {
    const clock = settableClock();
    let store = memoryService(clock).open();
    await store.createRow('a' as JobName, encodeElectionRow({ token: 7 as Token }));
    const settings = checkOptions({ ...OPTIONS, name: 'a' }, () => 'x', LEASES);
    const calls: RowStore = {
      ...store,
      readRow: (...parameters) => store.readRow(...parameters),
      createRow: (...parameters) => store.createRow(...parameters),
    };
    const scout = createScout(settings, { store: calls, clock, random: () => 0.5, newId: () => 'id' });
    expect(await scout.read()).toMatchObject({ free: true, row: { token: 7 } });
    store = memoryService(clock).open();
    expect(await scout.leader()).toBeUndefined();
    expect(await scout.read()).toMatchObject({ free: true, row: { token: 7 } });
    // Deleted again, and made again by a candidate that had never seen the election.
    store = memoryService(clock).open();
    await store.createRow('a' as JobName, encodeElectionRow({ token: 0 as Token }));
    expect(await scout.read()).toMatchObject({ row: { token: 0 } });
    store = memoryService(clock).open();
    expect(await scout.read()).toMatchObject({ row: { token: 7 } });
  });
});

describe('the reason of a signal', () => {
  it('is an error with a code', async () => {
    const world = electionWorld();
    const leader = world.candidate('x');
    await elected(world, leader);
    await world.settled(leader.elector.resign());
    const reason = leader.terms[0]?.signal.reason as LeadershipEndedError;
    expect(reason).toBeInstanceOf(Error);
    expect(reason.message).toContain('election "a"');
  });
});
