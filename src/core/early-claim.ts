import type { Millis } from './brand';
import { type JobSpec, marginOf } from './job';
import type { Row } from './row';

/** The usual length of a lease at its claim. The first renewal makes it the job's own. */
export const CLAIM_MS: Millis = 15_000;

/** A claim by storage calls that take longer needs a longer lease. */
export const SLOW_CALL_MS: Millis = 1_000;

/** The share of a lease that a claim ahead of its due time may wait for without a renewal. */
const WAIT_SHARE = 0.65;
/** What the hand-over and two Dates that disagree take of it, and the time after the start until the first renewal. */
const WAIT_RESERVE_MS = 5_000;
/** The first renewal after a wait comes this long after the due time: a short run is over by then. */
const RENEW_AFTER_DUE_MS: Millis = CLAIM_MS / 3;

/** A claim made longer before its due time reads its control again before its handler. Decision 020. */
export const READS_CONTROL_AGAIN_MS: Millis = 7_000;
/** How long before the due time it does so, if there are few jobs. */
export const READ_CONTROL_MS: Millis = 1_500;
/** The listing that a burst shares takes so much longer for each job. */
const READ_CONTROL_EACH_MS = 1;
const READ_CONTROL_AT_MOST_MS = READS_CONTROL_AGAIN_MS - 1_000;

/**
 * The length of a lease at its claim, so that the jobs of a worker that dies do not stand still for long. Only runs that
 * last carry the job's own length, at once if the last one lasted: it may block the event loop, or meet an outage, before
 * its first renewal. A handler that is told to stop still has its grace before this lease ends. Decision 131.
 *
 * @param row as it was decided on
 * @param aheadMs the time until the due time
 * @returns whole seconds
 */
export function claimLease(
  { leaseMs, graceMs }: Pick<JobSpec, 'leaseMs' | 'graceMs'>,
  row: Pick<Row, 'recent' | 'past'>,
  aheadMs: Millis = 0,
): Millis {
  if (lasted(row)) return leaseMs;
  const wait = Math.floor(Math.max(0, aheadMs) / 1000) * 1000;
  let length = CLAIM_MS;
  while (length < leaseMs && (length * 2) / 3 - marginOf(length) <= graceMs) length += 1000;
  return Math.min(leaseMs, length + wait);
}

/** Whether the run's last attempt, or the last run whose duration the row has, took as long as until a first renewal. */
function lasted({ recent, past }: Pick<Row, 'recent' | 'past'>): boolean {
  const attempt = past.at(-1);
  const run = recent.findLast((entry) => entry.kind === 'run' && entry.durationMs !== undefined);
  const attemptMs = attempt?.end === undefined ? 0 : attempt.end - attempt.start;
  const runMs = run?.kind === 'run' ? (run.durationMs ?? 0) : 0;
  return Math.max(attemptMs, runMs) >= RENEW_AFTER_DUE_MS;
}

/** How long it may take to read the control again, which begins so long before the due time. */
export function controlReadMs(jobs: number): Millis {
  return Math.min(READ_CONTROL_AT_MOST_MS, READ_CONTROL_MS + jobs * READ_CONTROL_EACH_MS);
}

/** The longest wait for a due time that a lease covers without a renewal. */
export function longestWait(mostLeaseMs: Millis): Millis {
  return mostLeaseMs * WAIT_SHARE - WAIT_RESERVE_MS;
}

/**
 * The length of a lease that covers the wait for a due time. It is longer than the job's own lease if the run is claimed
 * long before, and such a run is taken over later if its holder dies.
 *
 * @param aheadMs the time until the due time
 * @param mostLeaseMs the longest lease of the store
 * @returns whole seconds
 */
export function leaseOverWait(leaseMs: Millis, aheadMs: Millis, mostLeaseMs: Millis): Millis {
  const needed = Math.ceil((aheadMs + WAIT_RESERVE_MS) / WAIT_SHARE / 1000) * 1000;
  return Math.min(mostLeaseMs, Math.max(leaseMs, needed));
}

/**
 * The time until the first renewal: a third of the lease, or later while the handler waits for its due time. After a
 * slow hand-over, little of the first trust may be left.
 *
 * @param trustMs how long the lease is still trusted
 * @param untilDueMs the time until the handler starts; 0 or less if it starts at once
 */
export function firstRenewal(leaseMs: Millis, trustMs: Millis, untilDueMs: Millis): Millis {
  const wanted = Math.max(leaseMs / 3, untilDueMs <= 0 ? 0 : untilDueMs + RENEW_AFTER_DUE_MS);
  return Math.min(wanted, Math.max(trustMs / 2, trustMs - leaseMs / 4));
}
