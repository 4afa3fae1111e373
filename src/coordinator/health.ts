import { performance } from 'node:perf_hooks';
import type { Shortage } from '../core/presence-state';
import type { JobName, Millis } from '../core/brand';

export interface Trouble {
  readonly reason: string;
  /** The job that has the trouble, if it concerns only one job. */
  readonly job?: JobName;
}

interface LastingTrouble extends Trouble {
  /** The reasons that were reported since `saidAt`, without their numbers. */
  readonly said: ReadonlySet<string>;
  /** Monotonic: when the first of these was reported. */
  readonly saidAt: Millis;
  /** Monotonic: the first success since the last failure. */
  readonly answeredAt?: Millis;
}

/** Where only some calls fail, successes come in between. The end of a trouble is reported once they have lasted. */
const STEADY_MS: Millis = 30_000;
/** A trouble that failed less long ago is present still, and is reported again. */
const PRESENT_MS: Millis = 10_000;

/** The troubles of this instance, each under its own name. An instance without any is healthy. */
export class Health {
  readonly #troubles = new Map<string, LastingTrouble>();

  /**
   * @param what the trouble's name: its end is noted by the same one
   * @param now monotonic
   * @returns whether to report it: the trouble is new, or its reason is
   */
  trouble(what: string, trouble: Trouble, now: Millis): boolean {
    const { said, saidAt } = this.#troubles.get(what) ?? { said: new Set<string>(), saidAt: now };
    const gist = gistOf(trouble);
    this.#troubles.set(what, { ...trouble, said: new Set([...said, gist]), saidAt });
    return !said.has(gist);
  }

  /** Returns whether the trouble existed until now. */
  over(what: string): boolean {
    return this.#troubles.delete(what);
  }

  /** Notes a success. The instance counts as well again, and {@link settle} ends the trouble later. */
  answered(what: string, now: Millis): void {
    const trouble = this.#troubles.get(what);
    if (trouble !== undefined) this.#troubles.set(what, { ...trouble, answeredAt: trouble.answeredAt ?? now });
  }

  /**
   * Ends the troubles since whose last failure successes have lasted for a while.
   *
   * @param now monotonic
   * @returns their names
   */
  settle(now: Millis): readonly string[] {
    const ended = [...this.#troubles].flatMap(([what, { answeredAt = Infinity }]) =>
      now - answeredAt >= STEADY_MS ? [what] : [],
    );
    for (const what of ended) this.#troubles.delete(what);
    return ended;
  }

  /** Whether such a trouble exists, or has been answered a moment ago. */
  lasts(prefix: string): boolean {
    return [...this.#troubles.keys()].some((what) => what.startsWith(prefix));
  }

  /**
   * The troubles that were last reported `ageMs` ago or earlier, each reason once. They now count as reported again.
   *
   * @param now monotonic
   */
  sayAgain(now: Millis, ageMs: Millis): readonly Trouble[] {
    const again = new Map<string, Trouble>();
    for (const [what, trouble] of this.#troubles) {
      if (now - trouble.saidAt < ageMs || now - (trouble.answeredAt ?? now) > PRESENT_MS) continue;
      const gist = gistOf(trouble);
      again.set(gist, trouble);
      this.#troubles.set(what, { ...trouble, said: new Set([gist]), saidAt: now });
    }
    return [...again.values()];
  }

  get healthy(): boolean {
    return this.troubles.size === 0;
  }

  get troubles(): ReadonlyMap<string, string> {
    const present = [...this.#troubles].filter(([, { answeredAt }]) => answeredAt === undefined);
    return new Map(present.map(([what, { reason }]) => [what, reason]));
  }
}

/** Of a request, as the services of Azure put it into their errors. */
const REQUEST_ID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;

/** Reasons that differ only in a duration, a count or the id of a request are the same. */
function gistOf({ reason }: Trouble): string {
  return reason.replaceAll(REQUEST_ID, '#').replaceAll(/\d+/g, '#');
}

/** A handler that is called later than this after its due time is late. */
const LATE_START_MS: Millis = 5_000;
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
    if (latenessMs > LATE_START_MS) this.#late += 1;
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
