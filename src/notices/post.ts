import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { given } from '../core/given';
import { ForbiddenAddressError, type Guard, hostOf } from './guard';
import { NoAddressError, type Resolve, codeOf, guardedRequest, retryAfterOf } from './request';

/** A receiver that has not answered by then has failed: Standard Webhooks recommends 15 to 30 s. */
export const POST_LIMIT_MS: Millis = 15_000;
/** The most of an answer that is read. */
const ANSWER_BYTES = 4_096;

export interface Posted {
  readonly status: number;
  readonly retryAfterMs: Millis | undefined;
  /** The beginning of the answer, as the receiver wrote it: it may repeat secrets. */
  readonly text: string;
}

/** A call that got no answer. The message has the host, never the rest of the address. */
export class PostError extends Error {
  readonly code = 'PostFailed';
  override readonly name = 'PostError';
}

export interface Posting {
  readonly address: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PostOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly limitMs?: Millis;
  readonly resolve?: Resolve;
  /** More certificates to trust, for tests. */
  readonly ca?: string;
}

/**
 * Posts to a receiver, as {@link guardedRequest} sends, within a time limit.
 *
 * @throws ForbiddenAddressError if the address must not be called
 * @throws PostError if there was no answer
 */
export async function post(posting: Posting, options: PostOptions): Promise<Posted> {
  const { guard, clock, limitMs = POST_LIMIT_MS, resolve, ca } = options;
  const host = hostOf(posting.address);
  let cancel = (): void => undefined;
  const stop = new AbortController();
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(limitMs, () => {
      reject(new PostError(`host "${host}" has not answered within ${String(limitMs / 1_000)} s`));
      stop.abort();
    });
  });
  const limits = { guard, signal: stop.signal, mostBytes: ANSWER_BYTES, limitMs, ...given({ resolve, ca }) };
  try {
    const { status, headers, text } = await Promise.race([
      guardedRequest({ ...posting, method: 'POST' }, limits),
      late,
    ]);
    return { status, retryAfterMs: retryAfterOf(headers['retry-after'], headers.date), text: text.trim() };
  } catch (error) {
    if (error instanceof ForbiddenAddressError || error instanceof PostError) throw error;
    if (error instanceof NoAddressError) throw new PostError(error.message);
    throw new PostError(`host "${host}" cannot be reached: ${codeOf(error)}`);
  } finally {
    cancel();
  }
}
