import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMs } from '../figures/processes';

interface ClusterOptions {
  readonly root: string;
  readonly app: string;
  /** How many jobs it has. */
  readonly jobs: number;
  readonly env: Readonly<Record<string, string>>;
}

/** A cluster whose jobs run. */
export interface Cluster {
  /** The CPU in ms that its instance has used so far, and how many runs they have completed. */
  used(): { readonly cpu: number; readonly runs: number };
  stop(): Promise<void>;
}

interface Line {
  readonly event?: string;
  readonly instances?: readonly { readonly pid: number }[];
}

const STARTED_WITHIN_MS = 120_000;

/** Starts a cluster of one instance. Resolves once as many runs are over as there are jobs. Decision 113. */
export async function startCluster({ root, app, jobs, env }: ClusterOptions): Promise<Cluster> {
  const main = path.join(root, 'dist/lib/cli/main.js');
  // One instance: of two, the share of the races that each wins differs from start to start, and so does the CPU.
  const command = [main, 'dev', '--app', app, '--instances', '1', '--port', '0', '--json'];
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  let runs = 0;
  let pids: readonly number[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.event === 'succeeded') runs += 1;
    if (line.event === 'ready') pids = (line.instances ?? []).map(({ pid }) => pid);
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  const deadline = performance.now() + STARTED_WITHIN_MS;
  while (runs < jobs) {
    if (performance.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error(`the cluster did not start: ${errors}`);
    }
    await pause(100);
  }
  return { used: () => ({ cpu: cpuMs(pids), runs }), stop };
}
