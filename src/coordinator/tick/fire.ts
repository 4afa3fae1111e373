import type { JobName, Millis } from '../../core/brand';
import type { Coordinator, Hub, Report } from '../coordinator';
import type { Gate } from '../concurrency-limit';
import type { Background } from './background';
import type { Batches } from './batches';
import type { Board } from './board';
import type { HubWatch } from './hub-watch';
import type { NoticeWatch, OverdueWatch } from './notice-watch';
import type { OrchestrationWatch } from './orchestrations';
import type { RequiredWatch, BackfillWatch } from '../ledger-watch';

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
  /** How many claims it has handed over. */
  handedOver: number;
}

/** The state that all ticks of one process share. */
export interface TickState {
  readonly coordinator: Coordinator;
  readonly board: Board;
  readonly background: Background;
  /** Limits how many storage calls of checks and claims run side by side. Others wait by the ranks of their jobs. */
  readonly gate: Gate;
  readonly batches: Batches;
  readonly hubWatch: HubWatch;
  readonly overdue: OverdueWatch;
  readonly required: RequiredWatch;
  readonly backfills: BackfillWatch;
  readonly notices: NoticeWatch;
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
