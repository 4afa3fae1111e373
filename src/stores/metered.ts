import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallKind, CallOutcome, CallResult } from '../core/storage-call';
import { takeDeadline } from '../lease/deadline';
import { type CallOptions, StoreUnavailableError } from '../lease/store';

/** A service that is asked over a network. */
export interface Service {
  /** Its address for messages, without secrets. */
  readonly location: string;
  readonly clock: Clock;
  readonly callTimeoutMs: Millis;
  /** Receives each call once it is over. */
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

/** What a call of the port asks for. */
export interface Call<T> {
  /** The operation and its object, for messages. */
  readonly what: string;
  readonly kind: CallKind;
  /** Whether an answer means that a condition of the call did not hold, or that nothing was found. Default: never. */
  readonly isNothing?: (answer: T) => boolean;
  readonly options: CallOptions | undefined;
}

interface Metered extends Service {
  /** Translates an error into the port's terms. */
  readonly failure: (error: unknown, where: string) => Error;
  readonly resultOf: (error: unknown) => CallResult;
}

/** Makes a call in the time of one, reports its outcome, and translates its error into the port's terms. */
export async function metered<T>(
  service: Metered,
  { what, kind, isNothing = () => false, options }: Call<T>,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, onOutcome, location, failure, resultOf } = service;
  const where = `${what} at ${location}`;
  const sent = clock.monotonic();
  let result: CallResult = 'noAnswer';
  try {
    return await limited(service, where, options?.signal, async (signal) => {
      try {
        const answer = await send(signal);
        result = isNothing(answer) ? NOTHING[kind] : 'ok';
        return answer;
      } catch (error) {
        result = resultOf(error);
        throw failure(error, where);
      }
    });
  } finally {
    onOutcome?.({ kind, result, ms: clock.monotonic() - sent });
  }
}

/** The result of a call of each kind that has found nothing. */
const NOTHING: Readonly<Record<CallKind, CallResult>> = {
  listing: 'ok',
  read: 'notFound',
  properties: 'notFound',
  write: 'conflict',
  append: 'conflict',
  metadata: 'conflict',
  acquire: 'conflict',
  renew: 'conflict',
  change: 'conflict',
  release: 'conflict',
  break: 'conflict',
  delete: 'ok',
  container: 'ok',
};

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
  const onAbort = (): void => giveUp(signal?.reason);
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
