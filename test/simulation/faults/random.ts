/** A source of random numbers from a seed. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number in [least, most]. */
  whole(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

/** Mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick: (choices) => {
      const index = Math.floor(next() * choices.length);
      // Undefined may be a choice.
      for (const [at, choice] of choices.entries()) if (at === index) return choice;
      return choices[0];
    },
  };
}

/** A separate source for each name, so that leaving one thing out of a history does not change the others. */
export function seededBy(seed: number, ...name: readonly (string | number)[]): Random {
  return seeded(seedOf(seed, ...name));
}

export function seedOf(seed: number, ...name: readonly (string | number)[]): number {
  let hash = seed ^ 0x9e3779b9;
  for (const character of name.join('/')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash ^ (hash >>> 13);
}

/** A separate source for the n-th thing of a kind. */
export function seededAt(seed: number, n: number): Random {
  let hash = Math.imul(seed ^ n, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ n, 0xc2b2ae35);
  return seeded(hash ^ (hash >>> 16));
}
