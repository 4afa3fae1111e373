import type { EpochMs } from './brand';
import { isoOf } from './iso';
import { brief } from './text';

/** Keys that cronlease never writes. The SDK cannot read a listing in which any blob has one of them. */
export const UNLISTABLE_KEYS = ['constructor', 'prototype', '__proto__'] as const;

export function hasUnlistableKey(metadata: Readonly<Record<string, string>>): boolean {
  return UNLISTABLE_KEYS.some((key) => Object.hasOwn(metadata, key));
}

/** A row or control record whose metadata cronlease did not write. Its job is left alone, with a warning. */
export class ForeignMetadataError extends Error {
  readonly code = 'ForeignMetadata';
  override readonly name = 'ForeignMetadataError';

  constructor(
    key: string,
    value: string | undefined,
    expected: string,
    why = 'the blob was changed by something other than cronlease, or by a newer version of it',
  ) {
    super(
      `metadata "${key}" is ${value === undefined ? 'missing' : brief(JSON.stringify(value))}, expected ${expected}: ${why}`,
    );
  }
}

/** Every instant that cronlease writes is earlier. Record keys count down from this one, in the year 2286. */
const LATEST = 1e13;

/** Whether a value can be an instant that cronlease wrote. */
export function isInstant(value: unknown): value is EpochMs {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < LATEST;
}

/**
 * Of everything that is stored. A version that changes what is stored raises it: older ones then leave that as it is.
 */
export const FORMAT = 1;

/** Reads one blob's metadata, field by field. Every method throws {@link ForeignMetadataError}. */
export class MetadataReader {
  /** @param why the metadata may have another format */
  constructor(
    private readonly metadata: Readonly<Record<string, string>>,
    why?: string,
  ) {
    const key = UNLISTABLE_KEYS.find((name) => Object.hasOwn(metadata, name));
    if (key !== undefined) throw new ForeignMetadataError(key, metadata[key], 'no such key');
    checkFormat(metadata, why);
  }

  text(key: string): string {
    const value = this.metadata[key];
    if (value === undefined) throw new ForeignMetadataError(key, value, 'a value');
    return value;
  }

  optionalText(key: string): string | undefined {
    return this.metadata[key];
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T {
    const value = this.text(key);
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new ForeignMetadataError(key, value, allowed.join(' or '));
    return found;
  }

  whole(key: string): number {
    const value = this.text(key);
    if (!/^\d{1,16}$/.test(value) || !Number.isSafeInteger(Number(value))) {
      throw new ForeignMetadataError(key, value, 'a whole number');
    }
    return Number(value);
  }

  optionalWhole(key: string): number | undefined {
    return this.metadata[key] === undefined ? undefined : this.whole(key);
  }

  instant(key: string): EpochMs {
    return parseInstant(key, this.text(key));
  }

  optionalInstant(key: string): EpochMs | undefined {
    return this.metadata[key] === undefined ? undefined : this.instant(key);
  }

  /** Reads a JSON list, and checks each member by `read`. A missing key is an empty list. */
  list<T>(key: string, read: (member: Readonly<Record<string, unknown>>) => T | undefined): readonly T[] {
    const text = this.metadata[key];
    if (text === undefined) return [];
    const parsed = parsedJson(text);
    if (!Array.isArray(parsed)) throw new ForeignMetadataError(key, text, 'a JSON list');
    return parsed.map((member: unknown) => {
      const value = isObject(member) ? read(member) : undefined;
      if (value === undefined) throw new ForeignMetadataError(key, text, 'a list of known members');
      return value;
    });
  }
}

function checkFormat({ format }: Readonly<Record<string, string>>, why: string | undefined): void {
  if (format !== String(FORMAT)) throw new ForeignMetadataError('format', format, String(FORMAT), why);
}

/** Adds {@link FORMAT}, omits undefined fields, and writes lists as ASCII JSON, which headers can carry. */
export function writeMetadata(
  fields: Readonly<Record<string, string | number | readonly unknown[] | undefined>>,
): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = { format: String(FORMAT) };
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (typeof value === 'object') {
      if (value.length > 0) metadata[key] = asciiJson(value);
    } else {
      metadata[key] = String(value);
    }
  }
  return metadata;
}

export function sameMetadata(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

export function isoOrUndefined(instant: EpochMs | undefined): string | undefined {
  return instant === undefined ? undefined : isoOf(instant);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A count, as JSON has it. */
export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The value of a text in JSON; undefined: it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What `read` returns, or the error if cronlease did not write the metadata that it reads. */
export function orForeign<T>(read: () => T): T | ForeignMetadataError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ForeignMetadataError) return error;
    throw error;
  }
}

/** As {@link orForeign}, with undefined in place of the error. */
export function ifReadable<T>(read: () => T): T | undefined {
  const value = orForeign(read);
  return value instanceof ForeignMetadataError ? undefined : value;
}

/** JSON with everything outside printable ASCII escaped. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function parseInstant(key: string, text: string): EpochMs {
  const instant = Date.parse(text);
  if (!isInstant(instant) || isoOf(instant) !== text) {
    throw new ForeignMetadataError(key, text, 'a time such as 2026-01-31T03:00:00.000Z');
  }
  return instant;
}
