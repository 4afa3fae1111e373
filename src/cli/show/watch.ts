import { type Clock, sleep } from '../../core/clock';
import { StoreError } from '../../lease/store';

/** A reading of a state, and how long ago it was. */
export interface Sight<State> {
  readonly state: State;
  readonly ageMs: number;
  /** Why a later reading failed. */
  readonly trouble: string | undefined;
}

export interface Watched<State> {
  read(signal: AbortSignal): Promise<State>;
  /** After this long, it is read again. */
  readonly everyMs: number;
  /** Called after each reading, after each one that failed, and once a second. */
  show(sight: Sight<State>): void;
  /** Whether there is nothing to wait for, so that the watch ends. */
  isOver?(state: State): boolean;
}

/** After failures, the time between readings doubles up to this. */
const LONGEST_WAIT_MS = 60_000;
const REPAINT_MS = 1_000;

/**
 * Reads a state again and again, until the signal is aborted.
 *
 * @returns the last state that was read; undefined: none was before the end
 * @throws the error of the first reading, and any that is not about storage
 */
export async function watch<State>(
  watched: Watched<State>,
  clock: Clock,
  signal: AbortSignal,
): Promise<State | undefined> {
  let sight: Omit<Sight<State>, 'ageMs'> | undefined;
  let readAt = clock.monotonic();
  const show = (): void => {
    if (sight !== undefined) watched.show({ ...sight, ageMs: clock.monotonic() - readAt });
  };
  let waitMs = watched.everyMs;
  let cancel = (): void => undefined;
  const repaint = (): void => {
    show();
    cancel = clock.after(REPAINT_MS, repaint);
  };
  try {
    while (!signal.aborted) {
      try {
        sight = { state: await watched.read(signal), trouble: undefined };
        readAt = clock.monotonic();
        waitMs = watched.everyMs;
      } catch (error) {
        if (signal.aborted) break;
        if (sight === undefined || !(error instanceof StoreError)) throw error;
        sight = { ...sight, trouble: error.message };
        waitMs = Math.min(2 * waitMs, Math.max(LONGEST_WAIT_MS, watched.everyMs));
      }
      cancel();
      repaint();
      if (sight.trouble === undefined && watched.isOver?.(sight.state) === true) break;
      await sleep(clock, waitMs, signal);
    }
  } finally {
    cancel();
  }
  return sight?.state;
}
