import type { ETag, JobName, LeaseId, Millis, Token } from '../core/brand';
import type { Metadata } from '../lease/store';

/** Most hand-overs are claimed within two polls of the hub's queues. */
export const LATE_MS: Millis = 4_000;

/** How many of the last hand-overs count. */
const REMEMBERED = 20;
/** Fewer show nothing. */
const MEASURED = 5;
/** This share of them took no longer than what counts, so that two outliers change nothing. */
const SHARE = 0.9;
/** For what varies, and for what comes between the claim and the handler. */
const SPARE_FACTOR = 1.25;
const SPARE_MS = 1_000;
/** The shortest lease has some seconds left then. */
const LATE_AT_MOST_MS = 10_000;
/** The service's Date is cut to whole seconds. */
const CUT_MS = 500;

/** A lease that was handed to an orchestration, under which nobody has been seen to claim yet. */
export interface HandOver {
  readonly leaseId: LeaseId;
  /** Of the row before its claim. */
  readonly etag: ETag;
  /** Of the row before its claim, which raises it. */
  readonly token: Token;
  /** The row's lease before it was acquired. Only an available row may be released as it is. */
  readonly lease: 'available' | 'expired';
  /** The name of the run that the claim is for: `turnOf`. */
  readonly turn: string;
  /** When the hub had taken it, on the monotonic clock. */
  readonly at: Millis;
  readonly isLate: boolean;
}

/**
 * Leases that this process has handed over, by job, until it sees their claim, and how long the last ones took. A task
 * hub that polls its queues seldom takes longer than the usual look-ahead.
 */
export class HandOvers extends Map<JobName, HandOver> {
  readonly #took: Millis[] = [];

  /**
   * The attempt has come to this process. It counts even if its lease was given back before.
   *
   * @param ageMs the time since the service's Date of the acquisition
   */
  arrived(name: JobName, leaseId: LeaseId, ageMs: Millis): void {
    if (this.get(name)?.leaseId === leaseId) this.delete(name);
    this.#note(ageMs - CUT_MS);
  }

  /**
   * The row has been seen claimed.
   *
   * @param row of a claim by this deployment, maybe in another process; undefined if somebody else was faster
   */
  claimed(name: JobName, { attempt, since, claimedat }: Metadata = {}): void {
    this.delete(name);
    // A later attempt of the run was acquired anew, and its row has the Date of the first acquisition.
    if (attempt !== '1' || since === undefined || claimedat === undefined) return;
    this.#note(Date.parse(claimedat) - Date.parse(since) - CUT_MS);
  }

  /** The look-ahead with which nine of ten handlers start on time. */
  lookAhead(usualMs: Millis, mostMs: Millis): Millis {
    return Math.max(usualMs, Math.min(mostMs, this.#withSpare()));
  }

  /** The age from which a hand-over without a claim is late. */
  get lateMs(): Millis {
    return Math.max(LATE_MS, Math.min(LATE_AT_MOST_MS, this.#withSpare()));
  }

  #note(tookMs: Millis): void {
    if (Number.isNaN(tookMs)) return;
    this.#took.push(Math.max(0, tookMs));
    if (this.#took.length > REMEMBERED) this.#took.shift();
  }

  #withSpare(): Millis {
    if (this.#took.length < MEASURED) return 0;
    const sorted = this.#took.toSorted((a, b) => a - b);
    return (sorted[Math.floor(SHARE * (sorted.length - 1))] ?? 0) * SPARE_FACTOR + SPARE_MS;
  }
}
