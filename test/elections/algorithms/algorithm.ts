import type { Clock } from '../../../src/core/clock';
import type { Random } from '../../simulation/faults/random';

/** What an algorithm has: one instance's own place in the world. */
export interface Place<Message> {
  readonly id: number;
  /** The ids of all instances, its own too, in rising order. */
  readonly all: readonly number[];
  /** Its own clock, which may be wrong. */
  readonly clock: Clock;
  readonly random: Random;
  /** Survives a crash. */
  readonly disk: Map<string, number>;
  send(to: number, message: Message): void;
  /** Counts an election that this instance calls. */
  campaigned(): void;
}

/** What everyone may ask an instance, whatever its algorithm. */
export interface Member {
  /** Whether it would act as the leader at this instant, by all that it knows. */
  readonly leads: boolean;
  /**
   * The number that its writes carry, for a store that fences. Undefined if the algorithm has none, or it does not
   * lead.
   */
  readonly token: number | undefined;
}

/** An instance of an algorithm that elects by messages. */
export interface Peer<Message> extends Member {
  /** The leader that it follows, itself if it leads. Undefined while it knows none. */
  readonly leader: number | undefined;
  receive(message: Message, from: number): void;
}

export type Algorithm<Message> = (place: Place<Message>) => Peer<Message>;
