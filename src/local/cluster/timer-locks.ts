/**
 * The locks on timer functions that the instances of one app share, as leases of blobs are on Azure: a lock lasts for its
 * period after the last renewal, whether or not its owner lives.
 */
export interface TimerLocks {
  /** Takes a lock, or renews it. Returns whether `owner` holds it now. */
  take(lock: string, owner: number, periodMs: number): boolean;
  release(lock: string, owner: number): void;
}

/** @param now monotonic, in ms */
export function createTimerLocks(now: () => number): TimerLocks {
  const locks = new Map<string, { readonly owner: number; readonly until: number }>();
  return {
    take(lock, owner, periodMs) {
      const held = locks.get(lock);
      if (held !== undefined && held.owner !== owner && held.until > now()) return false;
      locks.set(lock, { owner, until: now() + periodMs });
      return true;
    },
    release(lock, owner) {
      if (locks.get(lock)?.owner === owner) locks.delete(lock);
    },
  };
}
