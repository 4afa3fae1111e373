import type { EpochMs, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { type Control, pauseAt } from '../../core/control';
import { controlReadMs, READS_CONTROL_AGAIN_MS } from '../../core/early-claim';
import type { HeldRow } from '../held';
import { CLOCK_RATE_ERROR } from '../../lease/service-time';
import { freshControl } from './fresh-control';

/** The longest wait between two readings of the clock before a handler is due. */
const READ_CLOCK_EVERY_MS = 1_000;

/**
 * Waits until the due time. If the claim was made early, the control is read again shortly before: an operator may have
 * paused the job or cancelled the run meanwhile.
 *
 * @param onControl takes the control that was read
 * @returns whether the due time lies in a pause, so that the handler is not called
 */
export async function waitForDue(
  held: HeldRow,
  due: EpochMs,
  signal: AbortSignal,
  onControl: (control: Control) => void,
): Promise<boolean> {
  if (due - decidedAt(held) > READS_CONTROL_AGAIN_MS) {
    // The same for all attempts of a process, so that they share a listing.
    const readMs = controlReadMs(held.coordinator.jobs.size);
    await waitUntil(held, due, due - readMs, signal);
    if (signal.aborted) return false;
    const control = await freshControl(held, readMs);
    // Without an answer the lease is still trusted, and the control that the tick read still stands.
    if (control !== undefined) {
      onControl(control);
      if (pauseAt(control, due) !== undefined) return true;
    }
  }
  await waitUntil(held, due, due, signal);
  return false;
}

/** The earliest instant at which the claim may have been decided. */
export function decidedAt({ claimed, row }: Pick<HeldRow, 'claimed' | 'row'>): EpochMs {
  // The handler of an earlier attempt may have started. That one cannot have, if the service's own Date says that the due
  // time is far ahead, and this process's clock proves nothing.
  if (row.past.length > 0) return claimed.date;
  // The answer to the claim may have come long after its decision.
  return Math.min(claimed.date, row.claimedAt ?? claimed.date);
}

/** @param at the due time, or shortly before it */
export async function waitUntil(
  { coordinator, claimed }: HeldRow,
  due: EpochMs,
  at: EpochMs,
  signal: AbortSignal,
): Promise<void> {
  const { clock, serviceTime } = coordinator;
  // A clock that is set back must not prolong the wait: the claim's Date and the monotonic clock bound it.
  const bound = claimed.monotonic + (due - claimed.date) * (1 + CLOCK_RATE_ERROR) - (due - at);
  const left = (): Millis => Math.min(at - serviceTime.now(), bound - clock.monotonic());
  // Node's timers may fire 1 ms early, and the clock may be set or corrected meanwhile: the time is checked again after waiting.
  for (let wait = left(); wait > 0; wait = left()) {
    await sleep(clock, Math.min(wait, READ_CLOCK_EVERY_MS), signal);
    if (signal.aborted) return;
  }
}
