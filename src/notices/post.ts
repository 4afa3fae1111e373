import { given } from '../core/given';
import { lookup } from 'node:dns/promises';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as plainRequest } from 'node:http';
import { Agent, request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { ForbiddenAddressError, type Guard, checkAddress, checkResolved, hostOf } from './guard';

/** A receiver that has not answered by then has failed: Standard Webhooks recommends 15 to 30 s. */
export const POST_LIMIT_MS: Millis = 15_000;
/** The longest wait for a connection to one of a host's addresses, before the next is tried: a route may be dead. */
const TRY_LIMIT_MS: Millis = 3_000;
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

/** Looks a host's addresses up. */
export type Resolve = (host: string) => Promise<Addresses>;

type Addresses = readonly { readonly address: string; readonly family: number }[];

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

const resolveHost: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/**
 * Posts to a receiver: over TLS, to the first that answers of the very addresses that were checked, without following redirects, and within a time
 * limit.
 *
 * @throws ForbiddenAddressError if the address must not be called
 * @throws PostError if there was no answer
 */
export async function post(posting: Posting, options: PostOptions): Promise<Posted> {
  const { guard, clock, limitMs = POST_LIMIT_MS } = options;
  const host = hostOf(posting.address);
  const allowed = checkAddress(posting.address, guard);
  let cancel = (): void => undefined;
  const stop = new AbortController();
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(limitMs, () => {
      reject(new PostError(`host "${host}" has not answered within ${String(limitMs / 1_000)} s`));
      stop.abort();
    });
  });
  const work = async (): Promise<Posted> => {
    const addresses =
      isIP(host) === 0 ? await (options.resolve ?? resolveHost)(host) : [{ address: host, family: isIP(host) }];
    // Each of them is checked: a name with a public and a private address is an attack.
    for (const { address } of addresses) checkResolved(host, address, allowed, guard);
    if (addresses.length === 0) throw new PostError(`host "${host}" has no address`);
    const attemptMs = Math.min(TRY_LIMIT_MS, limitMs / (addresses.length + 1));
    return send(posting, { addresses, attemptMs }, stop.signal, options.ca);
  };
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    if (error instanceof ForbiddenAddressError || error instanceof PostError) throw error;
    // An error of the network has no part of the address but the host.
    throw new PostError(`host "${host}" cannot be reached: ${codeOf(error)}`);
  } finally {
    cancel();
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'the call failed';
}

function send(
  { address, headers, body }: Posting,
  { addresses, attemptMs }: { readonly addresses: Addresses; readonly attemptMs: Millis },
  signal: AbortSignal,
  ca: string | undefined,
): Promise<Posted> {
  const isSecure = address.protocol === 'https:';
  const checkedAddress: NonNullable<RequestOptions['lookup']> = (_host, options, callback) => {
    // With `all` the caller takes a list, and tries one after the other.
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
      lookup: checkedAddress,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: Math.ceil(attemptMs),
      signal,
    };
    // A connection that is kept was checked for another call, so each call has its own agent.
    const sent: ClientRequest = isSecure
      ? secureRequest(address, {
          ...options,
          agent: new Agent({ keepAlive: false, ...given({ ca }) }),
        })
      : plainRequest(address, { ...options, agent: false });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      readStart(answer).then((text) => resolve(postedOf(answer, text)), reject);
    });
    sent.end(body);
  });
}

/** The answer's beginning. The rest is not read. */
async function readStart(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer) {
    const chunk = Buffer.isBuffer(part) ? part : Buffer.from(String(part));
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes >= ANSWER_BYTES) break;
  }
  answer.destroy();
  return Buffer.concat(parts).subarray(0, ANSWER_BYTES).toString('utf8');
}

function postedOf(answer: IncomingMessage, text: string): Posted {
  const { 'retry-after': retryAfter, date } = answer.headers;
  return {
    status: answer.statusCode ?? 0,
    retryAfterMs: retryAfterOf(retryAfter, date),
    text: text.trim(),
  };
}

/** Seconds, or a time, which counts from the answer's own. */
export function retryAfterOf(text: string | undefined, date: string | undefined): Millis | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1_000;
  const wait = Date.parse(text) - Date.parse(date ?? '');
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
