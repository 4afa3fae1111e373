import type { Algorithm } from './algorithm';
import { DELIVERY_MS, HEARTBEAT_MS, oneTimer, SILENCE_MS } from './timing';

/*
 * Election on a ring: the highest id of the candidates leads.
 *
 * E. Chang and R. Roberts, An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of
 * Processes, Communications of the ACM 22(5), 1979.
 *
 * A candidate sends its id to its successor on the ring. An instance passes a higher id on. It swallows a lower one,
 * after it has sent its own if it had not. An id that comes back to its owner is the highest: its owner leads, and a
 * second round of messages says so. With n candidates the first round takes 2n - 1 messages at best, n(n + 1)/2 at
 * worst, and n(1 + 1/2 + … + 1/n) on the average over all orders of the ring.
 *
 * The paper's ring has no failures: every message arrives, every instance lives, ids differ. It has no failure detector
 * either. The following are additions of ours, each marked below:
 * - heartbeats, so that a dead leader is noticed;
 * - the repair of the ring: each message is acknowledged, and without an acknowledgement the next but one gets it;
 * - a number of each election, by which an instance passes it on only once. Otherwise the id of an instance that dies
 * in
 *   its own election would circulate forever, and so would what the repair sends twice;
 * - a time limit of an election, for messages that are lost with the instance that had them.
 *
 * The repair needs the same assumption as Bully: an instance that does not answer within a known time is dead. In a
 * partition, each side closes its own ring and elects its own leader. There is no token.
 */

interface News {
  readonly kind: 'election' | 'elected';
  readonly candidate: number;
  /** Drawn by the candidate for each of its elections. */
  readonly election: number;
}
export type RingMessage =
  /** The serial number is the sender's, for the acknowledgement. */
  (News & { readonly serial: number }) | { readonly kind: 'ack'; readonly serial: number } | { readonly kind: 'alive' };

/** @param order the ids as they lie on the ring */
export function ring(order: readonly number[]): Algorithm<RingMessage> {
  return ({ id, all, clock, random, send, campaigned }) => {
    const others = all.filter((other) => other !== id);
    const here = order.indexOf(id);
    const wait = oneTimer(clock);
    const unacknowledged = new Map<number, () => void>();
    const seen = new Set<string>();
    let serials = 0;
    let election = 0;
    let state: 'following' | 'electing' | 'leading' = 'following';
    let leader: number | undefined;

    /** @param skipped how many successors have not answered */
    const pass = (news: News, skipped = 0): void => {
      const next = order[(here + 1 + skipped) % order.length];
      if (next === undefined || next === id) {
        // Ours: no one else answers, so the ring has one member.
        if (news.kind === 'election' && news.candidate === id) lead();
        return;
      }
      serials += 1;
      const serial = serials;
      send(next, { ...news, serial });
      // Ours: the repair of the ring.
      const skip = clock.after(2 * DELIVERY_MS, () => {
        unacknowledged.delete(serial);
        pass(news, skipped + 1);
      });
      unacknowledged.set(serial, skip);
    };
    const participate = (): void => {
      state = 'electing';
      leader = undefined;
      // Ours: an election whose message was lost is called again. A round has at most this many waits for the dead.
      wait(order.length * 2 * DELIVERY_MS, elect);
    };
    const elect = (): void => {
      campaigned();
      participate();
      election = random.whole(1, 2 ** 31);
      pass({ kind: 'election', candidate: id, election });
    };
    const announce = (): void => {
      pass({ kind: 'elected', candidate: id, election });
    };
    const lead = (): void => {
      state = 'leading';
      leader = id;
      announce();
      wait(HEARTBEAT_MS, beat);
    };
    // Ours: heartbeats.
    const beat = (): void => {
      for (const other of others) send(other, { kind: 'alive' });
      wait(HEARTBEAT_MS, beat);
    };
    const follow = (other: number | undefined): void => {
      state = 'following';
      leader = other;
      wait(SILENCE_MS, elect);
    };
    const receiveElection = (news: News): void => {
      if (news.candidate > id) {
        // A leader that passes on a higher id is deposed once that id has won.
        if (state !== 'leading') participate();
        pass(news);
      } else if (news.candidate === id) {
        if (state === 'electing' && news.election === election) lead();
      } else if (state === 'following') {
        elect();
      } else if (state === 'leading') {
        // Ours: an instance that has missed the leader hears of it.
        announce();
      }
    };
    const receiveElected = (news: News): void => {
      if (news.candidate === id) return;
      if (state === 'leading' && news.candidate < id) {
        announce();
      } else {
        follow(news.candidate);
        pass(news);
      }
    };

    follow(undefined);
    return {
      get leads() {
        return state === 'leading';
      },
      token: undefined,
      get leader() {
        return leader;
      },
      receive(message, from) {
        if (message.kind === 'ack') {
          unacknowledged.get(message.serial)?.();
          unacknowledged.delete(message.serial);
          return;
        }
        if (message.kind === 'alive') {
          // Two leaders, after a partition: the lower one gives way.
          if (state !== 'leading' || from > id) follow(from);
          return;
        }
        send(from, { kind: 'ack', serial: message.serial });
        const { kind, candidate, election: number } = message;
        const news: News = { kind, candidate, election: number };
        const name = `${kind} ${String(candidate)} ${String(number)}`;
        if (seen.has(name)) return;
        seen.add(name);
        if (kind === 'election') receiveElection(news);
        else receiveElected(news);
      },
    };
  };
}
