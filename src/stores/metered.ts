import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallKind, CallOutcome, CallResult } from '../core/storage-call';
import { within } from '../lease/deadline';
import { StoreError } from '../lease/store';
import type { Faults } from './client-error';
import type { Question } from './port';

/** A service that is asked over a network. */
export interface Service {
  /** Its address for messages, without secrets. */
  readonly location: string;
  readonly clock: Clock;
  readonly callTimeoutMs: Millis;
  /** Receives each call once it is over. */
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
  readonly faults: Faults;
}

/** What a call of the port asks for. */
export interface Call<T> extends Question {
  /** Whether a condition of the call did not hold, or nothing was found. Default: if the answer is undefined or false. */
  readonly isNothing?: ((answer: T) => boolean) | undefined;
}

/** Makes a call in the time of one, reports its outcome, and translates its error into the port's terms. */
export async function metered<T>(
  service: Service,
  { what, kind, isNothing = (answer) => answer === undefined || answer === false, options }: Call<T>,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, onOutcome, location, faults } = service;
  const where = `${what} at ${location}`;
  const sent = clock.monotonic();
  let result: CallResult = 'noAnswer';
  try {
    return await limited(service, where, options?.signal, async (signal) => {
      try {
        const answer = await send(signal);
        result = isNothing(answer) ? (NOTHING[kind] ?? 'conflict') : 'ok';
        return answer;
      } catch (error) {
        result = faults.resultOf(error);
        throw faults.failure(error, where);
      }
    });
  } finally {
    onOutcome?.({ kind, result, ms: clock.monotonic() - sent });
  }
}

/** The answer to a question about the service itself; undefined: it refused, or did not answer. */
export async function told<T>(
  service: Service,
  what: string,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await metered(service, { what, kind: 'properties', options: undefined }, send);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

/** Settles like `use`, or with the reason of the signal once the caller gives up, after `onGiveUp`. */
export async function unlessGivenUp<T>(signal: AbortSignal, use: () => Promise<T>, onGiveUp: () => void): Promise<T> {
  const given = Promise.withResolvers<never>();
  const giveUp = (): void => {
    given.reject(signal.reason);
    onGiveUp();
  };
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([given.promise, use()]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** The result of a call that has found nothing. Of the other kinds it is a conflict. */
const NOTHING: Readonly<Partial<Record<CallKind, CallResult>>> = {
  listing: 'ok',
  read: 'notFound',
  properties: 'notFound',
  delete: 'ok',
  container: 'ok',
};

/** Settles like `send`, or at once when the caller gives up or the time limit passes, even if `send` continues. */
export function limited<T>(
  { clock, callTimeoutMs }: Pick<Service, 'clock' | 'callTimeoutMs'>,
  where: string,
  signal: AbortSignal | undefined,
  send: (abortSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = `${where}: no answer within ${callTimeoutMs} ms. The call may or may not have taken effect.`;
  return within(clock, callTimeoutMs, send, { late, signal });
}
