import type { Millis } from '../../../src/core/brand';
import { seededBy } from '../../simulation/faults/random';
import { type SimulatedProcess, createProcess } from '../../simulation/world/process';
import { type Timeline, createTimeline } from '../../simulation/world/timeline';
import { START } from '../../simulation/world/world';
import type { Algorithm, Peer } from '../algorithms/algorithm';
import { byMessages } from './contender';
import { type Links, createLinks } from './links';

/** Some instances of one algorithm, for tests that count its messages and look into its instances. */
export interface Group<Message> {
  readonly timeline: Timeline;
  readonly links: Links;
  readonly sent: readonly Sent<Message>[];
  peer(id: number): Peer<Message>;
  kill(id: number): void;
  restart(id: number): void;
  pass(ms: Millis): Promise<void>;
  /** The instances that live. */
  live(): number[];
  leaders(): number[];
}

interface Sent<Message> {
  readonly at: Millis;
  readonly from: number;
  readonly to: number;
  readonly message: Message;
}

export function createGroup<Message>(algorithm: Algorithm<Message>, count: number, seed = 1): Group<Message> {
  const timeline = createTimeline();
  const links = createLinks(timeline, seed);
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  const sent: Sent<Message>[] = [];
  const peers = new Map<number, Peer<Message>>();
  const processes = new Map<number, SimulatedProcess>();
  const disks = new Map(ids.map((id) => [id, new Map<string, number>()]));
  const recorded: Algorithm<Message> = (place) => {
    const send = (to: number, message: Message): void => {
      sent.push({ at: timeline.now(), from: place.id, to, message });
      place.send(to, message);
    };
    const peer = algorithm({ ...place, send });
    peers.set(place.id, peer);
    return peer;
  };
  const join = byMessages('', () => recorded).enter({ timeline, seed, ids, links });
  const start = (id: number): void => {
    const process = createProcess(String(id), timeline, START, { skewMs: 0, drift: 0 });
    const random = seededBy(seed, 'instance', id, timeline.now());
    processes.set(id, process);
    join({ id, process, random, disk: disks.get(id) ?? new Map<string, number>(), campaigned: () => undefined });
  };
  const live = (): number[] => ids.filter((id) => processes.get(id)?.dead === false);
  for (const id of ids) start(id);
  return {
    timeline,
    links,
    sent,
    peer(id) {
      const peer = peers.get(id);
      if (peer === undefined) throw new Error(`there is no instance ${String(id)}`);
      return peer;
    },
    kill: (id) => processes.get(id)?.kill(),
    restart: start,
    pass: (ms) => timeline.runUntil(timeline.now() + ms, () => true),
    live,
    leaders: () => live().filter((id) => peers.get(id)?.leads === true),
  };
}
