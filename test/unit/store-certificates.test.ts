import { once } from 'node:events';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { rotating } from '../../src/stores/http/members';
import { scratchFolder } from '../support/scratch';

const FILES = path.join(__dirname, '../support/certificate');
/** Two certificates of this machine, each with its key. */
const FIRST = { cert: 'certificate.pem', key: 'key.pem' };
const SECOND = { cert: 'localhost.pem', key: 'localhost-key.pem' };

const pairOf = ({ cert, key }: typeof FIRST) => ({
  cert: readFileSync(path.join(FILES, cert)),
  key: readFileSync(path.join(FILES, key)),
});

const servers: https.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A member with a certificate, and exchanges with it that trust what is in a file. */
async function member() {
  const cacert = path.join(scratchFolder('certificates'), 'roots.pem');
  copyFileSync(path.join(FILES, FIRST.cert), cacert);
  const server = https.createServer(pairOf(FIRST), (_, response) => response.end('{}'));
  servers.push(server);
  let connections = 0;
  server.on('secureConnection', () => (connections += 1));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const tls = { cacert, cert: undefined, key: undefined };
  const post = rotating({ members: [{ host: '127.0.0.1', port }], tls }, () => true);
  return {
    server,
    cacert,
    connections: () => connections,
    ask: (read = ({ status }: { readonly status: number }): unknown => status) =>
      post({ method: 'GET', path: '/', signal: new AbortController().signal }, read),
  };
}

describe('the certificates of a store that is asked by HTTP', () => {
  it('are read again after an error: their files are replaced while a process runs', async () => {
    const { server, cacert, ask } = await member();
    expect(await ask()).toBe(200);
    server.setSecureContext(pairOf(SECOND));
    server.closeAllConnections();
    await expect(ask()).rejects.toThrow();
    copyFileSync(path.join(FILES, SECOND.cert), cacert);
    expect(await ask()).toBe(200);
  });

  it('stay in use while their files are missing', async () => {
    const { server, cacert, ask } = await member();
    expect(await ask()).toBe(200);
    rmSync(cacert);
    server.closeAllConnections();
    await expect(ask()).rejects.toThrow();
    expect(await ask()).toBe(200);
  });

  it('cost no connection while they are the same', async () => {
    const { connections, ask } = await member();
    for (let times = 0; times < 3; times += 1) {
      await expect(
        ask(() => {
          throw new Error('at fault');
        }),
      ).rejects.toThrow('at fault');
    }
    expect(await ask()).toBe(200);
    expect(connections()).toBe(1);
  });
});
