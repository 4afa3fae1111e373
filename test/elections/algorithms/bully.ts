import type { Algorithm } from './algorithm';
import { DELIVERY_MS, HEARTBEAT_MS, oneTimer, SILENCE_MS } from './timing';

/*
 * The bully algorithm: the highest live id leads.
 *
 * H. Garcia-Molina, Elections in a Distributed Computing System, IEEE Transactions on Computers C-31(1), 1982.
 * The messages have the names of the textbooks (election, answer, coordinator). The paper's round of Halt and Ready,
 * which stops the application before a new leader begins, and its group numbers are left out.
 *
 * An instance that misses the leader asks all higher ids. If one answers, that one takes over the election. If none
 * answers in time, all higher ids are dead, and the caller leads. An instance that starts calls an election, so that a
 * returned instance with a higher id deposes the leader: it bullies the others.
 *
 * The algorithm is safe only under the paper's assumptions:
 * - A message arrives within a known time T, and none is lost. Otherwise "no answer" does not mean "dead":
 *   each side of a partition elects its own leader, and so does each instance behind a slow link.
 * - An instance that fails stops, and a live one answers at once; it never pauses. Otherwise a
 *   leader that wakes from a pause still believes that it leads.
 * The paper says so, and gives a second algorithm (Invitation) for networks without these assumptions, with groups that
 * may each have a leader.
 *
 * There is no token: nothing numbers the leaders, so a store cannot tell an old leader's write from a new one's.
 */

export type BullyMessage = { readonly kind: 'election' | 'answer' | 'coordinator' | 'alive' };

/** The time for a message and its answer. */
const ANSWER_MS = 2 * DELIVERY_MS;
/** The time that a higher instance has to win: its own wait for answers, and two messages on their way. */
const COORDINATOR_MS = ANSWER_MS + 2 * DELIVERY_MS;

export const bully: Algorithm<BullyMessage> = ({ id, all, clock, send, campaigned }) => {
  const others = all.filter((other) => other !== id);
  const higher = all.filter((other) => other > id);
  const lower = all.filter((other) => other < id);
  const wait = oneTimer(clock);
  let state: 'following' | 'electing' | 'leading' = 'following';
  let leader: number | undefined;

  const elect = (): void => {
    campaigned();
    state = 'electing';
    leader = undefined;
    for (const other of higher) send(other, { kind: 'election' });
    if (higher.length === 0) lead();
    else wait(ANSWER_MS, lead);
  };
  const lead = (): void => {
    state = 'leading';
    leader = id;
    for (const other of lower) send(other, { kind: 'coordinator' });
    wait(HEARTBEAT_MS, beat);
  };
  const beat = (): void => {
    for (const other of others) send(other, { kind: 'alive' });
    wait(HEARTBEAT_MS, beat);
  };
  const follow = (other: number): void => {
    state = 'following';
    leader = other;
    wait(SILENCE_MS, elect);
  };

  elect();
  return {
    get leads() {
      return state === 'leading';
    },
    token: undefined,
    get leader() {
      return leader;
    },
    receive({ kind }, from) {
      switch (kind) {
        case 'election':
          // Only lower ids send it. The caller gives up, and this instance goes on in its place.
          send(from, { kind: 'answer' });
          if (state === 'leading') send(from, { kind: 'coordinator' });
          else if (state === 'following') elect();
          return;
        case 'answer':
          // Whoever answered may crash before it has won: then the election begins again.
          if (state === 'electing') wait(COORDINATOR_MS, elect);
          return;
        case 'coordinator':
        case 'alive':
          if (from > id) follow(from);
          // A lower id leads: it did not hear this instance, which was down, or behind a link that was cut.
          else if (state === 'following') elect();
      }
    },
  };
};
