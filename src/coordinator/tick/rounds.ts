import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { given } from '../../core/given';
import type { ListedJob, Listing, ListOptions, Strays } from '../../lease/store';

/** Shorter than the time limit of the whole call, so that the pages read by then are kept. */
const PART_MS = 8_000;
const PART_AT_LEAST_MS = 1_000;
const STRAYS_NAMED = 10;

type ListPart = (options: Pick<ListOptions, 'from' | 'enough'>) => Promise<Listing>;

/**
 * Listings of all jobs, in as many parts as needed. Even if foreign blobs make a listing long, each part shows some
 * jobs, which are served meanwhile. Decision 030.
 */
export class Rounds {
  readonly #clock: Clock;
  readonly #list: ListPart;
  #parts: readonly Listing[] = [];
  #partsMs: Millis = 0;
  #wasSlow = false;
  #wholeMs: Millis = 0;

  constructor(clock: Clock, list: ListPart) {
    this.#clock = clock;
    this.#list = list;
  }

  /** Whether a listing was cut off and waits for its next part. */
  get going(): boolean {
    return this.#parts.length > 0;
  }

  /** Whether the current listing, or otherwise the last whole one, came in several parts. */
  get slow(): boolean {
    return this.#wasSlow || this.going;
  }

  /** How long the last whole listing took, or the current one has taken so far if that is more. */
  get tookMs(): Millis {
    return Math.max(this.#wholeMs, this.#partsMs);
  }

  /** Whether that is longer than a tick allows. Shorter parts are cut off by other work. */
  get tooSlow(): boolean {
    return this.slow && this.tookMs >= PART_MS;
  }

  /**
   * Continues the listing after its last part.
   *
   * @param limitMs the time until something else is due
   * @returns `whole` at the end: all parts together
   */
  async next(limitMs: Millis): Promise<{ readonly part: Listing; readonly whole: Listing | undefined }> {
    const clock = this.#clock;
    const enough = new AbortController();
    const cancel = clock.after(Math.min(PART_MS, Math.max(PART_AT_LEAST_MS, limitMs)), () => enough.abort());
    const from = this.#parts.at(-1)?.continuation;
    const sent = clock.monotonic();
    try {
      const part = await this.#list({ enough: enough.signal, ...given({ from }) });
      this.#parts = [...this.#parts, part];
      this.#partsMs += clock.monotonic() - sent;
      if (part.continuation !== undefined) return { part, whole: undefined };
      const whole = merged(this.#parts, part);
      this.#wasSlow = this.#parts.length > 1;
      this.#wholeMs = this.#partsMs;
      this.#restart();
      return { part, whole };
    } catch (error) {
      // The continuation may be the reason, so the next listing starts from the beginning.
      this.#restart();
      throw error;
    } finally {
      cancel();
    }
  }

  #restart(): void {
    this.#parts = [];
    this.#partsMs = 0;
  }
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
