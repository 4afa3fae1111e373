import { lookup } from 'node:dns/promises';
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
  type RequestOptions,
} from 'node:http';
import { Agent, request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { given } from '../core/given';
import { within } from '../lease/deadline';
import { StoreUnavailableError } from '../lease/store';
import { checkAddress, checkResolved, ForbiddenAddressError, type Guard, hostOf } from './guard';

/** The longest wait for a connection to one of a host's addresses, before the next is tried: a route may be dead. */
const TRY_LIMIT_MS: Millis = 3_000;

export type Resolve = (host: string) => Promise<Addresses>;

type Addresses = readonly { readonly address: string; readonly family: number }[];

export interface Asked {
  readonly address: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none is sent. */
  readonly body: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body is longer. The rest was not read. */
  readonly isCut: boolean;
}

export interface RequestLimits {
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  /** The longest that the whole request may take, if it is known. */
  readonly limitMs?: Millis | undefined;
  readonly resolve?: Resolve | undefined;
  /** More certificates to trust, for tests. */
  readonly ca?: string | undefined;
}

export class NoAddressError extends Error {
  override readonly name = 'NoAddressError';
}

const resolveHost: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/**
 * Sends one request: over TLS, to the first that answers of the very addresses that were checked, and without following
 * redirects.
 *
 * @throws ForbiddenAddressError if the address must not be called
 * @throws NoAddressError, or an error of the network or of HTTP
 */
export async function guardedRequest(asked: Asked, limits: RequestLimits): Promise<Answer> {
  const { guard, limitMs = Infinity, resolve = resolveHost } = limits;
  const host = hostOf(asked.address);
  const allowed = checkAddress(asked.address, guard);
  const addresses = isIP(host) === 0 ? await resolve(host) : [{ address: host, family: isIP(host) }];
  // Each of them is checked: a name with a public and a private address is an attack.
  for (const { address } of addresses) checkResolved(host, address, allowed, guard);
  if (addresses.length === 0) throw new NoAddressError(`host "${host}" has no address`);
  return send(asked, { addresses, attemptMs: Math.min(TRY_LIMIT_MS, limitMs / (addresses.length + 1)) }, limits);
}

function send(
  { address, method, headers, body }: Asked,
  { addresses, attemptMs }: { readonly addresses: Addresses; readonly attemptMs: Millis },
  { signal, ca, mostBytes }: RequestLimits,
): Promise<Answer> {
  const isSecure = address.protocol === 'https:';
  const checkedAddress: NonNullable<RequestOptions['lookup']> = (_host, options, callback) => {
    // With `all` the caller takes a list, and tries one after the other.
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        connection: 'close',
      },
      lookup: checkedAddress,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: Math.ceil(attemptMs),
      signal,
    };
    // A connection that is kept was checked for another call, so each call has its own agent.
    const sent: ClientRequest = isSecure
      ? secureRequest(address, { ...options, agent: new Agent({ keepAlive: false, ...given({ ca }) }) })
      : plainRequest(address, { ...options, agent: false });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      readStart(answer, mostBytes).then(
        (start) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, ...start }),
        reject,
      );
    });
    // Without a listener, Node destroys the connection, and neither event comes.
    sent.on('upgrade', ({ statusCode = 0, headers: answered }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, headers: answered, text: '', isCut: false });
    });
    sent.end(body);
  });
}

/** The answer's beginning. The rest is not read. */
async function readStart(answer: IncomingMessage, mostBytes: number): Promise<Pick<Answer, 'text' | 'isCut'>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer) {
    const chunk = Buffer.isBuffer(part) ? part : Buffer.from(String(part));
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) break;
  }
  answer.destroy();
  return { text: Buffer.concat(parts).subarray(0, mostBytes).toString('utf8'), isCut: bytes > mostBytes };
}

/** Seconds, or a time, which counts from the answer's own. */
export function retryAfterOf(text: string | undefined, date: string | undefined): Millis | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1_000;
  const wait = Date.parse(text) - Date.parse(date ?? '');
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** The code of an error of the network, which has no part of the address but the host. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'the call failed';
}

/** A receiver that has not answered by then has failed: Standard Webhooks recommends 15 to 30 s. */
export const POST_LIMIT_MS: Millis = 15_000;
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

/** As {@link guardedRequest}, within a time limit. Throws {@link PostError} if there was no answer. */
export async function post(posting: Posting, options: PostOptions): Promise<Posted> {
  const { guard, clock, limitMs = POST_LIMIT_MS, resolve, ca } = options;
  const host = hostOf(posting.address);
  try {
    const { status, headers, text } = await within(clock, limitMs, (signal) =>
      guardedRequest({ ...posting, method: 'POST' }, { guard, signal, mostBytes: ANSWER_BYTES, limitMs, resolve, ca }),
    );
    return { status, retryAfterMs: retryAfterOf(headers['retry-after'], headers.date), text: text.trim() };
  } catch (error) {
    if (error instanceof ForbiddenAddressError) throw error;
    if (error instanceof NoAddressError) throw new PostError(error.message);
    const isLate = error instanceof StoreUnavailableError;
    const why = isLate ? `has not answered within ${String(limitMs / 1_000)} s` : `cannot be reached: ${codeOf(error)}`;
    throw new PostError(`host "${host}" ${why}`);
  }
}
