import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { vi } from 'vitest';

export const root = path.join(__dirname, '../..');

/** A Node process whose lines are kept. */
export interface Program {
  readonly pid: number;
  readonly lines: readonly string[];
  readonly exited: Promise<number | NodeJS.Signals>;
  signal(name: NodeJS.Signals): void;
}

const running = new Set<ChildProcess>();

/** Ends the programs that still run, whether the test passed or not. Their child processes end with them. */
export function endPrograms(): void {
  for (const child of running) {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
  }
}

export function startProgram(
  file: string,
  parameters: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Program {
  const child = spawn(process.execPath, [path.join(root, file), ...parameters], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
    });
  }
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve(signal ?? code ?? -1);
    });
  });
  return { pid: child.pid ?? 0, lines, exited, signal: (name) => void child.kill(name) };
}

/** Waits until `find` finds a value, and returns it. */
export function eventually<T>(what: string, find: () => T | undefined, withinMs = 90_000): Promise<T> {
  return vi.waitFor(
    () => {
      const found = find();
      if (found === undefined) throw new Error(`not seen: ${what}`);
      return found;
    },
    { timeout: withinMs, interval: 20 },
  );
}
