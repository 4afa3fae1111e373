import type { Millis } from '../../core/brand';

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
