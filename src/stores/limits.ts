import type { Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { UNLISTABLE_KEYS } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import type { Metadata, StoreLimits } from '../lease/store';
import { StoreLimitError } from '../lease/store';

/**
 * The limits of both stores: those of Azure Blob Storage, so that what works in memory works on the service. They are
 * here, and not with an adapter, so that `validate` and `next` know them without loading an SDK.
 *
 * @see https://learn.microsoft.com/rest/api/storageservices/lease-blob
 */
export const STORE_LIMITS: StoreLimits = { leaseMs: { least: 15_000, most: 60_000 }, metadataBytes: 8192 };

/** In bytes: no record or piece that cronlease writes is larger. */
export const BODY_BYTES = 4 * 1024 * 1024;

/**
 * @param body undefined: more than {@link BODY_BYTES}
 * @throws ForeignRecordError
 */
export function checkBody(what: string, body: string | undefined): string {
  if (body !== undefined) return body;
  throw new ForeignRecordError(`${what} is larger than ${BODY_BYTES / 1024 / 1024} MB, and not one of cronlease's`);
}

/**
 * Refuses metadata that blob storage would refuse, or give back changed.
 *
 * @throws StoreLimitError names the key and says what would be right.
 * @see https://learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources
 */
export function checkMetadata(metadata: Metadata): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(metadata)) {
    if (!/^[a-z]+$/.test(key)) {
      throw new StoreLimitError(`Metadata key ${JSON.stringify(key)} cannot be stored: use the letters a to z only.`);
    }
    if (UNLISTABLE_KEYS.some((name) => name === key)) {
      throw new StoreLimitError(`Metadata key "${key}" cannot be read in a listing: use another name.`);
    }
    const problem = problemOf(value);
    if (problem !== undefined) throw new StoreLimitError(`Metadata ${key} cannot be stored: ${problem}`);
    bytes += key.length + value.length;
  }
  if (bytes > STORE_LIMITS.metadataBytes) {
    throw new StoreLimitError(
      `Metadata of ${bytes} bytes cannot be stored: all keys and values together may have ${STORE_LIMITS.metadataBytes}. Shorten them.`,
    );
  }
}

function problemOf(value: string): string | undefined {
  // It travels as the value of an HTTP header: that is trimmed on the way, and other characters depend on the code page.
  if (value === '') return 'it is empty. Leave the key out.';
  if (value.startsWith(' ') || value.endsWith(' ')) return 'it begins or ends with a space. Trim it.';
  const other = /[^ -~]/u.exec(value)?.[0];
  if (other === undefined) return undefined;
  const name = `U+${(other.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return `it contains ${name}. Encode it as printable ASCII.`;
}

/**
 * A lease's length as the service takes it: whole seconds, never less than asked for, since the holder trusts the
 * length that it asked for.
 *
 * @throws StoreLimitError outside of 15 s to 60 s.
 */
export function leaseSeconds(leaseMs: Millis): number {
  const { least, most } = STORE_LIMITS.leaseMs;
  const seconds = Math.ceil(leaseMs / 1000);
  if (seconds * 1000 >= least && seconds * 1000 <= most) return seconds;
  throw new StoreLimitError(
    `A lease of ${leaseMs} ms cannot be had: it lasts ${formatDuration(least)} to ${formatDuration(most)}.`,
  );
}
