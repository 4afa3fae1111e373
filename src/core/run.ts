import type { EpochMs, Millis } from './brand';
import {
  type AttemptOutcome,
  type ClaimedOutcome,
  type NotRunOutcome,
  type Reason,
  type RanOutcome,
  hasRun,
} from './outcome';
import type { JobSpec, Retry } from './job';
import type { Row } from './row';

/** The reason for an abort of the handler's signal. */
export type AbortCode = 'leaseLost' | 'timedOut' | 'stalled' | 'cancelled' | 'draining';

/** The end of one attempt, before anything is decided about its run. The first event counts. */
export type AttemptEnd =
  | { readonly kind: 'returned' }
  | {
      readonly kind: 'threw';
      readonly retryable: boolean;
      readonly reason: Reason;
      /** A retry must not come sooner. */
      readonly retryAfterMs?: Millis;
    }
  | { readonly kind: 'aborted'; readonly code: AbortCode; readonly reason: Reason }
  /** The handler was not called: the job was paused after the claim, or its turn did not come in time. */
  | { readonly kind: 'notRun'; readonly outcome: NotRunOutcome; readonly reason: Reason }
  /** Its turn did not come while the host leaves enough time for the handler: another attempt continues. */
  | { readonly kind: 'crowded'; readonly reason: Extract<Reason, 'concurrencyLimit' | 'groupFull'> };

/** The next step of a run after one of its attempts. */
export type RunStep =
  | { readonly kind: 'ended'; readonly outcome: ClaimedOutcome; readonly reason: Reason }
  | { readonly kind: 'retry'; readonly outcome: AttemptOutcome; readonly reason: Reason; readonly notBefore: EpochMs }
  /** The lease is lost, so the new holder decides. */
  | { readonly kind: 'lost' };

/** The target of a call may ask for so long a wait at the most. */
export const ASKED_AT_MOST_MS: Millis = 24 * 3_600_000;

/** The wait before a run whose attempt had no turn is tried again, perhaps on another instance. */
const CROWDED_AGAIN_MS: Millis = 2_000;

/**
 * The run's state machine: decides what follows an attempt.
 *
 * @param row the row as the attempt claimed it
 * @param random uniform in [0, 1), for jitter
 */
export function afterAttempt(job: JobSpec, row: Row, end: AttemptEnd, now: EpochMs, random: number): RunStep {
  switch (end.kind) {
    case 'returned':
      return { kind: 'ended', outcome: 'succeeded', reason: 'completed' };
    case 'threw':
      return again(job, row, { ...end, outcome: 'failed' }, now, random);
    case 'notRun':
      return { kind: 'ended', outcome: end.outcome, reason: end.reason };
    case 'crowded':
      return { kind: 'retry', outcome: 'draining', reason: end.reason, notBefore: now + CROWDED_AGAIN_MS };
    case 'aborted':
      break;
  }
  switch (end.code) {
    case 'leaseLost':
      return { kind: 'lost' };
    case 'cancelled':
      return { kind: 'ended', outcome: 'cancelled', reason: end.reason };
    case 'draining':
      if (end.reason === 'termEnded') return { kind: 'ended', outcome: 'succeeded', reason: 'termEnded' };
      return { kind: 'retry', outcome: 'draining', reason: end.reason, notBefore: 0 };
    case 'timedOut':
    case 'stalled':
      return again(job, row, { outcome: end.code, reason: end.reason, retryable: true }, now, random);
  }
}

function again(
  job: JobSpec,
  row: Row,
  {
    outcome,
    reason,
    retryable,
    retryAfterMs = 0,
  }: {
    readonly outcome: RanOutcome;
    readonly reason: Reason;
    readonly retryable: boolean;
    readonly retryAfterMs?: Millis;
  },
  now: EpochMs,
  random: number,
): RunStep {
  const used = row.attempt - row.uncountedAttempts;
  // A term that failed is over: the next term is its retry, after the back-off.
  if (!retryable || used >= job.retry.attempts || job.kind === 'always') return { kind: 'ended', outcome, reason };
  // 0 means "at once", so a real not-before time is never 0.
  const wait = Math.max(retryAfterMs, backoff(job.retry, used, random));
  return { kind: 'retry', outcome, reason, notBefore: Math.max(1, now + wait) };
}

/**
 * The wait after the `failures`-th failure.
 *
 * @param random uniform in [0, 1): with full jitter the wait is this share of the back-off
 */
export function backoff(retry: Retry, failures: number, random: number): Millis {
  // After a thousand failures the power is infinite, and 0 times that would be no number.
  const longer = Math.min(retry.factor ** Math.max(0, failures - 1), Number.MAX_VALUE);
  const full = Math.min(retry.maxBackoffMs, retry.backoffMs * longer);
  return Math.round(retry.jitter === 'full' ? full * random : full);
}

/** The longest wait of a run between two attempts. */
export function longestBackoff({ retry: { maxBackoffMs }, call }: Pick<JobSpec, 'retry' | 'call'>): Millis {
  return call === undefined ? maxBackoffMs : Math.max(maxBackoffMs, ASKED_AT_MOST_MS);
}

/** The count once the run has ended so. A failure that a dead holder had counted counts once. Decision 043. */
export function failuresAfter(
  { run, failures, lastFailedKey }: Row,
  outcome: ClaimedOutcome,
): Pick<Row, 'failures' | 'lastFailedKey' | 'failedBefore'> {
  const isCounted = lastFailedKey !== undefined && lastFailedKey === run?.key;
  const earlier = isCounted ? failures - 1 : failures;
  if (outcome === 'succeeded') {
    return { failures: 0, lastFailedKey: undefined, failedBefore: earlier === 0 ? undefined : earlier };
  }
  if (outcome === 'cancelled' || !hasRun(outcome)) {
    return { failures: earlier, lastFailedKey: isCounted ? undefined : lastFailedKey, failedBefore: undefined };
  }
  return { failures: earlier + 1, lastFailedKey: run?.key, failedBefore: undefined };
}
