import { once } from 'node:events';
import net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { limited } from '../../src/stores/metered';
import { connectionsOf } from '../../src/stores/redis/connections';
import { serverOf } from '../../src/stores/redis/settings';
import { systemClock } from '../../src/system-clock';

/** A server that answers each command but HANG. */
async function listening() {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (!data.includes('HANG')) socket.write('+OK\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  return { url: `redis://127.0.0.1:${port}?waitReplicas=1`, connections: () => connections };
}

it('After a call to Redis without an answer in time, all connections lead to where the name leads by then', async () => {
  const { url, connections } = await listening();
  const connection = connectionsOf({ server: serverOf(url), clock: systemClock, connectMs: 5_000 });
  const call = (command: string, callTimeoutMs: number) =>
    limited({ clock: systemClock, callTimeoutMs }, command, undefined, (signal) =>
      connection(signal, (send) => send(command)),
    );
  await Promise.all([call('PING', 5_000), call('PING', 5_000)]);
  expect(connections()).toBe(2);
  await expect(call('HANG', 50)).rejects.toMatchObject({ code: 'StoreUnavailable' });
  await Promise.all([call('PING', 5_000), call('PING', 5_000)]);
  expect(connections()).toBe(4);
});
