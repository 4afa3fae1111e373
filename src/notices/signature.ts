import { createHmac } from 'node:crypto';
import type { EpochMs } from '../core/brand';

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
