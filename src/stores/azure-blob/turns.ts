import type { Millis } from '../../core/brand';

/** What the SDK's requests have of an `AbortSignal`. */
interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Gives out turns to send calls. */
export interface Turns {
  /** Resolves when a call may be sent. Rejects when the signal is aborted before that. */
  take(signal: Signal | undefined): Promise<void>;
  /** Ends a call that was sent. */
  end(): void;
}

interface Waiting {
  readonly since: Millis;
  readonly begin: () => void;
}

/** Callers give up after 5 s. A call that has waited for this long may not be answered in the rest. */
const FRESH_MS: Millis = 3_000;

/**
 * Lets at most `limit` calls be sent side by side; the others wait in order. Calls that have waited for too long go
 * last. Otherwise an overload would never end: each call would be sent just before its caller gives up, and again
 * later.
 *
 * @param now on a monotonic clock
 */
export function createTurns(limit: number, now: () => Millis): Turns {
  let sent = 0;
  const fresh = new Set<Waiting>();
  const stale = new Set<Waiting>();

  const next = (): Waiting | undefined => {
    for (const waiting of fresh) {
      if (now() - waiting.since <= FRESH_MS) return waiting;
      fresh.delete(waiting);
      stale.add(waiting);
    }
    const [oldest] = stale;
    return oldest;
  };

  return {
    async take(signal) {
      if (sent < limit) {
        sent += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          signal?.removeEventListener('abort', giveUp);
          fresh.delete(waiting);
          stale.delete(waiting);
        };
        const giveUp = (): void => {
          leave();
          reject(new Error('the caller has given up before the call was sent'));
        };
        const waiting: Waiting = {
          since: now(),
          begin() {
            leave();
            resolve();
          },
        };
        if (signal?.aborted === true) {
          giveUp();
          return;
        }
        signal?.addEventListener('abort', giveUp);
        fresh.add(waiting);
      });
    },
    end() {
      // The next call takes this one's turn: a newcomer cannot slip in between.
      const waiting = next();
      if (waiting === undefined) sent -= 1;
      else waiting.begin();
    },
  };
}
