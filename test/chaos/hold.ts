import type { Call } from './calls';
import { DroppedError } from './proxy';

/** A call at which an instance is held. */
export interface Caught {
  readonly deployment: string;
  readonly call: Call;
}

/** Holds the first call that fits, on its way to storage or on its way back. */
export interface Hold {
  readonly caught: Promise<Caught>;
  /** It goes on. */
  letGo(): void;
  /** It is lost, with its connection. */
  drop(): void;
}

/** `request`: storage has not seen it. `answer`: it took effect, and the instance does not know. */
export type HoldAt = 'request' | 'answer';

/** All holds of one world: its proxies ask here. */
export interface Holds {
  hold(at: HoldAt, fits: (call: Call) => boolean): Hold;
  /** Resolves when the call may pass; undefined: at once. Rejects when it is dropped. */
  pass(at: HoldAt, caught: Caught): Promise<void> | undefined;
}

export function createHolds(): Holds {
  const armed = new Set<{ readonly at: HoldAt; readonly fits: (call: Call) => boolean; readonly take: Take }>();
  type Take = (caught: Caught) => Promise<void>;
  return {
    hold(at, fits) {
      const caught = Promise.withResolvers<Caught>();
      const decided = Promise.withResolvers<void>();
      decided.promise.catch(() => undefined);
      armed.add({
        at,
        fits,
        take(one) {
          caught.resolve(one);
          return decided.promise;
        },
      });
      return {
        caught: caught.promise,
        letGo: () => decided.resolve(),
        drop: () => decided.reject(new DroppedError('the held call is dropped')),
      };
    },
    pass(at, caught) {
      for (const one of armed) {
        if (one.at !== at || !one.fits(caught.call)) continue;
        armed.delete(one);
        return one.take(caught);
      }
      return undefined;
    },
  };
}
