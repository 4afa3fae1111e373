import net, { type AddressInfo, type Socket } from 'node:net';
import type { Call } from './calls';
import type { Protocol, Sent } from './protocol';
import { pause } from './time';

/** Ends a connection: what was about to pass does not. */
export class DroppedError extends Error {
  readonly code = 'Dropped';
  override readonly name = 'DroppedError';
}

/** What sees each request and each answer pass. It may hold them back by resolving late, or drop them by rejecting. */
export interface Watch {
  readonly protocol: Protocol;
  /** Storage's port at this moment. */
  target(): number;
  onRequest(call: Call): Promise<void> | undefined;
  onAnswer(call: Call, status: number, sentAt: number): Promise<void> | undefined;
}

/** A TCP proxy between one instance and storage that can be made a bad network. */
export interface Proxy {
  readonly port: number;
  /** Each request is held back for so long. */
  delay(ms: number): void;
  /** Each request and each answer is lost with this probability, and its connection reset. */
  cut(probability: number, random: () => number): void;
  /** Nothing passes in either direction, and no one is told. */
  blackhole(): void;
  /** As good as new: what a black hole has swallowed is delivered, late. */
  heal(): void;
  close(): void;
}

interface Faults {
  delayMs: number;
  lossOf: () => boolean;
  swallowed: PromiseWithResolvers<void> | undefined;
}

export async function startProxy(watch: Watch): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const faults: Faults = { delayMs: 0, lossOf: () => false, swallowed: undefined };
  const server = net.createServer({ noDelay: true }, (client) => {
    const storage = net.connect({ host: '127.0.0.1', port: watch.target(), noDelay: true });
    for (const socket of [client, storage]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    relay(client, storage, watch, faults);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    delay: (ms) => void (faults.delayMs = ms),
    cut: (probability, random) => void (faults.lossOf = () => random() < probability),
    blackhole: () => void (faults.swallowed ??= Promise.withResolvers<void>()),
    heal() {
      faults.delayMs = 0;
      faults.lossOf = () => false;
      faults.swallowed?.resolve();
      faults.swallowed = undefined;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** One connection, on which answers come in the order of their requests. */
function relay(client: Socket, storage: Socket, watch: Watch, faults: Faults): void {
  const drop = (): void => {
    client.resetAndDestroy();
    storage.destroy();
  };
  const up = inOrder(drop);
  const down = inOrder(drop);
  const split = watch.protocol.requests();
  const cut = watch.protocol.answers();
  const awaited: Sent[] = [];

  const passRequest = async (call: Call): Promise<void> => {
    if (faults.delayMs > 0) await pause(faults.delayMs);
    await watch.onRequest(call);
    await faults.swallowed?.promise;
    if (faults.lossOf()) throw new DroppedError('a request is lost');
    awaited.push({ call, sentAt: performance.timeOrigin + performance.now() });
  };
  const passAnswer = async (chunk: Buffer): Promise<void> => {
    for (const { to, status, bytes } of cut(chunk, () => awaited.shift())) {
      if (to !== undefined) {
        await watch.onAnswer(to.call, status, to.sentAt);
        if (faults.lossOf()) throw new DroppedError('an answer is lost');
      }
      await faults.swallowed?.promise;
      client.write(bytes);
    }
  };
  client.on('data', (chunk: Buffer) => {
    for (const { call, bytes } of split(chunk)) {
      up(async () => {
        if (call !== undefined) await passRequest(call);
        storage.write(bytes);
      });
    }
  });
  storage.on('data', (chunk: Buffer) => down(() => passAnswer(chunk)));
  // What a client has sent before it died still arrives.
  client.on('close', () => up(() => storage.end()));
  storage.on('close', () => down(() => client.resetAndDestroy()));
  client.on('error', () => undefined);
  storage.on('error', () => undefined);
}

/** Runs tasks one after another; the first that rejects ends the connection. */
function inOrder(drop: () => void): (task: () => unknown) => void {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    last = last.then(task);
    last.catch(drop);
  };
}
