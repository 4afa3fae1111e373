import net, { type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listen, type Listener } from './listen';
import { type Owners, socketOwners } from './socket-owners';

/**
 * The network between the members of a cluster: a relay in front of each port of a member on which it listens for the
 * others. All members connect to the same relays, and the process that has opened a connection tells which member it
 * is.
 *
 * A cut direction is silent, as a lossy network is: nothing is closed. What was sent on an open connection arrives
 * after the healing, however late that is, as TCP would deliver it. A connection begun meanwhile never comes about.
 */
export interface Links {
  /**
   * A port that leads to this port of the member.
   *
   * @param rewrite changes the first bytes of each connection
   */
  relayTo(member: number, port: number, rewrite?: (head: Buffer) => Buffer): Promise<number>;
  /** Names the members' processes, before the first cut. */
  runs(pids: readonly number[]): void;
  /** From now on nothing that `from` sends reaches `to`. */
  cut(from: number, to: number): void;
  /** Cuts all links of a member, in both directions. */
  isolate(member: number): void;
  /** @throws Error if a connection between members goes past the relays: then there was no partition */
  heal(): void;
  close(): void;
}

interface Relay {
  readonly member: number;
  /** On which the member listens. */
  readonly target: number;
  readonly listener: Listener;
  readonly rewrite: (head: Buffer) => Buffer;
}

interface Passage {
  readonly relay: Relay;
  /** The end at the member that has opened it. */
  readonly client: Socket;
  readonly clientPort: number;
  /** Undefined: it was begun while its link was cut. */
  upstream: Socket | undefined;
  from: number | undefined;
}

export function linksBetweenMembers(): Links {
  const relays: Relay[] = [];
  const passages = new Set<Passage>();
  const cuts = new Set<string>();
  let pids: readonly number[] = [];
  const isCut = (from: number, to: number): boolean => cuts.has(`${String(from)}>${String(to)}`);

  const follow = (passage: Passage, owners: Owners): void => {
    const { relay, client, clientPort, upstream } = passage;
    passage.from ??= owners.ownerOf(clientPort, relay.listener.port);
    if (passage.from === undefined) {
      // The member has closed it already.
      client.destroy();
    } else if (upstream !== undefined) {
      hold(client, isCut(passage.from, relay.member));
      hold(upstream, isCut(relay.member, passage.from));
    }
  };
  const isOpen = ({ from, relay: { member } }: Passage): boolean =>
    from === undefined || !(isCut(from, member) || isCut(member, from));
  const begin = async (relay: Relay, client: Socket): Promise<void> => {
    const passage: Passage = {
      relay,
      client,
      clientPort: client.remotePort ?? 0,
      upstream: undefined,
      from: undefined,
    };
    passages.add(passage);
    client.once('close', () => passages.delete(passage));
    if (cuts.size > 0) follow(passage, socketOwners(pids));
    if (client.destroyed || !isOpen(passage)) return;
    const upstream = await reached(relay.target, client);
    if (upstream === undefined) client.destroy();
    // Its link may have been cut meanwhile.
    else if (client.destroyed || !isOpen(passage)) upstream.destroy();
    else passage.upstream = join(client, upstream, relay.rewrite);
  };
  const cutAll = (directions: readonly (readonly [from: number, to: number])[]): void => {
    for (const [from, to] of directions) cuts.add(`${String(from)}>${String(to)}`);
    const owners = socketOwners(pids);
    for (const passage of [...passages]) follow(passage, owners);
  };

  return {
    async relayTo(member, target, rewrite = (head) => head) {
      const listener = await listen((client) => void begin({ member, target, listener, rewrite }, client));
      relays.push({ member, target, listener, rewrite });
      return listener.port;
    },
    runs: (named) => void (pids = named),
    cut: (from, to) => cutAll([[from, to]]),
    isolate(member) {
      const others = pids.flatMap((_, index) => (index === member ? [] : [index]));
      cutAll(others.flatMap((other) => [[member, other] as const, [other, member] as const]));
    },
    heal() {
      const owners = socketOwners(pids);
      cuts.clear();
      for (const passage of [...passages]) {
        if (passage.upstream === undefined) passage.client.destroy();
        else follow(passage, owners);
      }
      for (const { member, target } of relays) {
        const past = owners.to(target).find(({ owner }) => owner !== member);
        if (past !== undefined) {
          throw new Error(`member ${String(past.owner)} is connected to member ${String(member)} past the relays`);
        }
      }
    },
    close() {
      for (const { listener } of relays) listener.close();
      for (const { upstream } of passages) upstream?.destroy();
    },
  };
}

function hold(socket: Socket, isHeld: boolean): void {
  if (isHeld) socket.pause();
  else socket.resume();
}

const REACH_MS = 5_000;
const AGAIN_MS = 20;

/**
 * Connects to the member's port. The relay has accepted the connection that a member, which may listen only a moment
 * later, would have refused and been asked for again. Undefined: it does not listen, or the other has given up.
 */
async function reached(port: number, client: Socket): Promise<Socket | undefined> {
  const deadline = performance.now() + REACH_MS;
  while (!client.destroyed && performance.now() < deadline) {
    const upstream = net.connect(port, '127.0.0.1');
    const isConnected = await new Promise<boolean>((resolve) => {
      upstream.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isConnected) return upstream;
    await pause(AGAIN_MS);
  }
  return undefined;
}

/** Passes on what each of them sends, and its end. */
function join(client: Socket, upstream: Socket, rewrite: (head: Buffer) => Buffer): Socket {
  let isFirst = true;
  client.on('data', (data) => {
    if (upstream.writable) upstream.write(isFirst ? rewrite(data) : data);
    isFirst = false;
  });
  upstream.on('data', (data) => {
    if (client.writable) client.write(data);
  });
  upstream.on('error', () => client.destroy()).once('close', () => client.end());
  // What the member sends now is for no one, also while it is held.
  client.once('close', () => upstream.resume().end());
  return upstream;
}
