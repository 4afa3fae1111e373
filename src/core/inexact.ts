import { isObject } from './metadata';

/** From here on numbers are written with an exponent: they cannot be ids or counters. */
const WITH_EXPONENT = 1e21;

/**
 * Finds an integer beyond 2^53 in a parsed JSON value. JavaScript has rounded it: an id or a counter is another one now.
 *
 * @returns where it is, and how it was read; undefined if there is none
 */
export function inexactInteger(
  value: unknown,
  path: readonly (string | number)[] = [],
): { readonly path: readonly (string | number)[]; readonly value: number } | undefined {
  if (typeof value === 'number') {
    const isExact = !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= WITH_EXPONENT;
    return isExact ? undefined : { path, value };
  }
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
