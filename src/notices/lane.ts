import type { Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import type { TryEnd } from '../core/delivery';
import type { Notice } from '../core/notice';
import type { Format } from './receiver';

/** So many notices go out one by one; more of them within a minute go out together. */
const SINGLES = 5;
const MINUTE_MS: Millis = 60_000;
/** How long notices gather for a digest. */
const GATHER_MS: Millis = 20_000;
/** The most notices of one digest. */
export const DIGEST_SIZE = 100;
/**
 * The shortest time between two messages. Slack takes one a second. PagerDuty takes 120 a minute for one key, which
 * several deployments share.
 */
const APART_MS: Readonly<Record<Format, Millis>> = { cloudevents: 0, slack: 1_000, teams: 1_000, pagerduty: 1_000 };

/** The end of a notice in its lane. `late`: its time was over before its turn came, and it was not sent. */
export type LaneEnd = TryEnd | { readonly kind: 'digest' } | { readonly kind: 'late' };

/** The way to one receiver, which takes so many messages a minute. */
export interface Lane {
  /** @param withinMs the time in which its turn must come: after that, another process may send it */
  add(notice: Notice, withinMs: Millis): Promise<LaneEnd>;
}

interface Waiting {
  readonly notice: Notice;
  /** Monotonic, as `until`. */
  readonly since: Millis;
  readonly until: Millis;
  readonly resolve: (end: LaneEnd) => void;
}

/** How a lane sends. Neither call rejects. */
export interface Sending {
  one(notice: Notice): Promise<TryEnd>;
  /** Stores one notice in place of these, and sends it. */
  digest(notices: readonly Notice[]): Promise<LaneEnd>;
}

/**
 * Sends the notices of one receiver one after another. Where many jobs fail at once, the first few are sent at once,
 * and the others together. An incident of PagerDuty belongs to one job, so those are never put together. Decision 094.
 */
export function createLane(clock: Clock, as: Format, sending: Sending): Lane {
  const queue: Waiting[] = [];
  let sentAt: Millis[] = [];
  let isRunning = false;
  const apartMs = APART_MS[as];

  async function apart(): Promise<void> {
    const last = sentAt.at(-1);
    if (last !== undefined && apartMs > 0) await sleep(clock, last + apartMs - clock.monotonic());
  }

  /** The notices of the next message. */
  async function next(): Promise<readonly Waiting[]> {
    await apart();
    sentAt = sentAt.filter((at) => clock.monotonic() - at < MINUTE_MS);
    if (as === 'pagerduty' || (sentAt.length < SINGLES && queue.length <= SINGLES - sentAt.length)) {
      return queue.splice(0, 1);
    }
    const first = queue[0]?.since ?? 0;
    while (queue.length < DIGEST_SIZE && clock.monotonic() - first < GATHER_MS) {
      await sleep(clock, Math.min(1_000, first + GATHER_MS - clock.monotonic()));
    }
    return queue.splice(0, DIGEST_SIZE);
  }

  function isInTime({ until, resolve }: Waiting): boolean {
    if (clock.monotonic() <= until) return true;
    resolve({ kind: 'late' });
    return false;
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const batch = (await next()).filter(isInTime);
      const [first] = batch;
      if (first === undefined) continue;
      sentAt.push(clock.monotonic());
      const end =
        batch.length === 1 ? await sending.one(first.notice) : await sending.digest(batch.map(({ notice }) => notice));
      for (const { resolve } of batch) resolve(end);
    }
    isRunning = false;
  }

  return {
    add: (notice, withinMs) =>
      new Promise((resolve) => {
        const since = clock.monotonic();
        queue.push({ notice, since, until: since + withinMs, resolve });
        if (isRunning) return;
        isRunning = true;
        void run();
      }),
  };
}
