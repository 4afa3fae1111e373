import type { Millis } from '../../core/brand';
import { type Control, currentPause, pauseAt } from '../../core/control';
import { windowMs } from '../../core/decide/verdict';
import { startRank } from '../../core/ranked-queue';
import { dueOf } from '../../core/row';
import { SUCCEEDS_AFTER_MS } from '../../core/orchestration';
import type { AttemptEnd } from '../../core/run';
import type { Settings } from '../coordinator';
import { isOrchestration } from '../../handler/handlers';
import { type HeldRow, timeOf } from '../held';
import { CLOCK_RATE_ERROR } from '../../lease/service-time';
import type { Patience, Permit } from '../concurrency-limit';
import { readControlAgain } from './fresh-control';
import type { Membership } from './membership';

/** After a longer wait, a control that was read longer ago than this is read again. */
const CONTROL_AGE_MS = 5_000;
const READ_CONTROL_MS = 1_500;
/** The time that an invocation needs besides its wait and its handler. */
const RESERVE_MS: Millis = 10_000;
/** A job whose `timeout` leaves no room in the host's functionTimeout still waits for a moment. */
const WAIT_AT_LEAST_MS: Millis = 10_000;

/** A control, and when it was read on the monotonic clock. */
export interface SeenControl {
  readonly control: Control;
  readonly at: Millis;
}

/** What the wait needs of its attempt. */
export interface Waiter {
  readonly signal: AbortSignal;
  readonly onControl: (control: Control) => void;
  /** The control that a renewal, or this attempt, read last. */
  readonly lastControl: () => SeenControl | undefined;
}

/** The result of the wait. If it has a permit, the caller gives it back. */
export interface Turn {
  readonly permit?: Permit;
  /** How long it was waited for a place in the job's group. */
  readonly waitedForGroupMs?: Millis;
  /** The handler is not called. Undefined also if the signal was aborted. */
  readonly end?: Extract<AttemptEnd, { kind: 'notRun' | 'crowded' }>;
}

type Crowded = Extract<AttemptEnd, { kind: 'crowded' }>;

/** The job is paused, so that the handler is not called. */
export const PAUSED: Turn = { end: { kind: 'notRun', outcome: 'paused', reason: 'paused' } };

/**
 * Waits until the job's group, and then this process, may run one more handler. The place in the group comes first: a
 * run that waited for it with a permit would keep all other jobs of this process waiting. Decision 069.
 */
export async function waitForTurn(held: HeldRow, waiter: Waiter, membership: Membership): Promise<Turn> {
  const { clock } = held.coordinator;
  const since = clock.monotonic();
  const group = membership.isNeeded ? await waitForGroup(held, waiter, membership) : {};
  if (group.end !== undefined || waiter.signal.aborted) return group;
  const turn = await waitForPermit(held, waiter);
  if (turn.end !== undefined) return turn;
  try {
    const isLong = clock.monotonic() - since > CONTROL_AGE_MS;
    const isPaused = isLong && (await isPausedMeanwhile(held, waiter));
    return isPaused ? { ...turn, ...PAUSED } : { ...group, ...turn };
  } catch (error) {
    turn.permit?.giveBack();
    throw error;
  }
}

/** Waits for a place in the group of the job. */
export async function waitForGroup(held: HeldRow, waiter: Waiter, membership: Membership): Promise<Turn> {
  const { patience, end } = patienceFor(held, waiter, 'groupFull');
  const waitedForGroupMs = await membership.enter(patience);
  return waitedForGroupMs === undefined ? { end } : { waitedForGroupMs };
}

/** Waits until this process may run one more handler. Without a limit it returns at once, without a permit. */
async function waitForPermit(held: HeldRow, waiter: Waiter): Promise<Turn> {
  const { concurrencyLimit } = held.coordinator;
  const { spec } = held.job;
  const { run } = held.row;
  // A leader job's term lasts until the host's limit, and would keep its permit from all others.
  if (concurrencyLimit === undefined || run === undefined || spec.kind === 'always') return {};
  const { patience, end } = patienceFor(held, waiter, 'concurrencyLimit');
  const permit = await concurrencyLimit.take(startRank(spec, dueOf(spec, run), run.trigger === 'backfill'), patience);
  return permit === undefined ? { end } : { permit };
}

/** How long the run may wait, and its end after that. */
function patienceFor(
  held: HeldRow,
  { signal }: Waiter,
  reason: Crowded['reason'],
): { readonly patience: Patience; readonly end: NonNullable<Turn['end']> } {
  const window = windowLeft(held);
  const host = hostLeft(held);
  const end =
    window <= host ? ({ kind: 'notRun', outcome: 'expired', reason } as const) : ({ kind: 'crowded', reason } as const);
  return { patience: { signal, atMostMs: Math.min(window, host) }, end };
}

/**
 * The time until the run is older than its window. A run whose handler was called before has no such end: its retries
 * and its take-over follow. Nor has a back-filled one.
 */
function windowLeft(held: HeldRow): Millis {
  const { coordinator, job, row, claimed } = held;
  const { spec } = job;
  if (row.past.length > 0 || row.run === undefined || row.run.trigger === 'backfill') return Infinity;
  const sinceClaim = (coordinator.clock.monotonic() - claimed.monotonic) * (1 + CLOCK_RATE_ERROR);
  // A fast clock makes nothing older than it is.
  const now = Math.min(timeOf(held), claimed.date + 1_000 + sinceClaim);
  return dueOf(spec, row.run) + (row.run.trigger === 'manual' ? spec.catchUpWindowMs : windowMs(spec)) - now;
}

/** The time that is left of this invocation if the handler is to have its whole `timeout`. */
function hostLeft({ coordinator: { clock, settings }, job: { spec, handler }, claimed }: HeldRow): Millis {
  const { timeoutMs = 0, graceMs } = spec;
  // An attempt only starts an orchestration, or reads its end.
  const neededMs = isOrchestration(handler) ? SUCCEEDS_AFTER_MS : timeoutMs;
  return patienceOf(settings, neededMs + graceMs, clock.monotonic() - claimed.monotonic);
}

/**
 * How long an invocation may wait, so that the host does not end it, and every other one of its process.
 *
 * @param neededMs how long its handler may take
 * @param usedMs how long ago the invocation began
 */
export function patienceOf({ functionTimeoutMs }: Settings, neededMs: Millis, usedMs: Millis): Millis {
  return Math.max(WAIT_AT_LEAST_MS, functionTimeoutMs - neededMs - RESERVE_MS - usedMs);
}

/** A pause stops neither a run whose handler was called before, nor one that a person asked for. */
async function isPausedMeanwhile(held: HeldRow, waiter: Waiter): Promise<boolean> {
  const control = await latestControl(held, waiter);
  const { run, past } = held.row;
  if (control === undefined || past.length > 0 || run === undefined || run.trigger === 'manual') return false;
  const wasPaused = run.trigger === 'backfill' ? undefined : pauseAt(control, dueOf(held.job.spec, run));
  return (wasPaused ?? currentPause(control, timeOf(held))) !== undefined;
}

async function latestControl(held: HeldRow, waiter: Waiter): Promise<Control | undefined> {
  const { clock } = held.coordinator;
  const seen = waiter.lastControl();
  if (seen !== undefined && clock.monotonic() - seen.at <= CONTROL_AGE_MS) return seen.control;
  const read = await readControlAgain(held, READ_CONTROL_MS);
  // Without an answer the lease is still trusted, and the control that was read last still stands.
  if (read === undefined) return seen?.control;
  waiter.onControl(read);
  return read;
}
