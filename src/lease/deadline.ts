import type { Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import { StoreError, StoreUnavailableError } from './store';

/** The time limit of a single call to storage. A repeated call gets the remaining time, and at most this. */
export const CALL_LIMIT_MS = 5_000;
const ASK_AGAIN_MS = 250;
const ASK_AGAIN_AT_MOST_MS = 2_000;

interface WithinOptions {
  /** Who is asked, for messages. Default: storage. */
  readonly whose?: string;
  /** The message if there is no answer. Default: that there is none. */
  readonly late?: string;
  /** What is left of the lease under which the call is made. Default: what is left of the caller's. */
  readonly leftMs?: Millis;
  /** The caller's, which also ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** When the trust ends under which a call is made, on the monotonic clock, by the signal of the call. */
const DEADLINES = new WeakMap<object, Millis>();

/**
 * When the answer of a call comes too late, on the monotonic clock: the lease is over under which it is made. Infinity: it
 * is made under none.
 */
export function deadlineOf(signal: object | undefined): Millis {
  return (signal && DEADLINES.get(signal)) ?? Infinity;
}

/**
 * Makes a call that ends in time, whatever the other side does. After `limit`, or when the caller gives up, its signal is
 * aborted, and the call rejects with {@link StoreUnavailableError} or the caller's reason. It may or may not have taken
 * effect. Decision 026.
 */
export async function within<T>(
  clock: Clock,
  limit: Millis,
  call: (signal: AbortSignal) => Promise<T>,
  { whose = 'storage', late, leftMs, signal }: WithinOptions = {},
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const deadline = leftMs === undefined ? deadlineOf(signal) : clock.monotonic() + leftMs;
  if (deadline !== Infinity) DEADLINES.set(controller.signal, deadline);
  const ended = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    // First: a call whose signal is aborted may reject at once with another error.
    ended.reject(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => end(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const cancel = clock.after(Math.max(0, limit), () => {
    const message = late ?? `no answer from ${whose} within ${String(Math.round(limit))} ms`;
    end(new StoreUnavailableError(message));
  });
  try {
    return await Promise.race([call(controller.signal), ended.promise]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Repeats a call until there is an answer. A refusal of the caller is none: roles and keys that are changed take a while
 * to arrive everywhere, and a finished run must not be thrown away for it. When no time is left it rejects with the last
 * error. The waits between calls grow, but never take more than half of the remaining time.
 *
 * @param isHeld whether the calls are made under a lease that ends when no time is left
 */
export async function untilAnswered<T>(
  { clock, random }: Asking,
  remaining: () => Millis,
  call: (signal: AbortSignal) => Promise<T>,
  { isHeld = true }: { readonly isHeld?: boolean } = {},
): Promise<T> {
  const again = backOff(random, ASK_AGAIN_MS, ASK_AGAIN_AT_MOST_MS);
  let last: StoreError | undefined;
  for (;;) {
    const left = remaining();
    if (left <= 0) throw last ?? new StoreUnavailableError('no time is left to ask storage');
    try {
      return await within(clock, Math.min(left, CALL_LIMIT_MS), call, isHeld ? { leftMs: left } : {});
    } catch (error) {
      if (!(error instanceof StoreError) || remaining() <= ASK_AGAIN_MS) throw error;
      last = error;
      await sleep(clock, Math.min(again(error), remaining() / 2));
    }
  }
}

/** The clock and the jitter of a caller. */
export interface Asking {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * The waits between repeated calls. Each is twice the last, up to `mostMs`, minus a random part of up to a half, so
 * that instances that lost the service together do not return together. A `Retry-After` of the service is heeded.
 * Decision 037.
 */
export function backOff(random: () => number, leastMs: Millis, mostMs: Millis): (problem: unknown) => Millis {
  let full = leastMs;
  return (problem) => {
    const delay = full * (1 - random() / 2);
    full = Math.min(mostMs, full * 2);
    const asked = problem instanceof StoreUnavailableError ? (problem.retryAfterMs ?? 0) : 0;
    return Math.max(delay, asked);
  };
}
