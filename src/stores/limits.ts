import type { Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { UNLISTABLE_KEYS } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { type Metadata, StoreLimitError, type StoreLimits, metadataSize } from '../lease/store';

/**
 * The limits of both stores. They are those of Azure Blob Storage, so that a value accepted in memory is accepted by the
 * service. They are here, and not with an adapter, so that `validate` and `next` need not load an SDK.
 *
 * @see https://learn.microsoft.com/rest/api/storageservices/lease-blob
 */
export const STORE_LIMITS: StoreLimits = { leaseMs: { least: 15_000, most: 60_000 }, metadataBytes: 8192 };

/** In bytes. Every record and piece that cronlease writes is smaller. */
export const BODY_BYTES = 4 * 1024 * 1024;

/**
 * @param body undefined if it is larger than {@link BODY_BYTES}
 * @throws ForeignRecordError
 */
export function checkBody(what: string, body: string | undefined): string {
  if (body !== undefined) return body;
  throw new ForeignRecordError(`${what} is larger than ${BODY_BYTES / 1024 / 1024} MB: cronlease did not write it`);
}

/** The most bytes that one call may append to a log. */
const APPEND_BYTES = 4 * 1024 * 1024;

/**
 * Rejects text that a log cannot take.
 *
 * @throws StoreLimitError
 * @see https://learn.microsoft.com/rest/api/storageservices/append-block#remarks
 */
export function checkLogText(text: string): void {
  const refuse = (problem: string): never => {
    throw new StoreLimitError(`text for a log ${problem}`);
  };
  if (text === '') refuse('is empty: append something');
  if (!/^[\n\x20-\x7e]*$/.test(text)) refuse('has characters other than printable ASCII and line ends: escape them');
  if (text.length > APPEND_BYTES) refuse(`has ${text.length} bytes: append ${APPEND_BYTES} at most at once`);
}

/**
 * Rejects metadata that blob storage would reject or change.
 *
 * @throws StoreLimitError with the key and the remedy.
 * @see
 *   https://learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources
 */
export function checkMetadata(metadata: Metadata): void {
  for (const [key, value] of Object.entries(metadata)) {
    if (!/^[a-z]+$/.test(key)) {
      throw new StoreLimitError(`Metadata key ${JSON.stringify(key)} cannot be stored: use the letters a to z only.`);
    }
    if (UNLISTABLE_KEYS.some((name) => name === key)) {
      throw new StoreLimitError(`Metadata key "${key}" cannot be read in a listing: use another name.`);
    }
    const problem = problemOf(value);
    if (problem !== undefined) throw new StoreLimitError(`Metadata ${key} cannot be stored: ${problem}`);
  }
  const bytes = metadataSize(metadata);
  if (bytes > STORE_LIMITS.metadataBytes) {
    throw new StoreLimitError(
      `Metadata of ${bytes} bytes cannot be stored: the limit is ${STORE_LIMITS.metadataBytes} for all keys and values together. Shorten them.`,
    );
  }
}

function problemOf(value: string): string | undefined {
  // Metadata travels as HTTP headers. Their values are trimmed on the way, and other characters depend on the code
  // page.
  if (value === '') return 'it is empty. Leave the key out.';
  if (value.startsWith(' ') || value.endsWith(' ')) return 'it begins or ends with a space. Trim it.';
  const other = /[^ -~]/u.exec(value)?.[0];
  if (other === undefined) return undefined;
  const name = `U+${(other.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return `it contains ${name}. Encode it as printable ASCII.`;
}

/**
 * A lease's length in whole seconds, as the service needs it. Rounded up, because the holder trusts the length that it
 * asked for.
 *
 * @throws StoreLimitError below 15 s or above 60 s.
 */
export function leaseSeconds(leaseMs: Millis): number {
  const { least, most } = STORE_LIMITS.leaseMs;
  const seconds = Math.ceil(leaseMs / 1000);
  if (seconds * 1000 >= least && seconds * 1000 <= most) return seconds;
  throw new StoreLimitError(
    `A lease of ${formatDuration(leaseMs)} is not possible. Use ${formatDuration(least)} to ${formatDuration(most)}.`,
  );
}
