import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { takeDeadline } from '../lease/deadline';
import { StoreUnavailableError } from '../lease/store';

/** A service that is asked over a network. */
export interface Service {
  /** Its address for messages, without secrets. */
  readonly location: string;
  readonly clock: Clock;
  readonly callTimeoutMs: Millis;
}

/** Settles like `send`, or at once when the caller gives up or the time limit passes, even if `send` continues. */
export async function limited<T>(
  { clock, callTimeoutMs }: Service,
  where: string,
  signal: AbortSignal | undefined,
  send: (abortSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  takeDeadline(controller.signal, signal);
  const given = Promise.withResolvers<never>();
  const giveUp = (reason: unknown): void => {
    given.reject(reason);
    controller.abort();
  };
  const onAbort = (): void => {
    giveUp(signal?.reason);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const cancelTimer = clock.after(callTimeoutMs, () => {
    giveUp(
      new StoreUnavailableError(
        `${where}: no answer within ${callTimeoutMs} ms. The call may or may not have taken effect.`,
      ),
    );
  });
  try {
    return await Promise.race([given.promise, send(controller.signal)]);
  } finally {
    cancelTimer();
    signal?.removeEventListener('abort', onAbort);
  }
}
