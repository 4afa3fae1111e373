import { createHmac } from 'node:crypto';
import type { EpochMs } from '../core/brand';
import type { TryEnd } from '../core/delivery';
import type { Notice } from '../core/notice';
import { type Span, mask, spelledFinder } from '../core/redact';
import { brief, oneLine } from '../core/text';
import { format, type Origin, type Receiver } from './formats';
import { ForbiddenAddressError } from './guard';
import { type Posted, PostError, type Posting } from './request';

/** Makes one call. Throws `ForbiddenAddressError` or `PostError`. */
export type Call = (posting: Posting) => Promise<Posted>;

/** One try to deliver a notice. Never rejects. */
export async function tryOnce(
  call: Call,
  receiver: Receiver,
  notice: Notice,
  { origin, now }: { readonly origin: Origin; readonly now: EpochMs },
): Promise<TryEnd> {
  const { contentType, body } = format(receiver.format, notice, origin, receiver.routingKey);
  const headers = {
    'content-type': contentType,
    'user-agent': 'cronlease',
    ...signatureHeaders(receiver.secrets, { id: notice.id, at: now, body }),
  };
  try {
    return endOf(receiver, await call({ address: receiver.address, headers, body }));
  } catch (error) {
    if (error instanceof ForbiddenAddressError || error instanceof PostError) {
      return { kind: 'failed', why: error.message, isThrottled: false, retryAfterMs: undefined };
    }
    throw error;
  }
}

/** Only 2xx is a success. A redirect is not followed, and so is a failure. */
function endOf(receiver: Receiver, { status, retryAfterMs, text }: Posted): TryEnd {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  if (status === 410) return { kind: 'gone' };
  const said = text === '' ? '' : `: ${brief(oneLine(hideSecrets(receiver, text)))}`;
  const isThrottled = status === 429 || status === 502 || status === 504;
  return { kind: 'failed', why: `it answered ${String(status)}${said}`, isThrottled, retryAfterMs };
}

/** A part of an address's path that is shorter than this is not a secret. Of a parameter's value: than that. */
const SHORTEST_PATH = 6;
const SHORTEST_VALUE = 4;

/**
 * An answer may repeat the address, or the key, that it was called with, as it was, decoded or escaped. It is searched
 * before it is cut, and a secret that its own end cuts is hidden too.
 */
export function hideSecrets({ address, routingKey = '' }: Receiver, text: string): string {
  const { href, pathname, search, hash, searchParams } = address;
  const whole = [href, `${pathname}${search}`, search.slice(1), routingKey];
  const paths = pathname
    .split('/')
    .flatMap(spellings)
    .filter((part) => part.length >= SHORTEST_PATH);
  const raw = [...search.slice(1).split('&'), hash.slice(1)].map((pair) => pair.replace(/^[^=]*=/, ''));
  const values = [...raw, ...searchParams.values()]
    .flatMap(spellings)
    .filter((value) => value.length >= SHORTEST_VALUE);
  const secrets = [...whole.filter((part) => part.length >= SHORTEST_PATH), ...paths, ...values]
    .map((secret) => secret.toLowerCase())
    .toSorted((a, b) => b.length - a.length);
  const lower = text.toLowerCase();
  // Some letters have another length in lower case.
  const searched = lower.length === text.length ? lower : text;
  const spans = secrets.flatMap((secret) => [...spelledFinder(secret, 'i')(text), ...beginningAtEnd(secret, searched)]);
  return mask(text, spans, Infinity);
}

/** A text as it is in an address, as it was before, and as others may write it there. */
function spellings(text: string): readonly string[] {
  const decoded = decode(text);
  return [text, decoded, decode(decoded), encodeURIComponent(decoded), encodeURIComponent(encodeURIComponent(decoded))];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return text;
  }
}

function beginningAtEnd(secret: string, text: string): readonly Span[] {
  for (let length = secret.length - 1; length >= SHORTEST_VALUE; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return [{ start: text.length - length, end: text.length }];
  }
  return [];
}

const PREFIX = 'whsec_';
/** In bytes. */
const LENGTH = { least: 24, most: 64 };

/** The key in a secret such as `whsec_…`, base64 of 24 to 64 bytes; undefined if it is none. */
export function keyOf(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const text = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length >= LENGTH.least && key.length <= LENGTH.most ? key : undefined;
}

/**
 * The headers by which a receiver knows who sent a notice, and that it has it already.
 *
 * @param keys two during a rotation: the receiver has one of them
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureHeaders(
  keys: readonly Uint8Array[],
  { id, at, body }: { readonly id: string; readonly at: EpochMs; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signed, 'utf8').digest('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  };
}
