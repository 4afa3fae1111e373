import type { CallKind, CallOutcome, CallResult } from '../core/storage-call';
import type { CallOptions } from '../lease/store';
import { limited, type Service } from './limited';

interface Metered extends Service {
  /** Translates an error into the port's terms. */
  readonly failure: (error: unknown, where: string) => Error;
  readonly resultOf: (error: unknown) => CallResult;
  /** Receives each call once it is over. */
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

interface Call<T> {
  /** The operation and its object, for messages. */
  readonly what: string;
  readonly kind: CallKind;
  /** Whether an answer means that a condition of the call did not hold, or that nothing was found. */
  readonly isNothing: (answer: T) => boolean;
  readonly options: CallOptions | undefined;
}

/** Makes a call in the time of one, reports its outcome, and translates its error into the port's terms. */
export async function metered<T>(
  service: Metered,
  { what, kind, isNothing, options }: Call<T>,
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
