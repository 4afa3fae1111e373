import { given } from '../../core/given';
import { type CoordinatorEvent, EVENT_PREFIX } from '../../core/event';
import { parsedJson } from '../../core/metadata';
import type { LogLine } from '../host/core-api';
import { type Child, ClusterError, describeExit, type Guard, startChild } from './child';
import type { FromHost, InstanceFacts, StartOptions, ToHost } from './messages';

type Told = Omit<CoordinatorEvent, 'event' | 'job' | 'at' | 'scheduledFor' | 'through' | 'trigger' | 'traceId'>;

/** An event, as one line of `cronlease dev --json`: the coordinator's, with times in ISO 8601, or one of the cluster. */
export interface ClusterEvent extends Told {
  readonly event: string;
  readonly at: string;
  readonly deployment: string;
  readonly pid: number;
  readonly job?: string;
  readonly scheduledFor?: string;
  readonly through?: string;
}

export interface ClusterInstance extends InstanceFacts {
  readonly pid: number;
  readonly deployment: string;
}

interface DeploymentOptions extends Omit<StartOptions, 'handOverDelayMs'> {
  readonly name: string;
  /** The locks on timers, if it has several instances. */
  readonly timerLocks?: TimerLocks | undefined;
  /** Port for a debugger (0: any free one); undefined: none. */
  readonly inspectPort: number | undefined;
  /** Whether its instance is restarted 5 s after it ended. */
  readonly restart: boolean;
  readonly guard: Guard;
  readonly onEvent: (event: ClusterEvent) => void;
  readonly onLog: (line: LogLine, deployment: string) => void;
}

export interface Deployment {
  readonly name: string;
  answering(): ClusterInstance | undefined;
  /** Starts its first instance. Rejects with `ClusterError` if that fails, and does not retry. */
  start(): Promise<void>;
  /** Drains its instance, and restarts it. Rejects with `ClusterError` if that fails, and does not retry. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const RESTART_MS = 5000;

/** Parses an event from a line of the log; undefined: it is an ordinary line. */
export function parseEvent(message: string, deployment: string, pid: number): ClusterEvent | undefined {
  if (!message.startsWith(EVENT_PREFIX)) return undefined;
  // Any line may begin with that word.
  const json = parsedJson(message.slice(EVENT_PREFIX.length));
  if (typeof json !== 'object' || json === null || !('event' in json) || !('at' in json)) return undefined;
  const { event, at, ...rest } = json;
  return { event: String(event), at: String(at), deployment, ...rest, pid };
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

async function drain(child: Child<ToHost> | undefined): Promise<void> {
  if (child === undefined) return;
  child.send({ kind: 'stop' });
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await child.exited;
  clearTimeout(force);
}

/** An instance that starts. Its facts come once the app is loaded and the host listens. */
interface Starting {
  readonly child: Child<ToHost>;
  /** Rejects with {@link ClusterError} if it cannot start. */
  readonly ready: Promise<InstanceFacts>;
}

function startInstance(
  options: DeploymentOptions,
  port: number,
  onLog: (line: LogLine, pid: number) => void,
): Starting {
  const { name, inspectPort, timerLocks } = options;
  const ready = Promise.withResolvers<InstanceFacts>();
  const child = startChild<ToHost, FromHost>({
    entry: 'host-process',
    env: { ...MEMORY_ENV, ...process.env },
    execArgv: [...EXEC_ARGV, ...(inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectPort}`])],
    onMessage(message) {
      if (message.kind === 'ready') {
        const { kind: _, ...facts } = message;
        ready.resolve(facts);
      } else if (message.kind === 'takeTimerLock') {
        const held = timerLocks?.take(message.functionName, child.pid, message.periodMs) ?? true;
        child.send({ kind: 'timerLock', id: message.id, held });
      } else if (message.kind === 'releaseTimerLock') timerLocks?.release(message.functionName, child.pid);
      else if (message.kind === 'log') for (const line of message.lines) onLog(line, child.pid);
      else if (message.kind === 'failed') ready.reject(new ClusterError(message.message));
    },
    onLine(message, stream) {
      if (stream === 'stdout' || !NODE_CHATTER.test(message)) onLog(printedLine(message, stream), child.pid);
    },
  });
  const { app, main, settings, defaults, strict, hubFolder } = options;
  const sharesTimers = timerLocks !== undefined;
  child.send({ kind: 'start', options: { app, main, port, settings, defaults, strict, hubFolder, sharesTimers } });
  void child.exited.then((exit) => {
    ready.reject(new ClusterError(`${name} ended during its start (${describeExit(exit)}).`));
  });
  return { child, ready: ready.promise };
}

export function createDeployment(options: DeploymentOptions): Deployment {
  const { name } = options;
  let { port } = options;
  let running: Child<ToHost> | undefined;
  let answering: ClusterInstance | undefined;
  let restart: NodeJS.Timeout | undefined;
  let stopped = false;
  /** Counts the requested restarts: news of an earlier start is out of date. */
  let round = 0;

  const emit = (event: string, pid: number, reason?: string): void => {
    const at = new Date().toISOString();
    options.onEvent({ event, at, deployment: name, pid, ...given({ reason }) });
  };

  const launch = async (): Promise<ClusterInstance> => {
    const ofRound = round;
    const { child, ready } = startInstance(options, port, (line, pid) => {
      const event = parseEvent(line.message, name, pid);
      if (event === undefined) options.onLog(line, name);
      else options.onEvent(event);
    });
    running = child;
    options.guard.watch(child);
    void child.exited.then((exit) => {
      if (running !== child) return;
      const answered = answering !== undefined;
      running = undefined;
      answering = undefined;
      // A requested end is not an event, and `ready` reports a start that failed.
      if (stopped || ofRound !== round || !answered) return;
      emit('instanceExited', child.pid, describeExit(exit));
      if (options.restart) relaunchLater();
    });
    const facts = await ready;
    // The next start uses the same port.
    port = facts.port;
    return (answering = { ...facts, pid: child.pid, deployment: name });
  };

  const relaunchLater = (): void => {
    restart = setTimeout(() => void relaunch(), RESTART_MS);
  };
  const relaunch = async (): Promise<void> => {
    const ofRound = round;
    try {
      const { pid } = await launch();
      emit('instanceStarted', pid);
    } catch (error) {
      if (stopped || ofRound !== round) return;
      const message = `${(error as Error).message}\nThe next try follows in ${RESTART_MS / 1000} s.`;
      options.onLog({ level: 'error', message }, name);
      relaunchLater();
    }
  };

  return {
    name,
    answering: () => answering,
    async start() {
      await launch();
    },
    async restart() {
      round += 1;
      clearTimeout(restart);
      await drain(running);
      if (stopped) return;
      const { pid } = await launch();
      emit('instanceStarted', pid, 'reloaded');
    },
    async stop() {
      stopped = true;
      clearTimeout(restart);
      await drain(running);
    },
    async kill() {
      stopped = true;
      clearTimeout(restart);
      running?.kill('SIGKILL');
      await running?.exited;
    },
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
