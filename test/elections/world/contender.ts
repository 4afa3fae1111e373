import { type Random, seededBy } from '../../simulation/faults/random';
import type { SimulatedProcess } from '../../simulation/world/process';
import type { Algorithm, Peer } from '../algorithms/algorithm';
import { bully } from '../algorithms/bully';
import { raft } from '../algorithms/raft';
import { ring } from '../algorithms/ring';
import { lease } from '../algorithms/lease';
import { cronlease } from './cronlease';
import { leaseService } from './lease-service';
import type { Contender, World } from './world';

export const CONTENDERS: readonly Contender[] = [
  byMessages('bully', () => bully),
  byMessages('ring', ({ seed, ids }) => ring(shuffled(ids, seededBy(seed, 'ring')))),
  byMessages('raft', () => raft({ leased: false })),
  byMessages('raft-lease', () => raft({ leased: true })),
  byStore('lease', lease),
  byStore('cronlease', cronlease),
];

export function contenderOf(name: string): Contender {
  const found = CONTENDERS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no contender "${name}"`);
  return found;
}

/** An algorithm whose instances send messages to each other. */
export function byMessages<Message>(name: string, algorithmIn: (world: World) => Algorithm<Message>): Contender {
  return {
    name,
    usesStore: false,
    enter(world) {
      const { links, ids } = world;
      const algorithm = algorithmIn(world);
      const present = new Map<number, { readonly process: SimulatedProcess; readonly peer: Peer<Message> }>();
      return ({ id, process, random, disk, campaigned }) => {
        const send = (to: number, message: Message): void => {
          links.send(id, to, () => {
            const receiver = present.get(to);
            receiver?.process.enter(() => {
              receiver.peer.receive(message, id);
            });
          });
        };
        const { clock } = process;
        const peer = algorithm({ id, all: ids, clock, random, disk, send, campaigned });
        present.set(id, { process, peer });
        return peer;
      };
    },
  };
}

type StoreAlgorithm = typeof lease;

function byStore(name: string, algorithm: StoreAlgorithm): Contender {
  return {
    name,
    usesStore: true,
    enter(world) {
      const service = leaseService(world);
      return (seat) => {
        const { id, process, random } = seat;
        return algorithm({ id, clock: process.clock, random, store: service.reach(seat) });
      };
    },
  };
}

function shuffled(ids: readonly number[], random: Random): number[] {
  const left = [...ids];
  return ids.flatMap(() => left.splice(random.whole(0, left.length - 1), 1));
}
