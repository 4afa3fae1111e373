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
 * How long has passed, by whichever clock says more: the monotonic one may stand still while a machine sleeps, and a
 * wall clock that is set back must not make time shorter.
 */
export function elapsedSince(clock: Clock, start: Moment): Millis {
  return Math.max(clock.now() - start.wall, clock.monotonic() - start.monotonic);
}

/**
 * The holder's belief that it holds the lease: trusted until `proof + length`. Once over it is over for good; a
 * renewal that succeeds late proves nothing.
 */
export class Trust {
  #over = false;

  constructor(
    private readonly clock: Clock,
    private proof: Moment,
    private length: Millis,
  ) {}

  /** Milliseconds of trust left; 0 when it is over. */
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

  /** A renewal that was sent at `proof` succeeded. Returns whether the trust goes on. */
  extend(proof: Moment, length: Millis): boolean {
    if (!this.holds) return false;
    this.proof = proof;
    this.length = length;
    return this.holds;
  }

  /** The lease is known to be lost. */
  end(): void {
    this.#over = true;
  }
}

/** How often a trust is looked at: a machine that wakes from sleep learns within this time that it is no leader. */
const WATCH_EVERY_MS = 150;

/**
 * Calls once the trust is over, at once if it is so already. A timer alone would not do: it stands still with the
 * monotonic clock while a machine sleeps.
 *
 * @returns what stops watching
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
