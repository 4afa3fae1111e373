import net from 'node:net';
import { listen, type Listener } from './listen';

/** A relay as a name is: new connections lead to the server that it names now, and open ones stay where they are. */
export interface Switch extends Listener {
  leadTo(port: number): void;
}

export async function switchTo(port: number): Promise<Switch> {
  let target = port;
  const listener = await listen((socket) => {
    const upstream = net.connect(target, '127.0.0.1');
    socket.pipe(upstream).pipe(socket);
    socket.on('close', () => upstream.destroy());
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
  });
  return { ...listener, leadTo: (other) => void (target = other) };
}
