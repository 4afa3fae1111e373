import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { expect, vi } from 'vitest';
import type { DevOptions } from '../../src/cli/dev/run-dev';

export interface DevEvent {
  readonly event: string;
  readonly [member: string]: unknown;
}

export interface Ready extends DevEvent {
  readonly storage: string;
  readonly container: string;
  readonly instances: readonly { readonly pid: number; readonly port: number; readonly deployment: string }[];
}

/** A running `cronlease dev --json`, the leader of a separate process group. */
export interface DevRun {
  readonly pid: number;
  /** Its standard output so far. */
  readonly events: readonly DevEvent[];
  stderr(): string;
  ready(): Promise<Ready>;
  /** The first event that meets `is`. */
  event(is: (event: DevEvent) => boolean, withinMs?: number): Promise<DevEvent>;
  exited(): Promise<number | NodeJS.Signals>;
  /** Its processes: instances, Azurite, guard. */
  children(): number[];
}

const running = new Set<ChildProcess>();

/** Ends the processes that a failed test left behind. */
export function endAll(): void {
  for (const child of running) {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A dead process stays in the list of processes until its new parent collects it.
  return !(process.platform === 'linux' && /\) Z/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

export async function allGone(pids: readonly number[], withinMs = 60_000): Promise<void> {
  await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: withinMs, interval: 20 });
}

/** Without a port, on any free ports; with `port: undefined`, as without the option. */
export function startDev(
  main: string,
  options: Omit<DevOptions, 'port'> & { readonly port?: number | undefined },
  env: NodeJS.ProcessEnv = {},
): DevRun {
  const child = spawn(process.execPath, [main, JSON.stringify({ json: true, port: 0, ...options })], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const events: DevEvent[] = [];
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (out + text).split('\n');
    out = lines.pop() ?? '';
    for (const line of lines) events.push(JSON.parse(line) as DevEvent);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const exit = new Promise<number | NodeJS.Signals>((resolve) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve(signal ?? code ?? -1);
    });
  });
  // A start takes a minute on a machine that does much else.
  const event: DevRun['event'] = (is, withinMs = 110_000) =>
    vi.waitFor(
      () => {
        const found = events.find(is);
        if (found === undefined) throw new Error(`No such event. ${JSON.stringify(events)}\n${err}`);
        return found;
      },
      { timeout: withinMs, interval: 10 },
    );
  const pid = child.pid ?? 0;
  return {
    pid,
    events,
    stderr: () => err,
    event,
    ready: async () => (await event(({ event: name }) => name === 'ready')) as Ready,
    exited: () => exit,
    children: () =>
      execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
        .trim()
        .split(/\s+/)
        .map(Number),
  };
}
