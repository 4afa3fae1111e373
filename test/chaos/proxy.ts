import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Head } from './calls';
import { pause } from './time';

/** Ends a connection: what was about to pass does not. */
export class DroppedError extends Error {
  readonly code = 'Dropped';
  override readonly name = 'DroppedError';
}

/** What sees each request and each answer pass. It may hold them back by resolving late, or drop them by rejecting. */
export interface Watch {
  /** Storage's port at this moment. */
  target(): number;
  onRequest(head: Head): Promise<void> | undefined;
  onAnswer(head: Head, status: number, sentAt: number): Promise<void> | undefined;
}

/** A TCP proxy between one instance and storage that can be made a bad network. */
export interface Proxy {
  readonly port: number;
  /** Each request is held back for so long. */
  delay(ms: number): void;
  /** Each request and each answer is lost with this probability, and its connection reset. */
  cut(probability: number, random: () => number): void;
  /** Nothing passes in either direction, and nobody is told. */
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

/** One connection. Its client sends a request at a time, so that an answer belongs to the request before it. */
function relay(client: Socket, storage: Socket, watch: Watch, faults: Faults): void {
  const drop = (): void => {
    client.resetAndDestroy();
    storage.destroy();
  };
  const up = inOrder(drop);
  const down = inOrder(drop);
  const split = requestSplitter();
  let awaited: { readonly head: Head; readonly sentAt: number } | undefined;

  const passRequest = async (head: Head): Promise<void> => {
    if (faults.delayMs > 0) await pause(faults.delayMs);
    await watch.onRequest(head);
    await faults.swallowed?.promise;
    if (faults.lossOf()) throw new DroppedError('a request is lost');
    awaited = { head, sentAt: performance.timeOrigin + performance.now() };
  };
  const passAnswer = async (chunk: Buffer): Promise<void> => {
    if (awaited !== undefined) {
      const { head, sentAt } = awaited;
      awaited = undefined;
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1', 0, 12))?.[1]);
      await watch.onAnswer(head, status, sentAt);
      if (faults.lossOf()) throw new DroppedError('an answer is lost');
    }
    await faults.swallowed?.promise;
    client.write(chunk);
  };
  client.on('data', (chunk: Buffer) => {
    for (const { head, bytes } of split(chunk)) {
      up(async () => {
        if (head !== undefined) await passRequest(head);
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

interface Part {
  /** With the first part of a request. */
  readonly head: Head | undefined;
  readonly bytes: Buffer;
}

/** Cuts what a client sends into requests. */
function requestSplitter(): (chunk: Buffer) => Part[] {
  let pending = Buffer.alloc(0);
  let body = 0;
  return (chunk) => {
    const parts: Part[] = [];
    pending = Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      let take = Math.min(body, pending.length);
      let head: Head | undefined;
      if (body === 0) {
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) break;
        head = parseHead(pending.toString('latin1', 0, end));
        take = end + 4;
        body = Number(head.headers.get('content-length') ?? 0);
        if (head.headers.has('transfer-encoding')) throw new Error(`a request without a length: ${head.target}`);
      } else {
        body -= take;
      }
      parts.push({ head, bytes: pending.subarray(0, take) });
      pending = pending.subarray(take);
    }
    return parts;
  };
}

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [method = '', target = ''] = first.split(' ');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { method, target, headers: new Map(headers) };
}
