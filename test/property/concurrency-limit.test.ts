import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Permit, createConcurrencyLimit } from '../../src/coordinator/concurrency-limit';
import { type Rank, compareRanks } from '../../src/core/ranked-queue';
import { settableClock } from '../support/clock';

/** Longer than a free permit waits for others that ask. */
const TOGETHER_MS = 5;

type Step =
  | { readonly kind: 'ask'; readonly priority: number; readonly due: number; readonly atMostMs: number }
  | { readonly kind: 'end' | 'leave'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      priority: fc.nat(9),
      due: fc.nat(3),
      atMostMs: fc.constantFrom(20, 1_000_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 4, 30) }) },
);

interface Asking {
  readonly id: number;
  readonly rank: Rank;
  readonly controller: AbortController;
  readonly until: number;
}

describe('concurrencyLimit, whoever asks, ends and leaves', () => {
  it('are never more than the limit, never idle while somebody waits, and given in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), async (limit, steps) => {
        const clock = settableClock(0);
        const concurrencyLimit = createConcurrencyLimit(clock, limit);
        const waiting = new Map<number, Asking>();
        const running = new Map<number, Permit>();
        const problems: unknown[] = [];
        let asked = 0;
        const ask = (rank: Rank, atMostMs: number): void => {
          const one: Asking = {
            id: (asked += 1),
            rank,
            controller: new AbortController(),
            until: clock.monotonic() + atMostMs,
          };
          waiting.set(one.id, one);
          const taken = concurrencyLimit.take(rank, { signal: one.controller.signal, atMostMs }).then((permit) => {
            waiting.delete(one.id);
            if (permit === undefined) {
              expect(one.controller.signal.aborted || clock.monotonic() >= one.until).toBe(true);
              return;
            }
            expect(one.controller.signal.aborted).toBe(false);
            // Of those that wait on, none comes before it.
            for (const other of waiting.values()) {
              const gone = other.controller.signal.aborted || clock.monotonic() >= other.until;
              if (!gone) expect(compareRanks(one.rank, other.rank) || one.id - other.id).toBeLessThan(0);
            }
            running.set(one.id, permit);
            expect(running.size).toBeLessThanOrEqual(limit);
          });
          taken.catch((problem: unknown) => problems.push(problem));
        };
        for (const next of [...steps, { kind: 'wait', ms: TOGETHER_MS } as const]) {
          if (next.kind === 'ask') ask([-next.priority, next.due], next.atMostMs);
          if (next.kind === 'wait') await clock.advance(next.ms);
          if (next.kind === 'end') {
            const [id, permit] = [...running][next.which % Math.max(1, running.size)] ?? [];
            running.delete(id ?? 0);
            permit?.giveBack();
            // One turn, so that the next one has its permit before anyone else asks.
            await clock.advance(0);
          }
          if (next.kind === 'leave') {
            [...waiting.values()][next.which % Math.max(1, waiting.size)]?.controller.abort();
            await clock.advance(0);
          }
        }
        await clock.advance(TOGETHER_MS);
        if (running.size < limit) expect(waiting.size).toBe(0);
        // Everything ends: no caller waits forever, and no permit is lost.
        while (running.size > 0) {
          for (const [id, permit] of running) {
            running.delete(id);
            permit.giveBack();
            await clock.advance(0);
          }
        }
        expect(waiting.size).toBe(0);
        for (let more = 0; more <= limit; more += 1) ask([0], 1_000);
        await clock.advance(TOGETHER_MS);
        expect(running.size).toBe(limit);
        expect(problems).toEqual([]);
      }),
    );
  });
});
