import type { Millis } from '../../core/brand';
import type { TickState } from './fire';

/** The plan changes with checks alone, and those of a burst come together. */
const PLAN_EVERY_MS = 500;

/** The returned function plans the look-aheads of all due times, unless it did so a moment ago. */
export function burstPlanner({ coordinator, board, claimRate }: TickState): () => void {
  const { clock, handOvers, settings } = coordinator;
  const { lookAheadMs: usualMs, longestLookAheadMs: mostMs = usualMs } = settings;
  let plannedAt: Millis = -Infinity;
  return () => {
    const now = clock.monotonic();
    if (mostMs <= usualMs || now - plannedAt < PLAN_EVERY_MS) return;
    plannedAt = now;
    const lookAheadMs = handOvers.lookAhead(usualMs, mostMs);
    board.planBursts({ lookAheadMs, mostMs, perSecond: claimRate.perSecond }, usualMs);
  };
}
