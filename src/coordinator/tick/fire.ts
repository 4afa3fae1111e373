import { type Clock, sleep } from '../../core/clock';
import type { JobName, Millis } from '../../core/brand';
import type { Coordinator, Hub, Report } from '../coordinator';
import type { Gate } from '../gate';
import type { createBatches } from './batches';
import type { Board } from './board';
import type { HubWatch } from './hub-watch';
import type { noticeWatch, overdueWatch } from './notice-watch';
import type { OrchestrationWatch } from './orchestrations';
import type { RequiredWatch, BackfillWatch } from '../ledger-watch';

/** How often a wait for all actions checks whether it missed an end. */
const POLL_EVERY_MS: Millis = 2_000;

/**
 * Work that ticks have started and do not await between two checks. A tick returns only after it is over, because its
 * logs and events belong to that invocation. No action may reject.
 */
export class Background {
  readonly #clock: Clock;
  #asides = 0;
  #ended = new AbortController();
  /** How many actions run, without those aside. */
  count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(action: Promise<unknown> | undefined): void {
    if (action === undefined) return;
    this.count += 1;
    void action.finally(() => {
      this.count -= 1;
      this.wake();
    });
  }

  /**
   * Work of one kind, which is left out while the last one goes on. It may take minutes: a tick waits for it only with
   * {@link asidesOver}.
   */
  aside(): (start: () => Promise<void> | undefined) => void {
    let isAtWork = false;
    return (start) => {
      const work = isAtWork ? undefined : start();
      if (work === undefined) return;
      isAtWork = true;
      this.#asides += 1;
      void work.finally(() => {
        isAtWork = false;
        this.#asides -= 1;
        this.wake();
      });
    };
  }

  /** Returns a signal that is aborted when any action ends, running or started later, or by {@link wake}. */
  nextEnd(): AbortSignal {
    // Two ticks of one process wait for the same end.
    if (this.#ended.signal.aborted) this.#ended = new AbortController();
    return this.#ended.signal;
  }

  /** Ends every wait for an action, but not the action. */
  wake(): void {
    this.#ended.abort();
  }

  async allOver(): Promise<void> {
    while (this.count > 0) await sleep(this.#clock, POLL_EVERY_MS, this.nextEnd());
  }

  /** Waits for the work aside, while there is time left. */
  async asidesOver(left: () => Millis): Promise<void> {
    while (this.#asides > 0 && left() > 0) {
      await sleep(this.#clock, Math.min(POLL_EVERY_MS, left()), this.nextEnd());
    }
  }
}

/** How many claims run side by side. */
export const CLAIMS_AT_ONCE = 32;

/** One fire of the tick timer, for the steps that serve it. */
export interface Fire {
  /** Counts from 1 in this process. */
  readonly number: number;
  /** The time until this tick should return, shortly before the timer's next fire. */
  readonly untilNext: () => Millis;
  readonly hub: Hub;
  readonly report: Report;
  /** The jobs that this fire found with something to do. */
  readonly due: Set<JobName>;
  handedOver: number;
}

/** The state that all ticks of one process share. */
export interface TickState {
  readonly coordinator: Coordinator;
  readonly board: Board;
  readonly background: Background;
  /** Limits how many storage calls of checks and claims run side by side. Others wait by the ranks of their jobs. */
  readonly gate: Gate;
  readonly batches: ReturnType<typeof createBatches>;
  readonly hubWatch: HubWatch;
  readonly overdue: ReturnType<typeof overdueWatch>;
  readonly required: RequiredWatch;
  readonly backfills: BackfillWatch;
  readonly notices: ReturnType<typeof noticeWatch>;
  readonly orchestrations: OrchestrationWatch;
  readonly claimRate: ClaimRate;
  /** How many claims of this process were acquired without effect. */
  losses: number;
}

/** The rate that is assumed until it has been measured. */
const FIRST_PER_SECOND = 40;
const LEAST_PER_SECOND = 2;
/** A hand-over is about half of the work of a claim; the task hub and the attempt do the rest. */
const HAND_OVER_SHARE = 0.5;
/** How many claims make a measurement. */
const MEASURED = 50;
/** Claims further apart did not follow each other without a pause. */
const APART_MS = 1_000;

/** How fast this process claims while more is due than it can claim at once. */
export class ClaimRate {
  #perSecond: number;
  #count = 0;
  #first: Millis = 0;
  #last: Millis = 0;

  constructor(firstPerSecond = FIRST_PER_SECOND) {
    this.#perSecond = firstPerSecond;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /**
   * Notes a claim that was handed over while others waited.
   *
   * @param now monotonic
   */
  handedOver(now: Millis): void {
    if (this.#count === 0 || now - this.#last > APART_MS) {
      this.#count = 0;
      this.#first = now;
    }
    this.#last = now;
    this.#count += 1;
    if (this.#count <= MEASURED) return;
    const perSecond = (MEASURED / Math.max(1, now - this.#first)) * 1000 * HAND_OVER_SHARE;
    this.#perSecond = Math.max(LEAST_PER_SECOND, (this.#perSecond + perSecond) / 2);
    this.#count = 0;
  }
}
