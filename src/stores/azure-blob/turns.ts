import type { Millis } from '../../core/brand';
import { type RankedQueue, rankedQueue } from '../../core/ranked-queue';

/** What the SDK's requests have of an `AbortSignal`. */
interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Gives out turns to send calls. */
export interface Turns {
  /** Resolves when a call may be sent. Rejects when the signal is aborted before that. */
  take(signal: Signal | undefined, urgency?: Urgency): Promise<void>;
  /** Ends a call that was sent. */
  end(): void;
}

/** How long a call may wait. */
export interface Urgency {
  /** When the lease is over under which the call is made. Default: never. */
  readonly deadline?: Millis;
  /** Whether all calls that do not begin something go first. */
  readonly begins?: boolean;
}

interface Waiting {
  readonly since: Millis;
  readonly begin: () => void;
}

/** Callers give up after 5 s. A call that has waited for this long may not be answered in the rest. */
const FRESH_MS: Millis = 3_000;

/**
 * Lets at most `limit` calls be sent side by side. The others wait: those whose leases end first are sent first, and
 * those that begin something last, so that what has begun ends in time. Otherwise they are sent in order. Among both,
 * calls that have waited for too long go last, or an overload would never end: each call would be sent just before its
 * caller gives up, and again later.
 *
 * @param now on a monotonic clock
 */
export function createTurns(limit: number, now: () => Millis): Turns {
  let sent = 0;
  const begun = createLine(now);
  const beginning = createLine(now);

  return {
    async take(signal, { deadline = Infinity, begins = false } = {}) {
      if (sent < limit) {
        sent += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        let leave = (): void => undefined;
        const giveUp = (): void => {
          leave();
          reject(new Error('the caller has given up before the call was sent'));
        };
        if (signal?.aborted === true) {
          giveUp();
          return;
        }
        leave = (begins ? beginning : begun).add(deadline, {
          since: now(),
          begin() {
            signal?.removeEventListener('abort', giveUp);
            resolve();
          },
        });
        signal?.addEventListener('abort', giveUp);
      });
    },
    end() {
      // The next call takes this one's turn: a newcomer cannot slip in between.
      const waiting = begun.shift() ?? beginning.shift();
      if (waiting === undefined) sent -= 1;
      else waiting.begin();
    },
  };
}

interface Line {
  add(deadline: Millis, waiting: Waiting): () => void;
  shift(): Waiting | undefined;
}

function createLine(now: () => Millis): Line {
  const fresh: RankedQueue<Waiting> = rankedQueue();
  const stale = new Set<Waiting>();
  return {
    add(deadline, waiting) {
      const leave = fresh.add([deadline], waiting);
      return () => {
        leave();
        stale.delete(waiting);
      };
    },
    shift() {
      for (let first = fresh.shift(); first !== undefined; first = fresh.shift()) {
        if (now() - first.since <= FRESH_MS) return first;
        stale.add(first);
      }
      const [oldest] = stale;
      if (oldest !== undefined) stale.delete(oldest);
      return oldest;
    },
  };
}
