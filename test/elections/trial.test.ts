import { describe, expect, it } from 'vitest';
import { CONTENDERS, contenderOf } from './world/contender';
import { createDataStore } from './world/data-store';
import { type Belief, createObserver, overlap } from './world/observer';
import { SCENARIOS, scenarioOf } from './world/scenarios';
import { type Figures, runTrial } from './world/trial';

function trial(name: string, scenario: string, seed = 1): Promise<Figures> {
  return runTrial({ contender: contenderOf(name), scenario: scenarioOf(scenario), instances: 5, seed });
}

function belief(instance: number, from: number, until: number, token?: number): Belief {
  return { instance, token, from, over: until < Infinity, acts: [{ from, until }] };
}

describe('a trial', () => {
  it.each(CONTENDERS.map((contender) => [contender.name, contender] as const))(
    '%s: is the same again with the same seed, and another with another',
    async (_, contender) => {
      for (const name of ['flapping link', 'slow links']) {
        const scenario = scenarioOf(name);
        const [first, again, other] = await Promise.all(
          [7, 7, 8].map((seed) => runTrial({ contender, scenario, instances: 3, seed })),
        );
        expect(again).toEqual(first);
        expect(other).not.toEqual(first);
      }
    },
  );

  it.each(CONTENDERS.map((contender) => [contender.name, contender] as const))(
    '%s: has one leader when the fault begins, and one again at the end',
    async (_, contender) => {
      for (const scenario of SCENARIOS) {
        if (scenario.ofStore === true && !contender.usesStore) continue;
        const { beliefs } = await runTrial({ contender, scenario, instances: 3, seed: 3 });
        const leads = (at: number): number =>
          beliefs.filter(({ acts }) => acts.some(({ from, until }) => from <= at && at < until)).length;
        expect(leads(29_999), scenario.name).toBe(1);
        expect(leads(120_000), scenario.name).toBe(1);
      }
    },
  );
});

describe('what the page says', () => {
  it('Bully and the ring have a leader in each half of a partition, with nothing to fence it', async () => {
    for (const name of ['bully', 'ring']) {
      const { twoLeaders, stale, staleFenced } = await trial(name, 'partition');
      expect(twoLeaders.ms).toBeGreaterThan(50_000);
      expect(stale).toBeGreaterThan(100);
      expect(staleFenced).toBeUndefined();
    }
  });

  it('a cut off leader of Raft believes on, its term fences it, and a leader lease ends its belief', async () => {
    const plain = await trial('raft', 'partition');
    expect(plain.twoLeaders.ms).toBeGreaterThan(50_000);
    expect(plain.stale).toBeGreaterThan(100);
    expect(plain.staleFenced).toBe(0);
    const leased = await trial('raft-lease', 'partition');
    expect(leased.twoLeaders.ms).toBe(0);
    expect(leased.stale).toBe(0);
  });

  it('a leader that cannot hear leads on without a lease, and is replaced with one', async () => {
    expect((await trial('raft', 'cannot hear')).elections).toBe(0);
    const { beliefs } = await trial('raft-lease', 'cannot hear');
    expect(new Set(beliefs.map(({ instance }) => instance)).size).toBe(2);
  });

  it('links slower than the timeouts leave Raft and the leases without a leader, and the others with several', async () => {
    for (const name of ['raft', 'raft-lease', 'lease', 'cronlease']) {
      const { withoutLeaderMs, twoLeaders } = await trial(name, 'slow links');
      expect(withoutLeaderMs).toBeGreaterThan(40_000);
      expect(twoLeaders.ms).toBeLessThan(1_000);
    }
    for (const name of ['bully', 'ring']) {
      expect((await trial(name, 'slow links')).twoLeaders.ms).toBeGreaterThan(5_000);
    }
  });

  it('after a crash, the lease is without a leader until it has expired, and the others for a few seconds', async () => {
    for (const name of ['lease', 'cronlease']) {
      const { withoutLeaderMs } = await trial(name, 'crash');
      expect(withoutLeaderMs).toBeGreaterThan(8_000);
      expect(withoutLeaderMs).toBeLessThan(22_000);
    }
    for (const name of ['bully', 'ring', 'raft', 'raft-lease']) {
      expect((await trial(name, 'crash')).withoutLeaderMs).toBeLessThan(8_000);
    }
  });
});

describe('the observer', () => {
  const member = (leads: boolean, token?: number) => ({ leads, token });

  it('sees beliefs begin and end, and keeps that of a process that was stopped', () => {
    const observer = createObserver();
    observer.look(10, 1, 'runs', member(true, 5));
    observer.look(20, 1, 'stopped', member(true, 5));
    observer.look(50, 1, 'runs', member(true, 5));
    observer.look(60, 1, 'runs', member(true, 6));
    observer.look(70, 1, 'dead', member(true, 6));
    expect(observer.beliefs).toEqual([
      {
        ...{ instance: 1, token: 5, from: 10, over: true },
        acts: [
          { from: 10, until: 20 },
          { from: 50, until: 60 },
        ],
      },
      { instance: 1, token: 6, from: 60, over: true, acts: [{ from: 60, until: 70 }] },
    ]);
    expect(observer.beliefOf(1)).toBeUndefined();
  });

  it('adds up the time in which two or more believe', () => {
    const beliefs = [
      belief(1, 0, 100),
      belief(2, 80, 200),
      belief(3, 90, 95),
      belief(4, 200, 300),
      belief(5, 250, 260),
    ];
    expect(overlap(beliefs, 2, [0, 1_000])).toEqual({ times: 2, ms: 30 });
    expect(overlap(beliefs, 2, [0, 90])).toEqual({ times: 1, ms: 10 });
    expect(overlap(beliefs, 1, [0, 1_000])).toEqual({ times: 2, ms: 300 });
    expect(overlap([belief(1, 0, Infinity)], 1, [50, 80])).toEqual({ times: 1, ms: 30 });
  });
});

describe('the store of the data', () => {
  it('counts a write that comes after one of a later leader, unless the later one has given way', () => {
    const store = createDataStore();
    const old = belief(1, 0, Infinity);
    const next = belief(2, 100, Infinity);
    store.write(old);
    store.write(next);
    expect(store.stale).toBe(0);
    store.write(old);
    expect(store.stale).toBe(1);
    next.over = true;
    store.write(old);
    expect(store.stale).toBe(1);
    old.over = true;
    store.write(old);
    expect(store.stale).toBe(2);
    expect(store.writes).toBe(5);
    // Without tokens, there is nothing to fence by.
    expect(store.staleFenced).toBe(2);
  });

  it('with fencing, rejects a lower token once it has seen a higher one', () => {
    const store = createDataStore();
    const old = belief(1, 0, Infinity, 1);
    store.write(old);
    store.write(belief(2, 100, Infinity, 2));
    store.write(old);
    expect(store.stale).toBe(1);
    expect(store.staleFenced).toBe(0);
  });

  it('with fencing, still counts two leaders with one token', () => {
    const store = createDataStore();
    const old = belief(1, 0, Infinity, 1);
    store.write(old);
    store.write(belief(2, 100, Infinity, 1));
    store.write(old);
    expect(store.staleFenced).toBe(1);
  });
});
