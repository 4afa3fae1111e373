import type { Millis } from '../../../src/core/brand';
import { type Random, seededBy } from '../../simulation/faults/random';
import type { Timeline } from '../../simulation/world/timeline';

/** An end of a link: an instance by its id, the store of the leases, or the store of the data that leaders write. */
export type End = number | 'leases' | 'data';

/** The network: a link in each direction between any two ends. A link keeps the order of its messages, as TCP does. */
export interface Links {
  /** Sends one message. `arrive` is called at its arrival, and never if the message is lost. */
  send(from: End, to: End, arrive: () => void): void;
  /** Loses what is on the link, and what is sent on it until it is repaired. */
  cut(from: End, to: End): void;
  mend(): void;
  /** Every message takes this much longer, from the least to the most. */
  slowMs: readonly [Millis, Millis];
  /** The share of messages that are lost. */
  loss: number;
  /** Messages that were sent, without those of data. */
  readonly sent: number;
}

export const DELAY_MS = [1, 15] as const;

export function createLinks(timeline: Timeline, seed: number): Links {
  const randoms = new Map<string, Random>();
  const lastArrivals = new Map<string, number>();
  const cuts = new Set<string>();
  let sent = 0;
  const links: Links = {
    send(from, to, arrive) {
      if (from !== 'data' && to !== 'data') sent += 1;
      const link = nameOf(from, to);
      const random = randoms.get(link) ?? seededBy(seed, 'link', link);
      randoms.set(link, random);
      const lost = random.chance(links.loss);
      const delay = random.whole(...DELAY_MS) + random.whole(...links.slowMs);
      if (lost || cuts.has(link)) return;
      const at = Math.max(timeline.now() + delay, lastArrivals.get(link) ?? 0);
      lastArrivals.set(link, at);
      timeline.after(at - timeline.now(), () => {
        if (!cuts.has(link)) arrive();
      });
    },
    cut: (from, to) => void cuts.add(nameOf(from, to)),
    mend: () => {
      cuts.clear();
    },
    slowMs: [0, 0],
    loss: 0,
    get sent() {
      return sent;
    },
  };
  return links;
}

function nameOf(from: End, to: End): string {
  return `${String(from)} to ${String(to)}`;
}
