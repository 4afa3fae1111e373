import net from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { freePorts } from '../../src/local/cluster/cluster';

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function take(port: number): Promise<number> {
  const server = net.createServer();
  servers.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as net.AddressInfo).port;
}

// Another process may take one of the ports that were found.
it('finds ports in a row beyond a taken one, and names it', { retry: 2 }, async () => {
  const taken = await take(0);
  const found = await freePorts(3, taken - 1);
  expect(found?.taken).toBeDefined();
  expect([taken - 1, taken]).toContain(found?.taken);
  const first = found?.first ?? 0;
  expect(first).toBeGreaterThan(taken);
  expect((first - taken + 1) % 10).toBe(0);
  for (const port of [first, first + 1, first + 2]) expect(await take(port)).toBe(port);
});

it('tries ranges that do not overlap', async () => {
  const taken = await take(0);
  const found = await freePorts(12, taken - 11);
  expect((found?.first ?? 0) - (taken - 11)).toBeGreaterThanOrEqual(20);
});

it('finds none above the highest port', async () => {
  expect(await freePorts(2, 65_535)).toBeUndefined();
});
