import net, { type AddressInfo, type Socket } from 'node:net';

export interface Listener {
  readonly port: number;
  close(): void;
}

/** Something that listens on loopback where a server could. */
export async function listen(onConnection: (socket: Socket) => void): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export type Cut = 'never' | 'before' | 'after';

export interface CutRelay extends Listener {
  /** @param passing so many answers come through before the cut */
  cutting(when: Cut, passing?: number): void;
}

/** A relay to the server that cuts a connection before a call reaches the server, or after the server has answered it. */
export async function cutRelay(port: number): Promise<CutRelay> {
  let cut: Cut = 'never';
  let left = 0;
  const listener = await listen((socket) => {
    const upstream = net.connect(port, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      upstream.destroy();
    };
    socket.on('data', (data) => {
      if (cut === 'before') end();
      else upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (cut === 'after' && left === 0) end();
      else socket.write(data);
      left = Math.max(0, left - 1);
    });
    socket.on('close', end);
    upstream.on('close', end).on('error', end);
  });
  return {
    ...listener,
    cutting: (when, passing = 0) => {
      cut = when;
      left = passing;
    },
  };
}

/** A relay to the server that changes its answers, each of which keeps its length. */
export function rewritingRelay(port: number, rewrite: (answer: string) => string): Promise<Listener> {
  return listen((socket) => {
    const upstream = net.connect(port, '127.0.0.1');
    socket.pipe(upstream);
    upstream.on('data', (data) => socket.write(rewrite(data.toString('latin1')), 'latin1'));
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => socket.destroy()).on('error', () => socket.destroy());
  });
}
