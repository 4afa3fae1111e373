import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/coordinator/gate';
import { type Rank, compareRanks, rankedQueue } from '../../src/core/ranked-queue';

const ranks = fc.array(fc.tuple(fc.integer({ min: -9, max: 0 }), fc.integer({ min: 0, max: 3 })), { maxLength: 40 });

describe('a ranked queue', () => {
  it('gives out its values by rank, and equal ranks in the order in which they came', () => {
    fc.assert(
      fc.property(ranks, (all) => {
        const queue = rankedQueue<number>();
        for (const [index, rank] of all.entries()) queue.add(rank, index);
        expect(queue.size).toBe(all.length);
        const out = all.map(() => queue.shift() ?? -1);
        const sorted = all
          .map((_, index) => index)
          .sort((a, b) => compareRanks(rankOf(all, a), rankOf(all, b)) || a - b);
        expect(out).toEqual(sorted);
        expect(queue.shift()).toBeUndefined();
      }),
    );
  });

  it('gives out no value that was taken out, and every other one once', () => {
    fc.assert(
      fc.property(ranks, fc.array(fc.nat(39)), (all, taken) => {
        const queue = rankedQueue<number>();
        const remove = all.map((rank, index) => queue.add(rank, index));
        const gone = new Set(taken.filter((index) => index < all.length));
        for (const index of taken) remove[index]?.();
        const out = Array.from({ length: queue.size }, () => queue.shift() ?? -1);
        expect([...out].sort((a, b) => a - b)).toEqual(
          all.map((_, index) => index).filter((index) => !gone.has(index)),
        );
        // What has left the queue cannot be taken out of it again.
        for (const one of remove) one();
        expect(queue.size).toBe(0);
      }),
    );
  });
});

function rankOf(all: readonly Rank[], index: number): Rank {
  return all[index] ?? [];
}

describe('a gate', () => {
  it('never lets more through than its limit, and lets the others through by rank', async () => {
    await fc.assert(
      fc.asyncProperty(ranks, fc.integer({ min: 1, max: 4 }), fc.array(fc.nat()), async (all, limit, ends) => {
        const gate = createGate(limit);
        const begun: number[] = [];
        const running = new Map<number, () => void>();
        let most = 0;
        const done = all.map((rank, index) =>
          gate(async () => {
            begun.push(index);
            await new Promise<void>((resolve) => running.set(index, resolve));
          }, rank),
        );
        for (let step = 0; running.size > 0 || begun.length < all.length; step += 1) {
          most = Math.max(most, running.size);
          expect(running.size).toBe(Math.min(limit, all.length - begun.length + running.size));
          const [index, end] = [...running][(ends[step % Math.max(1, ends.length)] ?? 0) % running.size] ?? [];
          running.delete(index ?? -1);
          end?.();
          for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
        }
        await Promise.all(done);
        expect(most).toBe(Math.min(limit, all.length));
        const waited = begun.slice(limit);
        const byRank = [...waited].sort((a, b) => compareRanks(rankOf(all, a), rankOf(all, b)) || a - b);
        expect(waited).toEqual(byRank);
      }),
    );
  });

  it('lets no newcomer slip in while a task hands its place over', async () => {
    const gate = createGate(1);
    let running = 0;
    let most = 0;
    const task = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    };
    const newcomers: Promise<void>[] = [];
    const first = gate(task).then(() => newcomers.push(gate(task), gate(task)));
    await Promise.all([first, gate(task), gate(task)]);
    await Promise.all(newcomers);
    expect(most).toBe(1);
  });

  it('gives the place of a task that fails to the next one', async () => {
    const gate = createGate(1);
    const failed = gate(() => Promise.reject(new Error('no')));
    const next = gate(async () => 'done');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('done');
  });
});
