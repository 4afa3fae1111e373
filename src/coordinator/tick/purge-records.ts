import type { EpochMs, Millis } from '../../core/brand';
import { brief } from '../../core/text';
import { type Listing, StoreError } from '../../lease/store';
import type { Coordinator, Hub, Report } from '../coordinator';
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

const PASS_EVERY_MS = 3_600_000;
const PURGE_AFTER_MS = 24 * 3_600_000;
/** The purge selects orchestrations by their start, and a fan-out's may last a week, one of the app longer. */
const PURGE_BACK_MS = 8 * 24 * 3_600_000;
/** A tick asks for one span, whose orchestrations come with their inputs: of about so many, or of a minute at first. */
const AT_ONCE = 500;
const FIRST_SPAN_MS = 60_000;
const GROWS_AT_MOST = 24;

/**
 * Durable never deletes finished histories by itself. Once an hour, the returned function begins to purge them, span
 * after span, from the newest to the oldest.
 */
export function historyPurger({ clock, jobs }: Coordinator): (hub: Hub, report: Report) => void {
  const longestMs = Math.max(0, ...[...jobs.values()].map(({ spec }) => spec.timeoutMs ?? 0));
  const backMs = Math.max(PURGE_BACK_MS, 2 * longestMs);
  let begunAt: Millis = -Infinity;
  let left: { readonly from: EpochMs; readonly to: EpochMs } | undefined;
  let spanMs = FIRST_SPAN_MS;
  return (hub, report) => {
    const now = clock.monotonic();
    if (now - begunAt >= PASS_EVERY_MS) {
      begunAt = now;
      const to = clock.now() - PURGE_AFTER_MS;
      left = { from: to - backMs, to };
      spanMs = FIRST_SPAN_MS;
    }
    if (left === undefined) return;
    const { from: oldest, to } = left;
    const from = Math.max(oldest, to - spanMs);
    left = undefined;
    hub.purge({ from: new Date(from), to: new Date(to) }).then(
      (found) => {
        if (from > oldest) left = { from: oldest, to: from };
        spanMs = Math.ceil(spanMs * Math.min(GROWS_AT_MOST, AT_ONCE / Math.max(1, found)));
      },
      (error: unknown) => {
        report.log('warn', 'finished orchestration histories could not be purged:', brief(String(error)));
      },
    );
  };
}
