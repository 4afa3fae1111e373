import type { EpochMs, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { type CallOptions, StoreUnavailableError } from '../../lease/store';
import { codeOf, dateOf, failure } from './errors';

/** What the service answered, and when by its own clock. `no`: the condition or the lease of the call did not hold. */
export type Answer<T> =
  { readonly kind: 'yes'; readonly value: T; readonly date: EpochMs } | { readonly kind: 'no'; readonly date: EpochMs };

interface Question<T> {
  /** For messages: what is asked, and of which blob. */
  readonly what: string;
  /** The service's error codes that are an answer and not an error. */
  readonly no: readonly string[];
  readonly send: (abortSignal: AbortSignal) => Promise<T>;
  readonly options: CallOptions | undefined;
}

export type Ask = <T extends { readonly date?: Date }>(question: Question<T>) => Promise<Answer<T>>;

interface Service {
  /** The container's URL, without secrets. */
  readonly location: string;
  readonly clock: Clock;
  readonly callTimeoutMs: Millis;
}

/** Makes calls one attempt each, ended by the caller's signal or the time limit, their errors in the port's terms. */
export function asker(service: Service): Ask {
  return ({ what, no, send, options }) => {
    const where = `${what} at ${service.location}`;
    return limited(service, where, options?.signal, async (abortSignal) => {
      try {
        const value = await send(abortSignal);
        return { kind: 'yes', value, date: checkDate(value.date?.getTime(), where) };
      } catch (error) {
        if (error instanceof StoreUnavailableError || !no.includes(codeOf(error) ?? '')) throw failure(error, where);
        return { kind: 'no', date: checkDate(dateOf(error), where) };
      }
    });
  };
}

/** Settles as `send` does, or at once when the caller gives up or the time limit passes, whatever `send` does then. */
async function limited<T>(
  { clock, callTimeoutMs }: Service,
  where: string,
  signal: AbortSignal | undefined,
  send: (abortSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
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
      new StoreUnavailableError(`${where}: no answer within ${callTimeoutMs} ms. It may have taken effect or not.`),
    );
  });
  try {
    return await Promise.race([given.promise, send(controller.signal)]);
  } finally {
    cancelTimer();
    signal?.removeEventListener('abort', onAbort);
  }
}

function checkDate(date: number | undefined, where: string): EpochMs {
  if (date !== undefined && !Number.isNaN(date)) return date;
  throw new StoreUnavailableError(`${where}: the answer has no Date. Is there a proxy in between that drops it?`);
}
