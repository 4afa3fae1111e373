import type { EpochMs } from '../../core/brand';
import { type CallOptions, StoreUnavailableError } from '../../lease/store';
import { limited, type Service } from '../metered';
import { codeOf, dateOf, failure } from './errors';

/** The service's answer, with the time by its own clock. `no`: the condition or the lease of the call did not hold. */
export type Answer<T> =
  { readonly kind: 'yes'; readonly value: T; readonly date: EpochMs } | { readonly kind: 'no'; readonly date: EpochMs };

interface Question {
  /** The operation and its object, for messages. */
  readonly what: string;
  /** The service's error codes that are answers, not errors. */
  readonly no: readonly string[];
  readonly options: CallOptions | undefined;
}

export type Ask = <T extends { readonly date?: Date }>(
  question: Question,
  send: (abortSignal: AbortSignal) => Promise<T>,
) => Promise<Answer<T>>;

/**
 * Makes each call once, and translates its error into the port's terms. The caller's signal or the time limit ends a
 * call.
 */
export function asker(service: Pick<Service, 'location' | 'clock' | 'callTimeoutMs'>): Ask {
  return ({ what, no, options }, send) => {
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

function checkDate(date: number | undefined, where: string): EpochMs {
  if (date !== undefined && !Number.isNaN(date)) return date;
  throw new StoreUnavailableError(`${where}: the answer has no Date header. Check whether a proxy removes it.`);
}
