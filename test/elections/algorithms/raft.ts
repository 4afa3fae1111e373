import type { Millis } from '../../../src/core/brand';
import type { Algorithm } from './algorithm';
import { HEARTBEAT_MS, oneTimer, SILENCE_MS } from './timing';

/*
 * The leader election of Raft: a majority votes, once in each term.
 *
 * D. Ongaro and J. Ousterhout, In Search of an Understandable Consensus Algorithm, USENIX ATC 2014, section 5.2; the
 * rule against disruptive servers is that of section 6 (extended version), the leader lease that of section 6.4.1 of
 * Ongaro's dissertation.
 *
 * Time is cut into terms. A follower that hears no leader for a random time becomes a candidate: it raises its term,
 * votes for itself, and asks all others. Each instance votes once in a term, and writes its vote to its disk before it
 * answers. Two majorities share an instance, so a term has at most one leader, however messages, clocks and processes
 * behave. A message with a higher term makes its receiver a follower of that term. Progress, and only progress, needs
 * messages that are much quicker than the timeouts.
 *
 * "At most one leader in a term" is not "at most one leader at a time": a leader that is cut off believes until it
 * hears a higher term. In Raft it does no harm, because it can commit nothing without a majority. A leader whose acts
 * are not log entries needs its term as a fencing token, or a lease.
 *
 * `leased` adds such a lease: a leader believes for LEASE_MS after it sent a heartbeat that a majority has
 * acknowledged, and an instance that has heard a leader within SILENCE_MS ignores candidates. This is safe while no
 * clock of the members runs faster than another by more than the margin between the two times.
 *
 * Left out, because only leadership is compared: the log (and so the rule that a candidate's log must be up to date),
 * changes of membership, and PreVote.
 */

export type RaftMessage =
  | { readonly kind: 'requestVote'; readonly term: number }
  | { readonly kind: 'vote'; readonly term: number; readonly granted: boolean }
  /** AppendEntries without entries. `sentAt` is by the leader's clock, and comes back. */
  | { readonly kind: 'heartbeat'; readonly term: number; readonly sentAt: Millis }
  | { readonly kind: 'ack'; readonly term: number; readonly sentAt: Millis };

/** A margin of 15 %: a pair of clocks may run apart by that share. */
export const LEASE_MS: Millis = SILENCE_MS * 0.85;

export function raft({ leased }: { readonly leased: boolean }): Algorithm<RaftMessage> {
  return ({ id, all, clock, random, disk, send, campaigned }) => {
    const others = all.filter((other) => other !== id);
    const wait = oneTimer(clock);
    let role: 'follower' | 'candidate' | 'leader' = 'follower';
    let term = disk.get('term') ?? 0;
    let votedFor = disk.get('votedFor');
    let leader: number | undefined;
    let voters = new Set<number>();
    /** When the last heartbeat was sent that an instance has acknowledged. */
    let acknowledged = new Map<number, Millis>();
    let ledSince = -Infinity;
    /** A restarted instance has forgotten when it last heard a leader, so it assumes the worst. */
    let heardAt = clock.monotonic();

    const enterTerm = (next: number, vote: number | undefined): void => {
      if (next > term) leader = undefined;
      term = next;
      votedFor = vote;
      disk.set('term', term);
      if (vote === undefined) disk.delete('votedFor');
      else disk.set('votedFor', vote);
    };
    const follow = (): void => {
      role = 'follower';
      // Random, so that votes are rarely split.
      wait(SILENCE_MS * (1 + random.next()), campaign);
    };
    const hear = (from: number): void => {
      leader = from;
      heardAt = clock.monotonic();
      follow();
    };
    const campaign = (): void => {
      campaigned();
      follow();
      role = 'candidate';
      enterTerm(term + 1, id);
      voters = new Set([id]);
      for (const other of others) send(other, { kind: 'requestVote', term });
    };
    const lead = (): void => {
      role = 'leader';
      leader = id;
      ledSince = clock.monotonic();
      acknowledged = new Map();
      beat();
    };
    const beat = (): void => {
      const now = clock.monotonic();
      if (leased && now - Math.max(ledSince, majorityAt()) > SILENCE_MS) {
        // Others cannot elect a leader while its heartbeats reach them.
        follow();
        return;
      }
      for (const other of others) send(other, { kind: 'heartbeat', term, sentAt: now });
      wait(HEARTBEAT_MS, beat);
    };
    /** When the last heartbeat was sent that a majority, this instance included, has acknowledged. */
    const majorityAt = (): Millis => {
      const latestFirst = [...acknowledged.values()].sort((a, b) => b - a);
      return latestFirst[Math.floor(all.length / 2) - 1] ?? -Infinity;
    };
    const leads = (): boolean => role === 'leader' && (!leased || clock.monotonic() < majorityAt() + LEASE_MS);

    follow();
    return {
      get leads() {
        return leads();
      },
      get token() {
        return leads() ? term : undefined;
      },
      get leader() {
        return leader;
      },
      receive(message, from) {
        const hasLeader = leads() || clock.monotonic() - heardAt < SILENCE_MS;
        if (leased && message.kind === 'requestVote' && hasLeader) return;
        if (message.term > term) {
          enterTerm(message.term, undefined);
          if (role !== 'follower') follow();
        }
        switch (message.kind) {
          case 'requestVote': {
            const granted = message.term === term && (votedFor ?? from) === from;
            if (granted) {
              enterTerm(term, from);
              follow();
            }
            send(from, { kind: 'vote', term, granted });
            return;
          }
          case 'vote':
            if (role !== 'candidate' || message.term !== term || !message.granted) return;
            voters.add(from);
            if (voters.size > all.length / 2) lead();
            return;
          case 'heartbeat':
            // An old leader learns the term from the answer.
            if (message.term === term) hear(from);
            send(from, { kind: 'ack', term, sentAt: message.sentAt });
            return;
          case 'ack':
            if (role === 'leader' && message.term === term) {
              acknowledged.set(from, Math.max(message.sentAt, acknowledged.get(from) ?? -Infinity));
            }
        }
      },
    };
  };
}
