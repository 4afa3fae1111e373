import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';

/** An instant on both of this machine's clocks. */
export interface Moment {
  readonly wall: EpochMs;
  readonly monotonic: Millis;
}

export function moment(clock: Clock): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/**
 * The time since `start`, by the clock that shows more. The monotonic clock may stand still while a machine sleeps, and
 * a wall clock that was set back must not shorten it.
 */
export function elapsedSince(clock: Clock, start: Moment): Millis {
  return between(start, moment(clock));
}

/** The time between two instants of one process, by the clock that shows more. */
export function between(start: Moment, end: Moment): Millis {
  return Math.max(end.wall - start.wall, end.monotonic - start.monotonic);
}

/**
 * The holder's belief that it holds the lease, until `proof + length`. Trust that has ended never returns: a renewal
 * that succeeds late proves nothing.
 */
export class Trust {
  #over = false;

  constructor(
    private readonly clock: Clock,
    private proof: Moment,
    private length: Millis,
  ) {}

  /** Milliseconds of trust left; 0 once it is over. */
  remaining(): Millis {
    if (this.#over) return 0;
    const left = this.length - elapsedSince(this.clock, this.proof);
    if (left > 0) return left;
    this.#over = true;
    return 0;
  }

  get holds(): boolean {
    return this.remaining() > 0;
  }

  /** Extends the trust after a successful renewal that was sent at `proof`. Returns whether the trust still holds. */
  extend(proof: Moment, length: Millis): boolean {
    if (!this.holds) return false;
    this.proof = proof;
    this.length = length;
    return this.holds;
  }

  /** Ends the trust at once, because the lease is known to be lost. */
  end(): void {
    this.#over = true;
  }
}

/** How often a trust is checked. A machine that wakes from sleep finds out within this time that it no longer leads. */
const WATCH_EVERY_MS = 150;

/**
 * Calls `over` once the trust is over, or at once if it already is. A single timer would not be enough: it stands still
 * with the monotonic clock while a machine sleeps.
 *
 * @returns a function that stops the watch
 */
export function whenOver(clock: Clock, trust: Trust, over: () => void): () => void {
  let cancel = (): void => undefined;
  const watch = (): void => {
    if (trust.holds) cancel = clock.after(Math.min(WATCH_EVERY_MS, trust.remaining()), watch);
    else over();
  };
  watch();
  return () => {
    cancel();
  };
}
