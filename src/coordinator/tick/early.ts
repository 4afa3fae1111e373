import type { Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import type { Claim } from '../../core/decide/situation';
import { claimLease, leaseOverWait } from '../../core/early-claim';
import { type JobSpec, actualTime } from '../../core/job';
import { completed } from '../../core/recent';
import type { Coordinator } from '../coordinator';
import type { Background } from './background';

/** Attempts that wait for a due time leave this share of the host's room to others. */
const EARLY_SHARE = 0.9;
/** How many early claims the task hub may have been given without delivering them. */
const UNDELIVERED_AT_MOST = 40;
const HUB_AGAIN_MS = 50;
const HUB_CATCHES_UP_MS = 5_000;

/** Whether the handler will wait for longer than the usual look-ahead. */
export function isEarly({ settings, serviceTime }: Coordinator, spec: JobSpec, { run, trigger }: Claim): boolean {
  if (run.kind === 'term' || trigger !== 'schedule') return false;
  return actualTime(spec, run.scheduledFor) - serviceTime.now() > settings.lookAheadMs;
}

/** Whether the host has room for one more attempt that waits. An attempt without room would not be claimed in time. */
export function hasRoom(
  { settings: { attemptsAtOnce = Infinity }, running, handOvers }: Coordinator,
  background: Background,
): boolean {
  // Each claim that is being made will need room too.
  return running.size + handOvers.count + background.count < attemptsAtOnce * EARLY_SHARE;
}

/**
 * Waits until the task hub has delivered most of what it was given. A burst would delay its own hand-overs, and late ones
 * are given back.
 */
export async function hubKeepsUp({ clock, handOvers }: Coordinator): Promise<boolean> {
  const started = clock.monotonic();
  while (handOvers.count >= UNDELIVERED_AT_MOST) {
    if (clock.monotonic() - started > HUB_CATCHES_UP_MS) return false;
    await sleep(clock, HUB_AGAIN_MS);
  }
  return true;
}

/**
 * The length with which a claim acquires its lease. What is claimed early gets a lease that lasts past its start, so that
 * the wait needs no renewal.
 *
 * @param mustWait the lease has to last until its attempt comes, however long that takes
 */
export function leaseFor(coordinator: Coordinator, spec: JobSpec, claim: Claim, mustWait: boolean): Millis {
  const { serviceTime, store, handOvers } = coordinator;
  const { run, trigger } = claim;
  const row = { ...claim.row, recent: completed(claim.row.recent, coordinator.ended.get(spec.name)) };
  const isAwaited = run.kind === 'known' && trigger === 'schedule';
  const aheadMs = isAwaited ? actualTime(spec, run.scheduledFor) - serviceTime.now() : 0;
  const isLong = mustWait || !handOvers.areQuick;
  if (!isEarly(coordinator, spec, claim)) return isLong ? spec.leaseMs : claimLease(spec, row, aheadMs);
  return leaseOverWait(isLong ? spec.leaseMs : claimLease(spec, row), aheadMs, store.limits.leaseMs.most);
}
