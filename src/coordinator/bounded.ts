import type { Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import { formatDuration } from '../core/duration';
import type { Reason } from '../core/outcome';
import type { RecordedError } from '../core/recorded-error';
import type { AbortCode, AttemptEnd } from '../core/run';
import { AttemptAbortedError } from '../handler/handler';

export type Handled =
  | {
      readonly kind: 'returned';
      readonly result: unknown;
      /** What it had that JSON cannot hold. */
      readonly changes: readonly string[];
    }
  | (Extract<AttemptEnd, { kind: 'threw' }> & { readonly error: RecordedError });

/** In a shutdown, handlers have this long to end after the abort, whatever their grace. */
const DRAIN_GRACE_MS = 1_000;

export type Aborted = Extract<AttemptEnd, { kind: 'aborted' }>;

/** An abort, with the grace that the handler has outlived, if it did. */
export type Ended = Aborted & { readonly outlivedMs?: Millis };

/** Aborts an attempt; the first reason counts. */
export interface Aborter {
  readonly signal: AbortSignal;
  abort(code: AbortCode, reason: Reason, message: string): void;
  readonly aborted: Promise<Aborted>;
}

export function createAborter(): Aborter {
  const controller = new AbortController();
  const { promise: aborted, resolve: settle } = Promise.withResolvers<Aborted>();
  return {
    signal: controller.signal,
    aborted,
    abort(code, reason, message) {
      if (controller.signal.aborted) return;
      settle({ kind: 'aborted', code, reason });
      controller.abort(new AttemptAbortedError(code, message));
    },
  };
}

/** An attempt, or an item's call, as a shutdown sees it. */
export interface RunningCall {
  readonly aborter: Aborter;
  readonly done: Promise<unknown>;
}

export function abortForShutdown({ aborter }: RunningCall): void {
  aborter.abort('draining', 'instanceStopped', 'the instance is being shut down');
}

export interface Bounds {
  /** For messages. */
  readonly what: string;
  readonly ends: { readonly afterMs: Millis; readonly end: Aborted; readonly message: string } | undefined;
  readonly stallAfterMs: Millis | undefined;
  readonly graceMs: Millis;
}

export function timeoutAfter(timeoutMs: Millis, what: string): NonNullable<Bounds['ends']> {
  return {
    afterMs: timeoutMs,
    end: { kind: 'aborted', code: 'timedOut', reason: 'timeout' },
    message: `${what} took longer than its timeout of ${formatDuration(timeoutMs)}`,
  };
}

/** The time that an invocation needs after its handler. */
const SETTLE_MS: Millis = 3_000;

/**
 * The end by a timeout, or sooner where the invocation has less left: at its end, the host ends every other one of its
 * process too.
 *
 * @param leftMs what is left of the host's functionTimeout
 */
export function timeoutWithin(
  timeoutMs: Millis,
  { leftMs, graceMs }: { readonly leftMs: Millis; readonly graceMs: Millis },
  what: string,
): NonNullable<Bounds['ends']> {
  const mostMs = Math.max(1_000, leftMs - graceMs - SETTLE_MS);
  if (timeoutMs <= mostMs) return timeoutAfter(timeoutMs, what);
  return { ...timeoutAfter(mostMs, what), message: `${what} was ended before the functionTimeout of its host` };
}

/**
 * Calls a handler, and waits until it ends or its signal is aborted. A handler that ignores its signal gets no more
 * time than the grace.
 */
export async function callBounded(
  clock: Clock,
  aborter: Aborter,
  bounds: Bounds,
  call: (progress: (note?: string) => void) => Promise<Handled>,
): Promise<Handled | Ended> {
  const stall = stallTimer(clock, bounds, aborter);
  const { ends } = bounds;
  const cancelEnd =
    ends && clock.after(ends.afterMs, () => aborter.abort(ends.end.code, ends.end.reason, ends.message));
  const handled = call(stall.progress);
  const first = await Promise.race([handled, aborter.aborted]);
  cancelEnd?.();
  stall.cancel();
  if (first.kind !== 'aborted' || first.code === 'leaseLost') return first;

  const waiting = new AbortController();
  const graceMs = first.reason === 'instanceStopped' ? DRAIN_GRACE_MS : bounds.graceMs;
  await Promise.race([handled.then(() => waiting.abort()), sleep(clock, graceMs, waiting.signal)]);
  return waiting.signal.aborted ? first : { ...first, outlivedMs: graceMs };
}

function stallTimer(
  clock: Clock,
  { stallAfterMs, what }: Bounds,
  aborter: Aborter,
): { progress: (note?: string) => void; cancel: () => void } {
  if (stallAfterMs === undefined) return { progress: () => undefined, cancel: () => undefined };
  const arm = (note: string | undefined): (() => void) =>
    clock.after(stallAfterMs, () => {
      const last = note === undefined ? '' : `; the last was "${note}"`;
      const silence = `${what} reported no progress for ${formatDuration(stallAfterMs)}`;
      aborter.abort('stalled', 'stallAfter', silence + last);
    });
  let cancel = arm(undefined);
  let over = false;
  return {
    progress: (note) => {
      if (over) return;
      cancel();
      cancel = arm(note);
    },
    cancel: () => {
      over = true;
      cancel();
    },
  };
}
