import { createHash } from 'node:crypto';
import { parsedJson } from '../core/metadata';
import { RequestError } from './problem';

/** The place of a page, as callers pass it back. A checksum tells it from a text that was cut or made up. */
export function writeCursor(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  return `${Buffer.from(text).toString('base64url')}.${checksum(text)}`;
}

/** Throws {@link RequestError}. */
export function readCursor(cursor: string): readonly string[] {
  const [body = '', sum] = cursor.split('.');
  const text = Buffer.from(body, 'base64url').toString('utf8');
  if (sum !== checksum(text)) throw wrongCursor(cursor);
  const parts = parsedJson(text);
  if (Array.isArray(parts) && parts.every((part) => typeof part === 'string')) return parts;
  throw wrongCursor(cursor);
}

export function wrongCursor(cursor: string): RequestError {
  return new RequestError(400, 'InvalidRequest', {
    place: 'query: cursor',
    value: cursor,
    problem: 'is not a cursor of this list',
    remedy: 'begin without a cursor',
  });
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}
