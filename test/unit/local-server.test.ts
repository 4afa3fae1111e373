import { mkdtempSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findProgram, freePort, startServer } from '../../src/local/servers/server';
import type { Guard } from '../../src/local/cluster/child';

const watched: number[] = [];
const guard: Pick<Guard, 'watch'> = { watch: ({ pid }) => void watched.push(pid) };

async function start(program: string, ...args: string[]) {
  const port = await freePort();
  const options = { folder: mkdtempSync(`${tmpdir()}/bench-`), guard: guard as Guard, port, program };
  return { port, server: startServer({ ...options, args: args.map((arg) => arg.replace('PORT', String(port))) }) };
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

describe('free ports', () => {
  it('are given once: a server may need several', async () => {
    const ports: number[] = [];
    for (let count = 0; count < 1_000; count += 1) ports.push(await freePort());
    expect(new Set(ports).size).toBe(1_000);
  });
});

// Another process may take the free port before the server does.
describe('a server of the benchmark', { retry: 2 }, () => {
  it('has started once it accepts connections, is watched, and ends', async () => {
    const { port, server } = await start(
      process.execPath,
      '-e',
      "setTimeout(() => require('net').createServer().listen(PORT, '127.0.0.1'), 100)",
    );
    const { pid, stop } = await server;
    expect(await connects(port)).toBe(true);
    expect(watched).toContain(pid);
    await stop();
    expect(await connects(port)).toBe(false);
  });

  it('that ends during its start is reported with what it said', async () => {
    const { server } = await start(process.execPath, '-e', "console.error('no such folder'); process.exit(1)");
    await expect(server).rejects.toThrow(/ended during its start\.\nno such folder/);
  });

  it('that is not installed is reported, too', async () => {
    const { server } = await start('/nowhere/redis-server');
    await expect(server).rejects.toThrow(/ENOENT/);
  });

  it('is found where programs are, and nowhere else', () => {
    expect(findProgram('sh')).toMatch(/\/sh$/);
    expect(findProgram('no-such-server')).toBeUndefined();
  });
});
