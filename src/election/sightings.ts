import type { Leader } from './leadership';

/** The leader, as this instance last saw it. */
export interface Sightings {
  /** Undefined before the first read. */
  readonly last: { readonly leader: Leader | undefined } | undefined;
  note(leader: Leader | undefined): void;
  /** Returns a signal that is aborted at the next change of the leader. */
  changed(): AbortSignal;
}

/** @param onChange called with the first sighting, and with each one that shows another leader or another term */
export function createSightings(onChange: (leader: Leader | undefined) => void): Sightings {
  let last: Sightings['last'];
  let change = new AbortController();
  return {
    get last() {
      return last;
    },
    note(leader) {
      const before = last;
      last = { leader };
      if (before !== undefined && isSameTerm(before.leader, leader)) return;
      change.abort();
      change = new AbortController();
      onChange(leader);
    },
    changed: () => change.signal,
  };
}

export function isSameTerm(one: Leader | undefined, other: Leader | undefined): boolean {
  return one?.token === other?.token;
}
