import { isObject } from './metadata';

/** From here on numbers are written with an exponent: they cannot be ids or counters. */
const WITH_EXPONENT = 1e21;

function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= WITH_EXPONENT;
}

/** With the text of each value: TypeScript's library does not have it yet. */
const parse = JSON.parse as (
  text: string,
  revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** Parses JSON. An integer beyond 2^53 becomes its text: as a number, it would be rounded. */
export function parseExactly(text: string): unknown {
  return parse(text, (_key, value, { source }) => (typeof value !== 'number' || isExact(value) ? value : source));
}

/**
 * Finds an integer beyond 2^53 in a parsed JSON value. JavaScript has rounded it: an id or a counter is another one now.
 *
 * @returns where it is, and how it was read; undefined if there is none
 */
export function inexactInteger(
  value: unknown,
  path: readonly (string | number)[] = [],
): { readonly path: readonly (string | number)[]; readonly value: number } | undefined {
  if (typeof value === 'number') return isExact(value) ? undefined : { path, value };
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : isObject(value)
      ? Object.entries(value)
      : [];
  for (const [key, member] of members) {
    const found = inexactInteger(member, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
