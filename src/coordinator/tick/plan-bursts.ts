import type { Millis } from '../../core/brand';
import type { TickState } from './fire';

/** The plan changes with looks alone, and those of a burst come together. */
const PLAN_EVERY_MS = 500;

/** The returned function plans the look-aheads of all due times, unless it did so a moment ago. */
export function burstPlanner({ coordinator, board, claimRate }: TickState): () => void {
  const { clock, settings } = coordinator;
  const { lookAheadMs, longestLookAheadMs: mostMs = lookAheadMs } = settings;
  let plannedAt: Millis = -Infinity;
  return () => {
    const now = clock.monotonic();
    if (mostMs <= lookAheadMs || now - plannedAt < PLAN_EVERY_MS) return;
    plannedAt = now;
    board.planBursts({ lookAheadMs, mostMs, perSecond: claimRate.perSecond });
  };
}
