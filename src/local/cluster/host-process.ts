/**
 * Entry of a host process: one instance of one deployment. The cluster starts it, and sends it the options over IPC. It
 * never outlives the cluster's process, however that one ends.
 */
import inspector from 'node:inspector';
import { thrown } from '../durable/hub-state';
import { AppLoadError } from '../host/app-folder';
import { type Host, startHost } from '../host/host';
import { PortInUseError } from '../host/http-server';
import type { LogLine } from '../host/core-api';
import type { HostedFunction } from '../host/functions';
import type { TimerLock } from '../host/timer';
import type { FromHost, FunctionSeen, ToHost } from './messages';

/** Exit codes besides 0 (drained) and 1 (an exception that nothing caught). */
const CANNOT_START = 3;
const TIMED_OUT = 4;
const PARENT_GONE = 5;
/** A route with all of these is listed without them. */
const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

// Stack traces then show the original sources, even if the build is one file.
process.setSourceMapsEnabled(true);

let host: Promise<Host> | undefined;
let stopping = false;
/** Aborted when the cluster itself ends: then no other instance could continue the work of this host. */
const hurry = new AbortController();

/** The lines of this turn of the event loop, which one message carries. */
let lines: LogLine[] = [];

function log(line: LogLine): void {
  if (lines.push(line) === 1) setImmediate(sendLines);
}

function sendLines(): void {
  if (lines.length === 0) return;
  const sent = lines;
  lines = [];
  send({ kind: 'log', lines: sent });
}

function send(message: FromHost, sent?: () => void): void {
  sendLines();
  if (process.connected) process.send?.(message, undefined, undefined, () => sent?.());
  else sent?.();
}

/** Ends the process once all earlier messages have left it. */
function exit(code: number): void {
  send({ kind: 'ending' }, () => process.exit(code));
}

const lockAnswers = new Map<number, (held: boolean) => void>();
let lockRequests = 0;

/** The cluster's process has the locks that the instances of one app share. */
const timerLock: TimerLock = {
  take(functionName, periodMs) {
    const id = (lockRequests += 1);
    return new Promise((resolve) => {
      lockAnswers.set(id, resolve);
      send({ kind: 'takeTimerLock', id, functionName, periodMs });
    });
  },
  release: (functionName) => send({ kind: 'releaseTimerLock', functionName }),
};

function lockAnswered({ id, held }: Extract<ToHost, { kind: 'timerLock' }>): void {
  lockAnswers.get(id)?.(held);
  lockAnswers.delete(id);
}

async function start({ options }: Extract<ToHost, { kind: 'start' }>): Promise<void> {
  host = startHost({
    ...options,
    timerLock: options.sharesTimers === true ? timerLock : undefined,
    log,
    onTimeout: () => exit(TIMED_OUT),
  });
  try {
    const { port, functions } = await host;
    send({ kind: 'ready', port, inspectorUrl: inspector.url(), functions: functions.map(seen) });
  } catch (error) {
    const { message, stack } = thrown(error);
    const isForPeople = error instanceof AppLoadError || error instanceof PortInUseError;
    send({ kind: 'failed', message: isForPeople ? message : stack });
    exit(CANNOT_START);
  }
}

function seen(fn: HostedFunction): FunctionSeen {
  const { name } = fn;
  return fn.kind === 'http' ? { name, route: `${methodsOf(fn.methods)} /${fn.route.template}`.trim() } : { name };
}

function methodsOf(methods: readonly string[]): string {
  return ALL_METHODS.every((one) => methods.includes(one)) ? 'any method' : methods.join(',');
}

async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  try {
    await (await host)?.stop(hurry.signal);
  } catch {
    // start() has reported that the host did not start, and ends the process.
    return;
  }
  exit(0);
}

function stopNow(): void {
  hurry.abort();
  void stop();
}

process.on('message', (message: ToHost) => {
  if (message.kind === 'start') void start(message);
  else if (message.kind === 'timerLock') lockAnswered(message);
  else stopNow();
});
// An exception that nothing catches ends the process within the turn.
process.on('exit', sendLines);
process.on('disconnect', () => process.exit(PARENT_GONE));
// Ctrl+C reaches the whole process group.
process.on('SIGINT', stopNow);
// Azure ends an instance with this signal.
process.on('SIGTERM', () => void stop());
// When the parent has ended, nothing reads the app's output. The end of the IPC channel ends this process.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
