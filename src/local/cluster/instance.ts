import type { LogLine } from '../host/core-api';
import { type Child, describeExit, type Exit, startChild, ClusterError } from './child';
import type { FromHost, InstanceFacts, StartOptions, ToHost } from './messages';

export interface InstanceOptions extends Omit<StartOptions, 'handOverDelayMs'> {
  readonly name: string;
  /** The locks on timers, if its deployment has several instances. */
  readonly timerLocks?: TimerLocks | undefined;
  /** Port for a debugger (0: any free one); undefined: none. */
  readonly inspectPort: number | undefined;
  readonly onLog: (line: LogLine) => void;
}

export interface RunningInstance {
  readonly pid: number;
  /** Resolves once the app is loaded and the host listens. Rejects with {@link ClusterError} if it cannot start. */
  readonly ready: Promise<InstanceFacts>;
  readonly exited: Promise<Exit>;
  /** Drains the process and ends it, after 7 s by force. */
  stop(): Promise<Exit>;
  kill(): void;
}

/** Longer than a host gives its `appTerminate` hooks. */
const STOP_MS = 7000;

/**
 * Several instances share one machine. A heap that grows slowly, few threads and few memory arenas keep a busy instance
 * near 180 MB. A young generation of less than this costs a third more CPU for each run.
 */
export const EXEC_ARGV = ['--max-semi-space-size=16', '--heap-growing-percent=20', '--v8-pool-size=1'];
export const MEMORY_ENV = { MALLOC_ARENA_MAX: '2' };

/** Node's own lines about a debugger, and those around its warnings. */
const NODE_CHATTER =
  /^(Debugger (listening|attached|ending)|For help, see: https:\/\/nodejs\.org|Waiting for the debugger|\(Use `node --trace-)/;

/** A line of the process. As in the real host, standard error means an error, except for lines with "warn". */
function printedLine(message: string, stream: 'stdout' | 'stderr'): LogLine {
  if (stream === 'stdout') return { level: 'information', message };
  return { level: /^\(node:\d+\) |warn/i.test(message) ? 'warning' : 'error', message };
}

async function stopWithin(child: Child<ToHost>): Promise<Exit> {
  child.send({ kind: 'stop' });
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  const exit = await child.exited;
  clearTimeout(force);
  return exit;
}

export function startInstance(options: InstanceOptions): RunningInstance {
  const ready = Promise.withResolvers<InstanceFacts>();
  // A caller that does not wait for `ready` sees a failed start by `exited`.
  ready.promise.catch(() => undefined);
  const child = startChild<ToHost, FromHost>({
    entry: 'host-process',
    env: { ...MEMORY_ENV, ...process.env },
    execArgv: [
      ...EXEC_ARGV,
      ...(options.inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${options.inspectPort}`]),
    ],
    onMessage(message) {
      if (message.kind === 'ready') {
        const { kind: _, ...facts } = message;
        ready.resolve(facts);
      } else if (message.kind === 'takeTimerLock') {
        const held = options.timerLocks?.take(message.functionName, child.pid, message.periodMs) ?? true;
        child.send({ kind: 'timerLock', id: message.id, held });
      } else if (message.kind === 'releaseTimerLock') options.timerLocks?.release(message.functionName, child.pid);
      else if (message.kind === 'log') for (const line of message.lines) options.onLog(line);
      else if (message.kind === 'failed') ready.reject(new ClusterError(message.message));
    },
    onLine(message, stream) {
      if (stream === 'stdout' || !NODE_CHATTER.test(message)) options.onLog(printedLine(message, stream));
    },
  });
  const { app, main, port, settings, defaults, strict, hubFolder } = options;
  child.send({
    kind: 'start',
    options: { app, main, port, settings, defaults, strict, hubFolder, sharesTimers: options.timerLocks !== undefined },
  });
  void child.exited.then((exit) => {
    ready.reject(new ClusterError(`${options.name} ended during its start (${describeExit(exit)}).`));
  });
  return {
    pid: child.pid,
    ready: ready.promise,
    exited: child.exited,
    stop: () => stopWithin(child),
    kill: () => child.kill('SIGKILL'),
  };
}

/**
 * The locks on timer functions that the instances of one app share, as leases of blobs are on Azure: a lock lasts for its
 * period after the last renewal, whether or not its owner lives.
 */
export interface TimerLocks {
  /** Takes a lock, or renews it. Returns whether `owner` holds it now. */
  take(lock: string, owner: number, periodMs: number): boolean;
  release(lock: string, owner: number): void;
}

/** @param now monotonic, in ms */
export function createTimerLocks(now: () => number): TimerLocks {
  const locks = new Map<string, { readonly owner: number; readonly until: number }>();
  return {
    take(lock, owner, periodMs) {
      const held = locks.get(lock);
      if (held !== undefined && held.owner !== owner && held.until > now()) return false;
      locks.set(lock, { owner, until: now() + periodMs });
      return true;
    },
    release(lock, owner) {
      if (locks.get(lock)?.owner === owner) locks.delete(lock);
    },
  };
}
