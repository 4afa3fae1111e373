import type { Claim } from '../core/decide/situation';
import type { JobName, LeaseId, Millis, Token, ETag } from '../core/brand';
import { SLOW_CALL_MS } from '../core/early-claim';
import type { Lease } from '../lease/acquire';
import type { Metadata } from '../lease/store';

/** Most hand-overs are claimed within two polls of the hub's queues. A hub that is busy with others may take as long. */
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

/** A lease that was handed to an orchestration, under which no claim has been seen yet. */
export interface HandOver extends Lease {
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
 * hub that polls its queues rarely takes longer than the usual look-ahead. Decision 019. Decision 053. Decision 128.
 */
export class HandOvers {
  readonly #open = new Map<JobName, HandOver>();
  /** The releases of those that are being given back. */
  readonly releases = new Set<Promise<void>>();
  readonly #took: Millis[] = [];
  /** The time from the hub's answer to the attempt in this process, by the monotonic clock. */
  readonly #tookHere: Millis[] = [];
  /** When those were handed over whose release was sent before their attempts came. */
  readonly #givenBack = new Map<LeaseId, Millis>();
  readonly #timers = new Map<JobName, () => void>();
  #proofMs: Millis = Infinity;
  /** How long the last acquisition took; before the first one, the last listing. */
  #answeredInMs: Millis = 0;
  #hasAcquired = false;
  /** When an attempt last came to this process. */
  #arrivedAt: Millis = -Infinity;

  get count(): number {
    return this.#open.size;
  }

  of(name: JobName): HandOver | undefined {
    return this.#open.get(name);
  }

  all(): readonly (readonly [JobName, HandOver])[] {
    return [...this.#open];
  }

  note(name: JobName, handOver: HandOver): void {
    this.#endTimer(name);
    this.#open.set(name, handOver);
  }

  forget(name: JobName): void {
    this.#endTimer(name);
    this.#open.delete(name);
  }

  /** @param cancel ends the timer of this hand-over, once it is removed or replaced by another one */
  timedBy(name: JobName, cancel: () => void): void {
    this.#timers.set(name, cancel);
  }

  /** It is being given back. Its attempt may still come, and then shows how slow the hub is. */
  givesBack(name: JobName, { leaseId, at }: HandOver): void {
    if (this.#open.get(name)?.leaseId === leaseId) this.forget(name);
    this.#givenBack.set(leaseId, at);
    const [oldest] = this.#givenBack.keys();
    if (oldest !== undefined && this.#givenBack.size > REMEMBERED) this.#givenBack.delete(oldest);
  }

  #endTimer(name: JobName): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }

  /**
   * The attempt has come to this process. It counts even if its lease was given back before.
   *
   * @param ageMs the time since the service's Date of the acquisition
   * @param now monotonic
   */
  arrived(name: JobName, leaseId: LeaseId, ageMs: Millis, now: Millis): void {
    const handOver = this.#open.get(name);
    const isNoted = handOver?.leaseId === leaseId;
    const at = isNoted ? handOver.at : this.#givenBack.get(leaseId);
    if (at !== undefined) remember(this.#tookHere, now - at);
    if (isNoted) this.forget(name);
    this.#givenBack.delete(leaseId);
    this.#arrivedAt = now;
    this.#note(ageMs - CUT_MS);
  }

  /**
   * The row has been seen claimed.
   *
   * @param row of a claim by this deployment, maybe in another process; undefined if another instance was faster
   */
  claimed(name: JobName, { attempt, since, claimedat }: Metadata = {}): void {
    this.forget(name);
    if (attempt !== undefined) this.#tookHere.length = 0;
    // A later attempt of the run was acquired again, and its row has the Date of the first acquisition.
    if (attempt !== '1' || since === undefined || claimedat === undefined) return;
    this.#note(Date.parse(claimedat) - Date.parse(since) - CUT_MS);
  }

  proven(tookMs: Millis): void {
    this.#proofMs = tookMs;
  }

  acquired(tookMs: Millis): void {
    this.#answeredInMs = tookMs;
    this.#hasAcquired = true;
  }

  /** Storage has answered a listing, which may be a long one. */
  listed(tookMs: Millis): void {
    if (!this.#hasAcquired) this.#answeredInMs = tookMs;
  }

  /** Whether hub and storage leave most of a short lease to the attempt. */
  get areQuick(): boolean {
    return (withSpare(this.#took) ?? this.#proofMs) <= LATE_MS && this.#answeredInMs <= SLOW_CALL_MS;
  }

  /** The look-ahead with which nine of ten handlers start on time. */
  lookAhead(usualMs: Millis, mostMs: Millis): Millis {
    return Math.max(usualMs, Math.min(mostMs, withSpare(this.#took) ?? 0));
  }

  /** The age from which a hand-over without a claim is late, whatever else the hub delivers. */
  get lateMs(): Millis {
    return Math.max(LATE_MS, Math.min(LATE_AT_MOST_MS, withSpare(this.#took) ?? 0));
  }

  /**
   * When the hub counts as silent about a hand-over: no attempt has come to this process for longer than attempts take.
   * A busy hub still delivers others. Undefined where not all of the last attempts have come to this process.
   */
  silentAt({ at }: HandOver): Millis | undefined {
    const usualMs = withSpare(this.#tookHere);
    return usualMs === undefined ? undefined : Math.max(at, this.#arrivedAt) + usualMs;
  }

  /** @param now monotonic */
  isLate(handOver: HandOver, now: Millis): boolean {
    return now > Math.min(handOver.at + this.lateMs, this.silentAt(handOver) ?? Infinity);
  }

  #note(tookMs: Millis): void {
    if (!Number.isNaN(tookMs)) remember(this.#took, Math.max(0, tookMs));
  }
}

function remember(times: Millis[], tookMs: Millis): void {
  times.push(tookMs);
  if (times.length > REMEMBERED) times.shift();
}

/** What nine of ten take at the most, with some to spare; undefined: too few are known. */
function withSpare(times: readonly Millis[]): Millis | undefined {
  if (times.length < MEASURED) return undefined;
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[Math.floor(SHARE * (sorted.length - 1))] ?? 0) * SPARE_FACTOR + SPARE_MS;
}

/** Identifies the purpose of a hand-over: it stays the same until the due time, or the manual run, is claimed. */
export function turnOf({ run }: Claim, etag: ETag): string {
  return run.kind === 'known' ? run.key : `term after ${etag}`;
}
