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

/** A version that changes what is stored raises it: older ones then leave that as it is. */
export const FORMAT = 1;

type Metadata = Readonly<Record<string, string>>;

/** How one member of a record lies in the metadata of its blob. */
export interface Field<T> {
  /** @throws ForeignMetadataError */
  read(metadata: Metadata): T;
  write(value: T, metadata: Record<string, string>): void;
}

/** A field of one key, which is always there. */
export interface RequiredField<T> extends Field<T> {
  readonly key: string;
}

/** @param parse undefined: the text is not a value of this field */
export function fieldIn<T>(
  key: string,
  expected: string,
  parse: (text: string) => T | undefined,
  write: (value: T) => string = String,
): RequiredField<T> {
  return {
    key,
    read(metadata) {
      const text = metadata[key];
      if (text === undefined) throw new ForeignMetadataError(key, text, 'a value');
      const value = parse(text);
      if (value === undefined) throw new ForeignMetadataError(key, text, expected);
      return value;
    },
    write(value, metadata) {
      metadata[key] = write(value);
    },
  };
}

export function textIn(key: string): RequiredField<string> {
  return fieldIn(key, 'a value', (value) => value);
}

export function oneOfIn<T extends string>(key: string, allowed: readonly T[]): RequiredField<T> {
  return fieldIn(key, allowed.join(' or '), (value) => allowed.find((candidate) => candidate === value));
}

export function wholeIn<T extends number = number>(key: string): RequiredField<T> {
  const parse = (value: string): T | undefined => {
    const number = Number(value);
    return /^\d{1,16}$/.test(value) && Number.isSafeInteger(number) ? (number as T) : undefined;
  };
  return fieldIn(key, 'a whole number', parse);
}

export function instantIn(key: string): RequiredField<EpochMs> {
  const parse = (value: string): EpochMs | undefined => {
    const parsed = Date.parse(value);
    return isInstant(parsed) && isoOf(parsed) === value ? parsed : undefined;
  };
  return fieldIn(key, 'a time such as 2026-01-31T03:00:00.000Z', parse, isoOf);
}

export function optional<T>({ key, read, write }: RequiredField<T>): Field<T | undefined> {
  return {
    read: (metadata) => (metadata[key] === undefined ? undefined : read(metadata)),
    write(value, metadata) {
      if (value !== undefined) write(value, metadata);
    },
  };
}

/** A field that is read leniently, because no decision rests on it. */
export function lenientIn<T>(
  key: string,
  parse: (text: string | undefined) => T,
  write: (value: T) => string | undefined,
): Field<T> {
  return {
    read: (metadata) => parse(metadata[key]),
    write(value, metadata) {
      const text = write(value);
      if (text !== undefined) metadata[key] = text;
    },
  };
}

/** A list of objects, as JSON. An empty one is left out. */
export function listIn<T>(
  key: string,
  parse: (member: Readonly<Record<string, unknown>>) => T | undefined,
  write: (value: T, index: number, values: readonly T[]) => unknown = (value) => value,
): Field<readonly T[]> {
  return {
    read({ [key]: json }) {
      if (json === undefined) return [];
      const parsed = parsedJson(json);
      if (!Array.isArray(parsed)) throw new ForeignMetadataError(key, json, 'a JSON list');
      return parsed.map((member: unknown) => {
        const value = isObject(member) ? parse(member) : undefined;
        if (value === undefined) throw new ForeignMetadataError(key, json, 'a list of known members');
        return value;
      });
    },
    write(values, metadata) {
      if (values.length > 0) metadata[key] = asciiJson(values.map(write));
    },
  };
}

/** A list as ASCII JSON, which headers can carry; undefined if it is empty. */
export function listText(members: readonly unknown[]): string | undefined {
  return members.length === 0 ? undefined : asciiJson(members);
}

export type RecordOf<Fields> = { readonly [Name in keyof Fields]: Fields[Name] extends Field<infer T> ? T : never };

type FieldsOf<T> = { readonly [Name in keyof T]-?: Field<T[Name]> };

/** Adds {@link FORMAT}. */
export function encodeFields<T>(fields: FieldsOf<T>, record: T): Metadata {
  const metadata: Record<string, string> = { format: String(FORMAT) };
  for (const name in fields) fields[name].write(record[name], metadata);
  return metadata;
}

/**
 * @param why the metadata may have another format
 * @throws ForeignMetadataError
 */
export function decodeFields<T>(fields: FieldsOf<T>, metadata: Metadata, why?: string): T {
  const key = UNLISTABLE_KEYS.find((name) => Object.hasOwn(metadata, name));
  if (key !== undefined) throw new ForeignMetadataError(key, metadata[key], 'no such key');
  checkFormat(metadata, why);
  const record: Partial<T> = {};
  for (const name in fields) record[name] = fields[name].read(metadata);
  return record as T;
}

function checkFormat({ format }: Readonly<Record<string, string>>, why: string | undefined): void {
  if (format !== String(FORMAT)) throw new ForeignMetadataError('format', format, String(FORMAT), why);
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

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

/** A count, as JSON has it. */
export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

export type Guard<T> = (value: unknown) => value is T;

type Guards<T> = { readonly [Name in keyof T]-?: Guard<T[Name]> };

export function orAbsent<T>(is: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || is(value);
}

/** A member may be missing, because some versions do not write it. */
export function orNull<T>(is: Guard<T>): Guard<T | null | undefined> {
  return (value): value is T | null | undefined => value === undefined || value === null || is(value);
}

export function listOf<T>(is: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(is);
}

/** Whether a value is an object with these members, and perhaps others. */
export function objectOf<T>(guards: Guards<T>): Guard<T> {
  const members = Object.entries<Guard<unknown>>(guards);
  return (value): value is T => isObject(value) && members.every(([name, is]) => is(value[name]));
}

/** Reads an object with these members, and leaves others out. Undefined: one of them is wrong. */
export function membersOf<T>(guards: Guards<T>): (value: unknown) => T | undefined {
  const is = objectOf(guards);
  return (value) =>
    is(value)
      ? (Object.fromEntries(Object.keys(guards).map((name) => [name, value[name as keyof T]])) as T)
      : undefined;
}

/** The first object of a list in JSON, which a field that is one object is stored as. */
export function firstOf(json: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const members = json === undefined ? undefined : parsedJson(json);
  const first: unknown = Array.isArray(members) ? members[0] : undefined;
  return isObject(first) ? first : undefined;
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
