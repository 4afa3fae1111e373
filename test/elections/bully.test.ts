import { describe, expect, it } from 'vitest';
import { type BullyMessage, bully } from './algorithms/bully';
import { type Group, createGroup } from './world/group';

const SIZES = [3, 4, 5, 6, 7];

function electionMessages({ sent }: Group<BullyMessage>, since: number): number {
  return sent.filter(({ at, message }) => at >= since && message.kind !== 'alive').length;
}

/** A group whose highest instance leads and dies, and in which `first` misses it 2 s before the others do. */
async function missedFirstBy(first: number, count: number): Promise<{ group: Group<BullyMessage>; since: number }> {
  const group = createGroup(bully, count);
  await group.pass(10_500);
  expect(group.leaders()).toEqual([count]);
  group.links.cut(count, first);
  await group.pass(2_000);
  group.links.mend();
  group.kill(count);
  const since = group.timeline.now();
  await group.pass(2_900);
  return { group, since };
}

describe('the bully algorithm', () => {
  it.each([1, 2, 3, 4, 5, 6])('elects the highest live id, and all agree (seed %i)', async (seed) => {
    const group = createGroup(bully, 5, seed);
    for (const dead of [[], [5], [4, 5], [2], [1, 3]]) {
      for (const id of dead) group.kill(id);
      await group.pass(20_000);
      const highest = Math.max(...group.live());
      expect(group.leaders()).toEqual([highest]);
      for (const id of group.live()) expect(group.peer(id).leader).toBe(highest);
      for (const id of dead) group.restart(id);
    }
  });

  it('deposes a leader when a higher id returns', async () => {
    const group = createGroup(bully, 3);
    group.kill(3);
    await group.pass(10_000);
    expect(group.leaders()).toEqual([2]);
    group.restart(3);
    await group.pass(100);
    expect(group.leaders()).toEqual([3]);
  });

  /*
   * The lowest misses the leader. Each live instance i asks the n - i above it: n(n - 1)/2 questions. Each question to one
   * of the living is answered: (n - 1)(n - 2)/2. The new leader tells the n - 2 below it.
   */
  it.each(SIZES)('sends (n - 1)² + n - 2 messages at worst: %i instances', async (n) => {
    const { group, since } = await missedFirstBy(1, n);
    expect(electionMessages(group, since)).toBe((n - 1) ** 2 + n - 2);
    expect(group.leaders()).toEqual([n - 1]);
  });

  // The second highest misses it: one question to the dead leader, and a message to each of the n - 2 below.
  it.each(SIZES)('sends n - 1 messages at best: %i instances', async (n) => {
    const { group, since } = await missedFirstBy(n - 1, n);
    expect(electionMessages(group, since)).toBe(n - 1);
    expect(group.leaders()).toEqual([n - 1]);
  });

  it('calls the election again if the instance that answered dies before it has won', async () => {
    const { group } = await missedFirstBy(1, 5);
    group.kill(4);
    await group.pass(1_000);
    const asked = group.timeline.now();
    // 3 has missed 4, and dies while the lower ones wait for it.
    while (!group.sent.some(({ at, from, message }) => at >= asked && from === 3 && message.kind === 'answer')) {
      await group.pass(5);
    }
    group.kill(3);
    await group.pass(10_000);
    expect(group.leaders()).toEqual([2]);
    expect(group.peer(1).leader).toBe(2);
  });

  it('has a leader on each side of a partition, since silence is taken for death', async () => {
    const group = createGroup(bully, 3);
    await group.pass(5_000);
    for (const other of [1, 2]) {
      group.links.cut(3, other);
      group.links.cut(other, 3);
    }
    await group.pass(10_000);
    expect(group.leaders()).toEqual([2, 3]);
    group.links.mend();
    await group.pass(2_000);
    expect(group.leaders()).toEqual([3]);
  });
});
