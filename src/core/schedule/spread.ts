import type { JobName, Millis } from '../brand';

/** A job's offset inside its spread, on every machine: whole seconds, 0 included, `spread` excluded. */
export function spreadOffset(name: JobName, spread: Millis): Millis {
  // The hash's high bits fill a spread of any length evenly.
  return Math.floor((hash(name) / 2 ** 32) * (spread / 1000)) * 1000;
}

/** FNV-1a with the finish of MurmurHash3: names that differ only in their last digit must land far apart. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
