import { performance } from 'node:perf_hooks';
import type { Millis } from '../core/brand';
import type { Shortage } from '../core/presence-state';

/** A handler that is called later than this after its due time is late. */
const LATE_MS: Millis = 5_000;
const WINDOW_MS: Millis = 15_000;
/** A process that starts fewer runs in this time is not overloaded. */
const LONGEST_WINDOW_MS: Millis = 60_000;
const LEAST_STARTS = 5;
/** The event loop had work for this share of the time. */
const BUSY = 0.9;
/** Storage, or the wait for a call's turn, takes this long for a write. */
const SLOW_MS: Millis = 1_000;

interface Change {
  readonly shortOf: Shortage | undefined;
  /** The greatest lateness of a start. */
  readonly latenessMs: Millis;
  /** The mean of the writes. */
  readonly writeMs: Millis;
}

/** Tells whether most handlers of this process are called late, and what it lacks. One for each process. */
export class Load {
  readonly #busyShare: () => number;
  #since: Millis | undefined;
  #starts = 0;
  #late = 0;
  #latenessMs: Millis = 0;
  #writes = 0;
  #writesMs: Millis = 0;
  #shortOf: Shortage | undefined;

  /** @param busyShare the share of the time since the last call in which the event loop had work */
  constructor(busyShare = loopShare()) {
    this.#busyShare = busyShare;
  }

  /** Notes a row write. It waits for its turn as all calls do that belong to a run. */
  wrote(tookMs: Millis): void {
    this.#writes += 1;
    this.#writesMs += tookMs;
  }

  /**
   * Notes the first call of a handler for a due time.
   *
   * @param now monotonic
   * @returns what has changed; undefined: nothing
   */
  started(latenessMs: Millis, now: Millis): Change | undefined {
    this.#since ??= now;
    this.#starts += 1;
    if (latenessMs > LATE_MS) this.#late += 1;
    this.#latenessMs = Math.max(this.#latenessMs, latenessMs);
    const length = now - this.#since;
    if (length < WINDOW_MS || (this.#starts < LEAST_STARTS && length < LONGEST_WINDOW_MS)) return undefined;
    const writeMs = this.#writesMs / Math.max(1, this.#writes);
    const isBusy = this.#busyShare() >= BUSY;
    const isLate = this.#late * 2 > this.#starts && this.#starts >= LEAST_STARTS && length < LONGEST_WINDOW_MS;
    const slowness = writeMs >= SLOW_MS ? 'storage' : undefined;
    const shortOf: Shortage | undefined = !isLate ? undefined : isBusy ? 'cpu' : slowness;
    const change = { shortOf, latenessMs: this.#latenessMs, writeMs };
    const isNews = shortOf !== this.#shortOf;
    this.#shortOf = shortOf;
    this.#since = now;
    this.#starts = this.#late = this.#latenessMs = this.#writes = this.#writesMs = 0;
    return isNews ? change : undefined;
  }

  /**
   * What the process lacks, as far as that is known of late.
   *
   * @param now monotonic
   */
  shortOf(now: Millis): Shortage | undefined {
    return this.#since === undefined || now - this.#since > LONGEST_WINDOW_MS ? undefined : this.#shortOf;
  }
}

/** The event loop counts as busy also while its machine runs something else in its place. */
function loopShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
