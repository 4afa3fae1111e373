import type { Belief } from './observer';

/** Counts the writes that a store of data accepts, in two versions of it: one that takes all, and one that fences. */
export interface DataStore {
  /** @param writer the belief in which the writer has checked that it leads */
  write(writer: Belief): void;
  readonly writes: number;
  /** Stale writes that the store without fencing accepted. */
  readonly stale: number;
  /** The same for the store with fencing, which rejects a token below the highest that it has seen. */
  readonly staleFenced: number;
}

export function createDataStore(): DataStore {
  const open = acceptance();
  const fenced = acceptance();
  let highest = -Infinity;
  let writes = 0;
  return {
    write(writer) {
      writes += 1;
      open.accept(writer);
      const { token = highest } = writer;
      if (token < highest) return;
      highest = token;
      fenced.accept(writer);
    },
    get writes() {
      return writes;
    },
    get stale() {
      return open.stale;
    },
    get staleFenced() {
      return fenced.stale;
    },
  };
}

/**
 * A write is stale if it arrives after a write of another instance that began to lead later, so that it may undo that
 * one's work. It is not if its writer still leads and all later leaders have given way.
 */
function acceptance(): { accept(writer: Belief): void; readonly stale: number } {
  const writers = new Set<Belief>();
  let stale = 0;
  return {
    accept(writer) {
      const later = [...writers].filter(({ instance, from }) => instance !== writer.instance && from > writer.from);
      const gaveWay = !writer.over && later.every(({ over }) => over);
      if (later.length > 0 && !gaveWay) stale += 1;
      writers.add(writer);
    },
    get stale() {
      return stale;
    },
  };
}
