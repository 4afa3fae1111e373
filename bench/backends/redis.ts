import net from 'node:net';
import type { Backend, BackendOptions } from './backend';
import { findProgram, freePort, startServer } from '../../src/local/servers/server';

/** Redis without persistence: the fastest way to run it. */
export async function redisBackend(options: BackendOptions): Promise<Backend> {
  const port = await freePort();
  const server = await startServer({
    ...options,
    program: findProgram('redis-server') ?? 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', options.folder],
    port,
  });
  return {
    address: `127.0.0.1:${String(port)}`,
    pids: [server.pid],
    calls: async () => ({ commands: commandsOf(await ask(port, 'INFO stats\r\nQUIT\r\n')) }),
    stop: server.stop,
  };
}

function ask(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request));
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.once('error', reject).once('close', () => resolve(answer));
  });
}

export function commandsOf(info: string): number {
  const [, count] = /total_commands_processed:(\d+)/.exec(info) ?? [];
  if (count === undefined) throw new Error(`Redis has not counted its commands: ${info.slice(0, 300)}`);
  return Number(count);
}
