import type { EpochMs, Millis } from '../../core/brand';
import type { Control } from '../../core/control';
import { currentPause, decodeControl, NO_CONTROL, pauseAt } from '../../core/control';
import { windowMs } from '../../core/decide/verdict';
import { ForeignMetadataError } from '../../core/metadata';
import { startRank } from '../../core/priority';
import { dueOf } from '../../core/row';
import type { AttemptEnd } from '../../core/run';
import { within } from '../../lease/deadline';
import { StoreError } from '../../lease/store';
import type { Settings } from '../coordinator';
import type { HeldRow } from '../held';
import { CLOCK_RATE_ERROR, timeOf } from '../held';
import type { Slot } from '../slots';

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

/** The result of the wait. Where it has a slot, the caller gives it back. */
export interface Turn {
  readonly slot?: Slot;
  /** The handler is not called. Undefined also where the signal was aborted. */
  readonly end?: Extract<AttemptEnd, { kind: 'notRun' | 'crowded' }>;
}

/** The job is paused, so that the handler is not called. */
export const PAUSED: Turn = { end: { kind: 'notRun', fate: 'paused', reason: 'paused' } };

/** Waits until this process may run one more handler. Without a limit it returns at once, without a slot. */
export async function waitForSlot(held: HeldRow, waiter: Waiter): Promise<Turn> {
  const { slots } = held.coordinator;
  const { spec } = held.job;
  const { run } = held.row;
  // A leader job's term lasts until the host's limit, and would keep its slot from all others.
  if (slots === undefined || run === undefined || spec.kind === 'always') return {};
  const due = dueOf(spec, run);
  const window = windowLeft(held, due);
  const host = hostLeft(held);
  const patience = { signal: waiter.signal, atMostMs: Math.min(window, host) };
  const slot = await slots.take(startRank(spec, due), patience);
  if (slot === undefined) {
    return { end: window <= host ? { kind: 'notRun', fate: 'expired', reason: 'noFreeSlot' } : { kind: 'crowded' } };
  }
  try {
    const isPaused = slot.waitedMs > CONTROL_AGE_MS && (await isPausedMeanwhile(held, due, waiter));
    return isPaused ? { slot, ...PAUSED } : { slot };
  } catch (error) {
    slot.giveBack();
    throw error;
  }
}

/**
 * The time until the run is older than its window. A run whose handler was called before has no such end: its retries
 * and its take-over follow.
 */
function windowLeft(held: HeldRow, due: EpochMs): Millis {
  const { coordinator, job, row, claimed } = held;
  const { spec } = job;
  if (row.past.length > 0) return Infinity;
  const sinceClaim = (coordinator.clock.monotonic() - claimed.monotonic) * (1 + CLOCK_RATE_ERROR);
  // A fast clock makes nothing older than it is.
  const now = Math.min(timeOf(held), claimed.date + 1_000 + sinceClaim);
  return due + (row.run?.trigger === 'manual' ? spec.catchUpWindowMs : windowMs(spec)) - now;
}

/** The time that is left of this invocation if the handler is to have its whole `timeout`. */
function hostLeft({ coordinator: { clock, settings }, job: { spec }, claimed }: HeldRow): Millis {
  const { timeoutMs = 0, graceMs } = spec;
  return patienceOf(settings, timeoutMs + graceMs, clock.monotonic() - claimed.monotonic);
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
async function isPausedMeanwhile(held: HeldRow, due: EpochMs, waiter: Waiter): Promise<boolean> {
  const control = await latestControl(held, waiter);
  const { run, past } = held.row;
  if (control === undefined || past.length > 0 || run?.trigger === 'manual') return false;
  return (pauseAt(control, due) ?? currentPause(control, timeOf(held))) !== undefined;
}

async function latestControl({ coordinator, job, report }: HeldRow, waiter: Waiter): Promise<Control | undefined> {
  const { clock, store } = coordinator;
  const { name } = job.spec;
  const seen = waiter.lastControl();
  if (seen !== undefined && clock.monotonic() - seen.at <= CONTROL_AGE_MS) return seen.control;
  try {
    const { control } = await within(clock, READ_CONTROL_MS, (signal) => store.readControl(name, { signal }));
    const read = control === undefined ? NO_CONTROL : decodeControl(control.metadata);
    waiter.onControl(read);
    return read;
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
    // The lease is still trusted, and the control that was read last still stands.
    report.log('warn', `job "${name}": its control could not be read again before its handler:`, error);
    return seen?.control;
  }
}
