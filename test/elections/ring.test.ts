import { describe, expect, it } from 'vitest';
import { type RingMessage, ring } from './algorithms/ring';
import { SILENCE_MS } from './algorithms/timing';
import { type Group, createGroup } from './world/group';

const N = 5;
const IDS = [1, 2, 3, 4, 5];

function count({ sent }: Group<RingMessage>, kind: RingMessage['kind']): number {
  return sent.filter(({ message }) => message.kind === kind).length;
}

/** All instances call an election at once, before a message of another arrives. */
async function allElect(order: readonly number[]): Promise<Group<RingMessage>> {
  const group = createGroup(ring(order), order.length);
  await group.pass(SILENCE_MS + 900);
  return group;
}

function ordersOf(ids: readonly number[]): number[][] {
  if (ids.length === 0) return [[]];
  return ids.flatMap((first) => ordersOf(ids.filter((id) => id !== first)).map((rest) => [first, ...rest]));
}

describe('the election on a ring', () => {
  it('has one leader, the highest, and all agree, in every order of the ring', async () => {
    for (const order of ordersOf(IDS)) {
      const group = await allElect(order);
      expect(group.leaders()).toEqual([N]);
      for (const id of IDS) expect(group.peer(id).leader).toBe(N);
    }
  });

  it('takes n(1 + 1/2 + … + 1/n) messages on the average over all orders, and n more to say who won', async () => {
    const counts: number[] = [];
    for (const order of ordersOf(IDS)) {
      const group = await allElect(order);
      counts.push(count(group, 'election'));
      expect(count(group, 'elected')).toBe(N);
    }
    const harmonic = IDS.reduce((sum, k) => sum + 1 / k, 0);
    expect(counts.reduce((sum, one) => sum + one, 0) / counts.length).toBeCloseTo(N * harmonic, 10);
    expect(Math.min(...counts)).toBe(2 * N - 1);
    expect(Math.max(...counts)).toBe((N * (N + 1)) / 2);
  });

  it.each([3, 8, 16])('takes 2n - 1 messages in rising and n(n + 1)/2 in falling order: %i instances', async (n) => {
    const rising = Array.from({ length: n }, (_, index) => index + 1);
    // Rising: each id but the highest is swallowed by its successor. The highest makes the whole round.
    expect(count(await allElect(rising), 'election')).toBe(2 * n - 1);
    // Falling: id k meets no higher one before the highest, k hops away.
    expect(count(await allElect(rising.toReversed()), 'election')).toBe((n * (n + 1)) / 2);
  });

  it.each(ordersOf([1, 2, 3, 4]))('repairs the ring around dead instances: order %i %i %i %i', async (...order) => {
    const group = createGroup(ring(order), 4);
    await group.pass(10_000);
    for (const dead of [4, 3]) {
      group.kill(dead);
      await group.pass(30_000);
      const highest = dead - 1;
      expect(group.leaders()).toEqual([highest]);
      for (const id of group.live()) expect(group.peer(id).leader).toBe(highest);
    }
  });

  it('forgets the id of an instance that dies in its own election', async () => {
    const group = createGroup(ring([1, 2, 3, 4, 5]), N);
    await group.pass(SILENCE_MS + 1);
    expect(count(group, 'election')).toBeGreaterThanOrEqual(N);
    group.kill(N);
    await group.pass(20_000);
    expect(group.leaders()).toEqual([4]);
    const before = count(group, 'election');
    await group.pass(20_000);
    expect(count(group, 'election')).toBe(before);
  });

  it('has a leader on each side of a partition', async () => {
    const group = createGroup(ring([1, 2, 3]), 3);
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
