/** A set of whole numbers from 0 to 59, as two words of 30 bits. */
export interface SixtySet {
  readonly low: number;
  readonly high: number;
}

const HALF = 30;

export function sixtySet(values: Iterable<number>): SixtySet {
  let low = 0;
  let high = 0;
  for (const value of values) {
    if (value < HALF) low |= 1 << value;
    else high |= 1 << (value - HALF);
  }
  return { low, high };
}

/** A set of whole numbers from 0 to 30 in one word. */
export function bitSet(values: Iterable<number>): number {
  let bits = 0;
  for (const value of values) bits |= 1 << value;
  return bits;
}

/** The smallest member not below `from` (0 to 31); -1: none. */
export function nextBit(bits: number, from: number): number {
  const rest = from > HALF ? 0 : bits & (-1 << from);
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest);
}

/** The largest member not above `from` (-1 to 30); -1: none. */
export function previousBit(bits: number, from: number): number {
  const rest = from < 0 ? 0 : bits & ((2 << from) - 1);
  return 31 - Math.clz32(rest);
}

/** As {@link nextBit}, `from` 0 to 60. */
export function nextOfSixty(set: SixtySet, from: number): number {
  const low = from < HALF ? nextBit(set.low, from) : -1;
  if (low >= 0) return low;
  const high = nextBit(set.high, Math.max(0, from - HALF));
  return high < 0 ? -1 : high + HALF;
}

/** As {@link previousBit}, `from` -1 to 59. */
export function previousOfSixty(set: SixtySet, from: number): number {
  const high = previousBit(set.high, from - HALF);
  return high >= 0 ? high + HALF : previousBit(set.low, Math.min(from, HALF - 1));
}
