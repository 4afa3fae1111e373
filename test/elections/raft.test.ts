import { describe, expect, it } from 'vitest';
import type { Algorithm, Place } from './algorithms/algorithm';
import { type RaftMessage, raft } from './algorithms/raft';
import { SILENCE_MS } from './algorithms/timing';
import { contenderOf } from './world/contender';
import { createGroup } from './world/group';
import { SCENARIOS } from './world/scenarios';
import { runTrial } from './world/trial';

const SEEDS = [1, 2, 3, 4];
const VARIANTS = ['raft', 'raft-lease'];
const plain = raft({ leased: false });

describe('a term has at most one leader, its number fences, and a leader lease keeps leaders apart', () => {
  it.each(SCENARIOS.filter(({ ofStore }) => ofStore !== true).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_, scenario) => {
      for (const name of VARIANTS) {
        for (const instances of [3, 5]) {
          for (const seed of SEEDS) {
            const trial = { contender: contenderOf(name), scenario, instances, seed };
            const { beliefs, twoLeaders, staleFenced } = await runTrial(trial);
            expect(staleFenced).toBe(0);
            if (name === 'raft-lease' && scenario.name !== 'drift of 25 %') expect(twoLeaders.ms).toBe(0);
            const leaders = new Map<number | undefined, number>();
            for (const { token, instance } of beliefs) {
              expect(token).toBeDefined();
              expect(leaders.get(token) ?? instance, `${name}, seed ${String(seed)}, term ${String(token)}`).toBe(
                instance,
              );
              leaders.set(token, instance);
            }
          }
        }
      }
    },
  );
});

/** An instance on its own, with what it sends. */
function alone(disk: Map<string, number>, algorithm: Algorithm<RaftMessage> = plain) {
  const sent: { readonly to: number; readonly message: RaftMessage }[] = [];
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => undefined };
  const random = { next: () => 0, whole: (least: number) => least, chance: () => false, pick: never };
  const place: Place<RaftMessage> = {
    ...{ id: 1, all: [1, 2, 3], clock, random, disk },
    send: (to, message) => void sent.push({ to, message }),
    campaigned: () => undefined,
  };
  return { peer: algorithm(place), sent };
}

function never(): never {
  throw new Error('nothing is picked');
}

describe('a vote', () => {
  it('is given once in a term, also after a restart', () => {
    const disk = new Map<string, number>();
    const first = alone(disk);
    first.peer.receive({ kind: 'requestVote', term: 1 }, 2);
    expect(first.sent).toEqual([{ to: 2, message: { kind: 'vote', term: 1, granted: true } }]);
    first.peer.receive({ kind: 'requestVote', term: 1 }, 3);
    expect(first.sent.at(-1)).toEqual({ to: 3, message: { kind: 'vote', term: 1, granted: false } });

    const restarted = alone(disk);
    restarted.peer.receive({ kind: 'requestVote', term: 1 }, 3);
    expect(restarted.sent).toEqual([{ to: 3, message: { kind: 'vote', term: 1, granted: false } }]);
    restarted.peer.receive({ kind: 'requestVote', term: 1 }, 2);
    expect(restarted.sent.at(-1)).toEqual({ to: 2, message: { kind: 'vote', term: 1, granted: true } });
    restarted.peer.receive({ kind: 'requestVote', term: 2 }, 3);
    expect(restarted.sent.at(-1)).toEqual({ to: 3, message: { kind: 'vote', term: 2, granted: true } });
  });

  it('is refused for an old term, and the answer has the new one', () => {
    const { peer, sent } = alone(new Map([['term', 7]]));
    peer.receive({ kind: 'requestVote', term: 6 }, 2);
    expect(sent).toEqual([{ to: 2, message: { kind: 'vote', term: 7, granted: false } }]);
  });

  it('is not considered by an instance that has just heard a leader, if leaders have leases', () => {
    const { peer, sent } = alone(new Map(), raft({ leased: true }));
    peer.receive({ kind: 'requestVote', term: 9 }, 2);
    expect(sent).toEqual([]);
  });
});

describe('liveness', () => {
  it.each(SEEDS)('a majority that can talk has a leader before long, and all follow it (seed %i)', async (seed) => {
    const group = createGroup(plain, 5, seed);
    await group.pass(20_000);
    expect(group.leaders()).toHaveLength(1);
    for (let deaths = 0; deaths < 2; deaths += 1) {
      for (const id of group.leaders()) group.kill(id);
      // Votes may be split some times in a row.
      await group.pass(8 * SILENCE_MS);
      const [leader] = group.leaders();
      expect(leader).toBeDefined();
      for (const id of group.live()) expect(group.peer(id).leader).toBe(leader);
    }
  });

  it.each(SEEDS)('less than a majority elects nobody, and raises its term in vain (seed %i)', async (seed) => {
    const group = createGroup(plain, 5, seed);
    await group.pass(20_000);
    const [leader = 0] = group.leaders();
    const dead = [leader, ...group.live().filter((id) => id !== leader)].slice(0, 3);
    for (const id of dead) group.kill(id);
    await group.pass(120_000);
    expect(group.leaders()).toEqual([]);
    for (const id of dead) group.restart(id);
    await group.pass(20_000);
    expect(group.leaders()).toHaveLength(1);
  });
});

describe('a leader that is cut off', () => {
  it.each(VARIANTS)('%s: it believes until it hears a higher term, or until its lease is over', async (name) => {
    const group = createGroup(raft({ leased: name === 'raft-lease' }), 3);
    await group.pass(20_000);
    const [old = 0] = group.leaders();
    for (const other of group.live().filter((id) => id !== old)) {
      group.links.cut(old, other);
      group.links.cut(other, old);
    }
    await group.pass(30_000);
    expect(group.leaders()).toHaveLength(name === 'raft' ? 2 : 1);
    expect(group.peer(old).leads).toBe(name === 'raft');
    group.links.mend();
    await group.pass(10_000);
    expect(group.leaders()).toHaveLength(1);
  });
});
