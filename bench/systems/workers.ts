import { type Child, type Exit, describeExit, startChild } from '../../src/local/cluster/child';
import type { SystemOptions } from './system';
import path from 'node:path';

/** A worker did not start, or ended on its own. */
export class WorkerError extends Error {
  readonly code = 'Worker';
  override readonly name = 'WorkerError';
}

const STOP_MS = 8_000;

interface ProcessOptions<In, Out> {
  readonly entry: string;
  readonly index: number;
  readonly start: In;
  readonly stop: In;
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the worker has started; a text is the reason why it has not. */
  readonly isReady: (message: Out) => boolean | string;
  readonly onMessage?: (message: Out) => void;
}

/** One process of a system. */
export interface WorkerProcess {
  readonly pid: number;
  readonly ready: Promise<void>;
  readonly exited: Promise<Exit>;
  isRunning(): boolean;
  kill(): void;
  stop(): Promise<void>;
}

/** Starts one worker with its own clock. */
export function startWorker<In extends object, Out>(
  { records, clockShiftsMs, guard, onTrouble, profileInto }: SystemOptions,
  { entry, index, start, stop, execArgv = [], env = {}, isReady, onMessage }: ProcessOptions<In, Out>,
): WorkerProcess {
  const shiftMs = clockShiftsMs[index] ?? 0;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined);
  const child: Child<In> = startChild<In, Out>({
    entry,
    env: {
      ...process.env,
      ...env,
      NODE_OPTIONS: '',
      BENCH_RECORDS: records,
      CHAOS_CLOCK_SHIFT: String(shiftMs),
    },
    execArgv: [
      ...(shiftMs === 0 ? [] : ['--require', path.join(__dirname, 'shift-clock.js')]),
      ...(profileInto === undefined || index > 0 ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileInto}`]),
      ...execArgv,
    ],
    onMessage(message) {
      const isStarted = isReady(message);
      if (isStarted === true) ready.resolve();
      else if (typeof isStarted === 'string') ready.reject(new WorkerError(isStarted));
      onMessage?.(message);
    },
    onLine: (line, stream) => void (stream === 'stderr' && onTrouble(line)),
  });
  guard.watch(child);
  let hasEnded = false;
  void child.exited.then((exit) => {
    hasEnded = true;
    ready.reject(new WorkerError(`${entry} ended during its start (${describeExit(exit)})`));
  });
  child.send(start);
  return {
    pid: child.pid,
    ready: ready.promise,
    exited: child.exited,
    isRunning: () => !hasEnded,
    kill: () => child.kill('SIGKILL'),
    async stop() {
      child.send(stop);
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await child.exited;
      clearTimeout(force);
    },
  };
}

/** What the workers of every system have in common. Ends them all if one cannot start. */
export async function allStarted(workers: readonly WorkerProcess[]): Promise<{
  readonly pids: () => readonly number[];
  readonly kill: (pid: number) => void;
  readonly stop: () => Promise<void>;
}> {
  try {
    await Promise.all(workers.map(({ ready }) => ready));
  } catch (error) {
    for (const worker of workers) worker.kill();
    await Promise.all(workers.map(({ exited }) => exited));
    throw error;
  }
  return {
    pids: () => workers.filter((worker) => worker.isRunning()).map(({ pid }) => pid),
    kill: (pid) => workers.find((worker) => worker.pid === pid)?.kill(),
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}
