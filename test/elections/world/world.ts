import type { Random } from '../../simulation/faults/random';
import type { SimulatedProcess } from '../../simulation/world/process';
import type { Timeline } from '../../simulation/world/timeline';
import type { Member } from '../algorithms/algorithm';
import type { Links } from './links';

/** Where the instances of one trial live. */
export interface World {
  readonly timeline: Timeline;
  readonly seed: number;
  readonly ids: readonly number[];
  readonly links: Links;
}

/** One process of an instance. A restarted instance has a new process and its old disk. */
export interface Seat {
  readonly id: number;
  readonly process: SimulatedProcess;
  readonly random: Random;
  readonly disk: Map<string, number>;
  campaigned(): void;
}

/** One of the algorithms that are compared. */
export interface Contender {
  readonly name: string;
  /** Whether it elects through a store, so that it needs the store and not the others. */
  readonly usesStore: boolean;
  /** Returns what starts an instance in this world. */
  enter(world: World): (seat: Seat) => Member;
}
