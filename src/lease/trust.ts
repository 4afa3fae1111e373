import type { AttemptLoss } from '../core/past-attempt';
import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { marginOf } from '../core/job';

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

/** Why a lease was lost: for people, and what the ledger keeps of it. */
export interface Lost {
  readonly why: string;
  readonly loss: AttemptLoss | undefined;
}

/**
 * The holder's belief that it holds the lease, until `proof + length`. Only this class subtracts the margin from a
 * lease. Trust that has ended never returns: a renewal that succeeds late proves nothing. Decision 064.
 */
export class Trust {
  #over = false;
  #lost: Lost | undefined;

  private constructor(
    private readonly clock: Clock,
    private proof: Moment,
    private length: Millis,
  ) {}

  /**
   * Trust in a lease.
   *
   * @param leftMs how much of the lease was left at `proof`
   */
  static inLease(clock: Clock, proof: Moment, leaseMs: Millis, leftMs = leaseMs): Trust {
    return new Trust(clock, proof, leftMs - marginOf(leaseMs));
  }

  /** Trust in a lease that is acquired next and never renewed. Half of it is left for calls that arrive late. */
  static unrenewed(clock: Clock, leaseMs: Millis): Trust {
    return new Trust(clock, moment(clock), leaseMs / 2);
  }

  /** Trust that no lease limits, for `ms` since `proof`. */
  static withoutLease(clock: Clock, proof: Moment, ms: Millis): Trust {
    return new Trust(clock, proof, ms);
  }

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

  /** Extends the trust after a renewal of the lease that was sent at `proof`. Returns whether the trust still holds. */
  renewed(proof: Moment, leaseMs: Millis): boolean {
    return this.extend(proof, leaseMs - marginOf(leaseMs));
  }

  /** Extends trust without a lease. Returns whether it still holds. */
  extend(proof: Moment, length: Millis): boolean {
    if (!this.holds) return false;
    this.proof = proof;
    this.length = length;
    return this.holds;
  }

  /** Why it ended, if that is known. */
  get lost(): Lost | undefined {
    return this.#lost;
  }

  /** Ends the trust at once, because the lease is known to be lost. */
  end(lost?: Lost): void {
    this.#over = true;
    this.#lost ??= lost;
  }
}

/** How often a trust is checked. A machine that wakes from sleep finds out within this time that it no longer leads. */
const WATCH_EVERY_MS = 150;

export interface TrustWatch {
  stop(): void;
  /** The time since the watch last looked, and for how much of it the event loop was busy: more shows a standstill. */
  sinceLook(): { readonly ms: Millis; readonly busyMs: Millis };
}

/**
 * Calls `over` once the trust is over, or at once if it already is. A single timer would not be enough: it stands still
 * with the monotonic clock while a machine sleeps.
 */
export function whenOver(clock: Clock, trust: Trust, over: () => void): TrustWatch {
  const look = () => ({ at: clock.monotonic(), busyMs: clock.busyMs?.() ?? 0 });
  let looked = look();
  let cancel = (): void => undefined;
  const watch = (): void => {
    if (!trust.holds) {
      over();
      return;
    }
    looked = look();
    cancel = clock.after(Math.min(WATCH_EVERY_MS, trust.remaining()), watch);
  };
  watch();
  return {
    stop: () => cancel(),
    sinceLook: () => {
      const now = look();
      return { ms: now.at - looked.at, busyMs: now.busyMs - looked.busyMs };
    },
  };
}
