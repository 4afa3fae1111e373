import type { Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { reclaimMs } from '../core/decide/verdict';
import { marginOf, TERM_RESERVE_MS } from '../core/job';
import type { CheckedJob } from './checked-job';
import type { JobSettings } from './schema';

export interface DurationLimits {
  /** host.json's functionTimeout; undefined: unknown, and not checked. */
  readonly functionTimeoutMs?: Millis | undefined;
  /** Whether the job is an orchestration, which no host ends. Default: it is none. */
  readonly isOrchestration?: boolean | 'unknown' | undefined;
  /** The lengths that the store's leases may have; undefined: unknown, and not checked. */
  readonly leaseMs?: { readonly least: Millis; readonly most: Millis } | undefined;
}

const DEFAULT_TIMEOUT: Millis = 600_000;
/** From the tick's acquisition to the attempt's claim: the look-ahead, queue polling and a cold instance. */
const HAND_OVER: Millis = 20_000;
/** The time that an invocation needs besides the handler: to wait for the due time, and to settle. */
const ROOM: Millis = 10_000;
/** A leader job with shorter terms spends most of its time on hand-overs. */
const SHORTEST_TERM: Millis = 30_000;

/** The time limit of an attempt; undefined: none (`@always` without a `timeout`). */
export function timeoutOf({ timeout, schedule }: JobSettings): Millis | undefined {
  return timeout ?? (schedule?.kind === 'always' ? undefined : DEFAULT_TIMEOUT);
}

/** Of the window, this share is left for the claim of a due time whose required jobs were late. */
const REQUIRE_SHARE = 0.9;

/** How long a due time waits for the jobs that it requires; 0: it requires none. */
export function requireWithinOf({ requires, requireWithin, catchUpWindow }: JobSettings): Millis {
  if (requires.length === 0) return 0;
  return requireWithin ?? Math.floor(catchUpWindow * REQUIRE_SHARE);
}

export function checkDurations(job: CheckedJob, limits: DurationLimits): void {
  const hasLease = checkLeaseLength(job, limits.leaseMs);
  if (hasLease) checkLease(job);
  checkTimeout(job, limits);
  checkTerm(job, limits.functionTimeoutMs);
  const { path, settings, wrong, report } = job;
  const { backoff, maxBackoff } = settings.retry;
  if (!wrong.has('retry') && backoff > maxBackoff) {
    report.warning(
      [...path, 'retry', 'backoff'],
      `is longer than maxBackoff (${formatDuration(maxBackoff)}), so every wait is maxBackoff`,
      'raise maxBackoff, or lower backoff',
    );
  }
  const reclaim = reclaimMs(settings.lease);
  if (!wrong.has('catchUpWindow') && hasLease && settings.catchUpWindow < reclaim) {
    report.warning(
      [...path, 'catchUpWindow'],
      `is so short that one failed hand-over lets a due time expire: the next tick claims it only after the lease of ${formatDuration(settings.lease)}`,
      `must be ${formatDuration(reclaim)} or more, or the lease shorter`,
    );
  }
  if (hasLease) checkRequireWithin(job, reclaim);
}

/** A due time that waited for other jobs must still be young enough to be claimed. */
function checkRequireWithin({ path, settings, wrong, report }: CheckedJob, reclaim: Millis): void {
  const { requireWithin, catchUpWindow } = settings;
  if (requireWithin === undefined || wrong.has('requireWithin') || wrong.has('catchUpWindow')) return;
  const place = [...path, 'requireWithin'];
  const window = formatDuration(catchUpWindow);
  const remedy = `set catchUpWindow to ${formatDuration(requireWithin + reclaim)} or more, or use less here`;
  if (requireWithin >= catchUpWindow) {
    const effect = `has no effect: a due time expires by catchUpWindow (${window}) first, even while it waits`;
    report.warning(place, effect, remedy);
  } else if (requireWithin + reclaim > catchUpWindow) {
    const effect = `leaves little of catchUpWindow (${window}) to claim a due time whose required jobs were late`;
    report.warning(place, effect, remedy);
  }
}

/** Whether the lease has a length that the store accepts. Reports it otherwise. */
function checkLeaseLength(
  { path, settings: { lease }, wrong, report }: CheckedJob,
  lengths: DurationLimits['leaseMs'],
): boolean {
  if (wrong.has('lease')) return false;
  if (lengths === undefined || (lease >= lengths.least && lease <= lengths.most)) return true;
  const [least, most] = [formatDuration(lengths.least), formatDuration(lengths.most)];
  const problem = lease < lengths.least ? `is shorter than ${least}` : `is longer than ${most}`;
  report.error([...path, 'lease'], problem, `must be ${least} to ${most}`);
  return false;
}

function checkLease({ path, settings, wrong, report }: CheckedJob): void {
  const { lease, grace } = settings;
  if (lease < HAND_OVER) {
    report.warning(
      [...path, 'lease'],
      'may be shorter than the hand-over from a tick to the instance that runs the attempt, which then starts again',
      `must be ${formatDuration(HAND_OVER)} or more`,
    );
  }
  // The lease is renewed at every third of its length, also while a handler winds down: two thirds always remain.
  const limit = (lease * 2) / 3 - marginOf(lease);
  if (!wrong.has('grace') && grace >= limit) {
    const limitText = formatDuration(Math.floor(limit));
    report.error(
      [...path, 'grace'],
      `is too long for a lease of ${formatDuration(lease)}: a handler could outlive it`,
      `must be less than ${limitText} (two thirds of the lease, less its margin), or the lease longer`,
    );
  }
}

function checkTimeout(
  { path, settings, given, wrong, report }: CheckedJob,
  { functionTimeoutMs: functionTimeout, isOrchestration }: DurationLimits,
): void {
  const timeout = timeoutOf(settings);
  const { stallAfter, grace } = settings;
  if (timeout === undefined || wrong.has('timeout') || (wrong.has('schedule') && !given.has('timeout'))) return;
  const said = given.has('timeout') ? '' : `is ${formatDuration(timeout)} by default, which `;
  if (stallAfter !== undefined && stallAfter >= timeout) {
    report.warning(
      [...path, 'stallAfter'],
      `has no effect: the attempt times out first, after ${formatDuration(timeout)}`,
      'must be less than the timeout, or left out',
    );
  }
  if (functionTimeout === undefined || isOrchestration === true || wrong.has('grace')) return;
  const room = functionTimeout - timeout - grace;
  const limit = `host.json's functionTimeout of ${formatDuration(functionTimeout)}`;
  const remedy = `must be ${formatDuration(Math.max(1000, functionTimeout - grace - ROOM))} or less; or raise functionTimeout`;
  const place = [...path, 'timeout'];
  const misfit = `${said}does not fit, with a grace of ${formatDuration(grace)}, into ${limit}`;
  if (room < 0 && isOrchestration === 'unknown' && given.has('timeout')) {
    report.warning(place, `${misfit}, which only an orchestration may exceed`, remedy);
  } else if (room < 0) report.error(place, misfit, remedy);
  else if (room < ROOM) {
    report.warning(place, `${said}leaves no room, with a grace of ${formatDuration(grace)}, in ${limit}`, remedy);
  }
}

/** A term ends before the host would end it, whatever the job's own timeout. Some time must remain for the term. */
function checkTerm({ path, settings, wrong, report }: CheckedJob, functionTimeout: Millis | undefined): void {
  const { schedule, grace } = settings;
  if (schedule?.kind !== 'always' || functionTimeout === undefined || wrong.has('grace')) return;
  const reserve = grace + TERM_RESERVE_MS;
  if (functionTimeout - reserve >= SHORTEST_TERM) return;
  report.error(
    [...path, 'schedule'],
    `leaves no time for a term: it ends ${formatDuration(reserve)} before host.json's functionTimeout of ` +
      formatDuration(functionTimeout),
    `raise functionTimeout to ${formatDuration(reserve + SHORTEST_TERM)} or more`,
  );
}
