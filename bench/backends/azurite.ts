import http from 'node:http';
import { json } from 'node:stream/consumers';
import path from 'node:path';
import { startAzurite } from '../../src/local/cluster/azurite';
import type { Backend, BackendOptions } from './backend';
import { CALLS_PATH } from './kind-of-call';

/** The storage emulator as `cronlease dev` starts it, in memory, with a count of its requests. */
export async function azuriteBackend({ guard }: BackendOptions): Promise<Backend> {
  const azurite = await startAzurite(__dirname, undefined, ['--require', path.join(__dirname, 'count-calls.js')]);
  guard.watch(azurite);
  // One connection, opened now: a busy emulator may refuse another one.
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const port = /127\.0\.0\.1:(\d+)/.exec(azurite.connectionString)?.[1] ?? '';
  await readCalls(port, agent);
  return {
    address: azurite.connectionString,
    pids: [azurite.pid],
    calls: () => readCalls(port, agent),
    async stop() {
      agent.destroy();
      await azurite.kill();
    },
  };
}

async function readCalls(port: string, agent: http.Agent): Promise<Record<string, number>> {
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ host: '127.0.0.1', port, path: CALLS_PATH, agent }, resolve).once('error', reject);
  });
  return (await json(answer)) as Record<string, number>;
}
