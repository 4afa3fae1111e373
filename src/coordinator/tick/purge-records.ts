import type { Millis } from '../../core/brand';
import { type Listing, StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { storageTroubled, troubleOver } from '../reachability';

const HOUR_MS: Millis = 3_600_000;
const DAY_MS: Millis = 86_400_000;
/** After a failure it is tried again with the next sweep. Further waits double, from this one to an hour. */
const AGAIN_MS: Millis = 60_000;
const TROUBLE = 'retention';

/**
 * Deletes old records where the store must do so by calls: once an hour or a day, and again at the next sweep while there
 * are more, or after a failure, because the instance counts as troubled until it succeeds. The returned function does so
 * at most that often, however often it is called. Its promise never rejects.
 */
export function recordPurger(
  coordinator: Coordinator,
): (listing: Listing, report: Report) => Promise<void> | undefined {
  const { store, clock, jobs } = coordinator;
  let last: Millis | undefined;
  let day: number | undefined;
  let hasMore = false;
  /** Since a failure: when it is tried again, and the wait after the next one. */
  let failed: { readonly againAt: Millis; readonly waitMs: Millis } | undefined;
  const isDue = (): boolean => {
    if (hasMore) return true;
    if (failed !== undefined) return clock.monotonic() >= failed.againAt;
    if (store.purgesDaily === true) {
      // A process that starts often would list often, so the day of its start counts as done.
      const before = day;
      day = Math.floor(clock.now() / DAY_MS);
      return before !== undefined && day !== before;
    }
    if (last !== undefined && clock.monotonic() - last < HOUR_MS) return false;
    last = clock.monotonic();
    return true;
  };
  const purge = async (listing: Listing, report: Report): Promise<void> => {
    const keep = new Map([...jobs].map(([name, { spec }]) => [name, spec.keepMs]));
    const longestMs = Math.max(...keep.values(), ...claimedKeeps(listing));
    try {
      hasMore = (await store.purge?.({ jobs: keep, longestMs })) === 'more';
      failed = undefined;
      troubleOver(coordinator, TROUBLE, 'old records are deleted again', report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const { waitMs } = failed ?? { waitMs: 0 };
      failed = { againAt: clock.monotonic() + waitMs, waitMs: Math.min(HOUR_MS, Math.max(AGAIN_MS, 2 * waitMs)) };
      storageTroubled(coordinator, TROUBLE, error, report);
    }
  };
  return (listing, report) => {
    if (store.purge === undefined || !isDue()) return undefined;
    hasMore = false;
    return purge(listing, report);
  };
}

/** The `keep` of each job at its last claim: deployments with other jobs files share the audit. */
function claimedKeeps({ jobs }: Listing): readonly Millis[] {
  return [...jobs.values()].map(({ row }) => Number(row?.metadata['keepms'])).filter((ms) => ms > 0);
}
