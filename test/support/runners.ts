import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import type { CoordinatedApp } from './coordinated';

/** A process with a runner. */
export interface RunnerProcess {
  readonly pid: number;
  /** All that it has printed so far. */
  output(): string;
  /** Sends the signal and waits for the end: the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

const running = new Set<ChildProcess>();

/** Starts the program of `coordinatedApp(jobs, { program: 'runner' })` as a deployment of this name. */
export function startRunner(
  app: CoordinatedApp,
  deployment: string,
  env: Readonly<Record<string, string>>,
): RunnerProcess {
  const child = spawn(process.execPath, ['app.js'], {
    cwd: app.folder,
    env: { ...process.env, CRONLEASE_SWEEP_INTERVAL: '2s', ...app.env, ...env, CRONLEASE_DEPLOYMENT: deployment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  expect(child.pid).toBeDefined();
  return {
    pid: child.pid ?? 0,
    output: () => output,
    async end(signal) {
      const ended = once(child, 'exit');
      child.kill(signal);
      const [code, by] = (await ended) as [number | null, NodeJS.Signals | null];
      return code ?? by;
    },
  };
}

/** Ends the processes that a failed test left behind. */
export function endRunners(): void {
  for (const child of running) child.kill('SIGKILL');
}
