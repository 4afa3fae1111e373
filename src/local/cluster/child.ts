import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import type { ToGuard } from './messages';

/** The cluster cannot start or continue. The message gives the reason and the remedy. */
export class ClusterError extends Error {
  readonly code = 'Cluster';
  override readonly name = 'ClusterError';
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export function describeExit({ code, signal }: Exit): string {
  return signal ?? `exit code ${code ?? 'unknown'}`;
}

/** A process of the cluster, started from one of its entry files. */
export interface Child<In> {
  readonly pid: number;
  /** Resolves once the process has ended and all its messages have arrived. Never rejects. */
  readonly exited: Promise<Exit>;
  send(message: In): void;
  kill(signal: NodeJS.Signals): void;
}

interface ChildOptions<Out> {
  /** Name of a file beside this one, without its extension. */
  readonly entry: string;
  readonly execArgv?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly onMessage?: (message: Out) => void;
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
}

/** The longest wait for the rest of a dead process's output. */
const DRAIN_MS = 500;

function forEachLine(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line.replace(/\r$/, ''));
  });
  stream?.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    let exit: Exit = { code: null, signal: null };
    let drain: NodeJS.Timeout | undefined;
    const done = (): void => {
      clearTimeout(drain);
      resolve(exit);
    };
    child.once('exit', (code, signal) => {
      exit = { code, signal };
      // A grandchild may keep the pipes open forever.
      drain = setTimeout(done, DRAIN_MS);
    });
    child.once('close', done);
    child.once('error', done);
  });
}

export function startChild<In extends object, Out>(options: ChildOptions<Out>): Child<In> {
  const child = fork(path.join(__dirname, `${options.entry}.js`), [], {
    // The child inherits no options of this process: no debugger, no loaders.
    execArgv: [...(options.execArgv ?? [])],
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'json',
  });
  child.on('message', (message) => options.onMessage?.(message as Out));
  forEachLine(child.stdout, (line) => options.onLine?.(line, 'stdout'));
  forEachLine(child.stderr, (line) => options.onLine?.(line, 'stderr'));
  return {
    pid: child.pid ?? 0,
    exited: exitOf(child),
    send(message) {
      // The child may have just ended: `exited` reports that.
      if (child.connected) child.send(message, () => undefined);
    },
    kill: (signal) => void child.kill(signal),
  };
}

/** Ends processes and removes folders that would outlive this process. Decision 118. */
export interface Guard {
  watch(child: Pick<Child<never>, 'pid' | 'exited'>): void;
  /** Removes the folder if this process dies before {@link Guard.end}. Otherwise its owner removes it. */
  remove(folder: string): void;
  /** Ends the guard. Call it once all processes that it watches have ended. */
  end(): Promise<Exit>;
}

export function startGuard(): Guard {
  const child = startChild<ToGuard, never>({ entry: 'guard-process' });
  return {
    watch({ pid, exited }) {
      child.send({ kind: 'watch', pid });
      // Another process may get its id.
      void exited.then(() => child.send({ kind: 'forget', pid }));
    },
    remove(folder) {
      child.send({ kind: 'remove', folder });
    },
    end() {
      child.kill('SIGKILL');
      return child.exited;
    },
  };
}
