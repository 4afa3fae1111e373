import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { ListedJob, Listing, ListOptions, Strays } from '../../lease/store';

/** Shorter than the time limit of the whole call, so that the pages read by then are kept. */
const PART_MS = 8_000;
const PART_AT_LEAST_MS = 1_000;
const STRAYS_NAMED = 10;

export interface Rounds {
  /** Whether the current listing, or otherwise the last whole one, came in several parts. */
  readonly slow: boolean;
  /** How long the last whole listing took, or the current one has taken so far if that is more. */
  readonly tookMs: Millis;
  /** Whether that is longer than a tick allows. Shorter parts are cut off by other work. */
  readonly tooSlow: boolean;
  /** Whether a listing was cut off and waits for its next part. */
  readonly going: boolean;
  /**
   * Continues the listing after its last part.
   *
   * @param limitMs the time until something else is due
   * @returns `whole` at the end: all parts together
   */
  next(limitMs: Millis): Promise<{ readonly part: Listing; readonly whole: Listing | undefined }>;
}

/**
 * Listings of all jobs, in as many parts as needed. Even if foreign blobs make a listing long, each part shows some
 * jobs, which are served meanwhile. Decision 030.
 */
export function listingRounds(
  clock: Clock,
  list: (options: Pick<ListOptions, 'from' | 'enough'>) => Promise<Listing>,
): Rounds {
  let parts: readonly Listing[] = [];
  let wasSlow = false;
  let wholeMs: Millis = 0;
  let partsMs: Millis = 0;
  const restart = (): void => {
    parts = [];
    partsMs = 0;
  };
  return {
    get slow() {
      return wasSlow || parts.length > 0;
    },
    get tookMs() {
      return Math.max(wholeMs, partsMs);
    },
    get tooSlow() {
      return this.slow && this.tookMs >= PART_MS;
    },
    get going() {
      return parts.length > 0;
    },
    async next(limitMs) {
      const enough = new AbortController();
      const cancel = clock.after(Math.min(PART_MS, Math.max(PART_AT_LEAST_MS, limitMs)), () => enough.abort());
      const from = parts.at(-1)?.continuation;
      const sent = clock.monotonic();
      try {
        const part = await list({ enough: enough.signal, ...(from !== undefined && { from }) });
        parts = [...parts, part];
        partsMs += clock.monotonic() - sent;
        if (part.continuation !== undefined) return { part, whole: undefined };
        const whole = merged(parts, part);
        wasSlow = parts.length > 1;
        wholeMs = partsMs;
        restart();
        return { part, whole };
      } catch (error) {
        // The continuation may be the reason, so the next listing starts from the beginning.
        restart();
        throw error;
      } finally {
        cancel();
      }
    },
  };
}

function merged(parts: readonly Listing[], last: Listing): Listing {
  if (parts.length === 1) return last;
  const jobs = new Map<JobName, ListedJob>(parts.flatMap((part) => [...part.jobs]));
  const strays = parts.flatMap((part) => part.strays ?? []).reduce(both, NO_STRAYS);
  const fleet = parts.find((part) => part.fleet !== undefined)?.fleet;
  const layout = parts.find((part) => part.layout !== undefined)?.layout;
  const shared = { ...(fleet && { fleet }), ...(layout && { layout }) };
  return { date: last.date, jobs, ...shared, ...(strays.count > 0 && { strays }) };
}

const NO_STRAYS: Strays = { count: 0, names: [], harmful: [] };

function both(one: Strays, other: Strays): Strays {
  return {
    count: one.count + other.count,
    names: [...one.names, ...other.names].slice(0, STRAYS_NAMED),
    harmful: [...one.harmful, ...other.harmful].slice(0, STRAYS_NAMED),
  };
}
