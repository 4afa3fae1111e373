import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { type Child, describeExit, type Exit, startChild, type Guard } from '../../src/local/cluster/child';
import { type ClusterEvent, parseEvent } from '../../src/local/cluster/deployment';
import type { FromHost, ToHost } from '../../src/local/cluster/messages';

export interface InstanceOptions {
  readonly deployment: string;
  readonly app: string;
  readonly settings: Readonly<Record<string, string>>;
  /** How far its wall clock is ahead. */
  readonly clockShiftMs: number;
  readonly guard: Guard;
  readonly onEvent: (event: ClusterEvent) => void;
}

/** One host process: the only instance of its deployment. */
export interface Instance {
  readonly deployment: string;
  readonly pid: number;
  readonly ready: Promise<void>;
  /** Once it is ready: where it answers. */
  readonly port: Promise<number>;
  readonly exited: Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
  /** Drains it without waiting for what it does, as the end of `cronlease dev` does. */
  stop(): void;
}

/** Starts the embedded host as `cronlease dev` does, with its own clock and its log in a file. */
export function startInstance(options: InstanceOptions): Instance {
  const { deployment, app } = options;
  const log = createWriteStream(path.join(app, `${deployment}.log`), { flags: 'a' });
  const ready = Promise.withResolvers<number>();
  ready.promise.catch(() => undefined);
  const child: Child<ToHost> = startChild<ToHost, FromHost>({
    entry: 'host-process',
    env: { ...process.env, NODE_OPTIONS: '', CHAOS_CLOCK_SHIFT: String(options.clockShiftMs) },
    execArgv: options.clockShiftMs === 0 ? [] : ['--require', path.join(__dirname, 'shift-clock.js')],
    onMessage(message) {
      if (message.kind === 'ready') ready.resolve(message.port);
      else if (message.kind === 'failed') ready.reject(new Error(message.message));
      else if (message.kind === 'log') {
        for (const line of message.lines) {
          log.write(`${line.level} ${line.message}\n`);
          const event = parseEvent(line.message, deployment, child.pid);
          if (event !== undefined) options.onEvent(event);
        }
      }
    },
    onLine: (line) => log.write(`${line}\n`),
  });
  options.guard.watch(child);
  child.send({
    kind: 'start',
    options: {
      ...{ app, port: 0, settings: options.settings, defaults: {}, strict: true },
      hubFolder: path.join(app, `hub-${deployment}`),
    },
  });
  void child.exited.then((exit) => {
    log.end(`ended: ${describeExit(exit)}\n`);
    ready.reject(new Error(`${deployment} ended at its start: ${describeExit(exit)}`));
  });
  return {
    deployment,
    pid: child.pid,
    ready: ready.promise.then(() => undefined),
    port: ready.promise,
    exited: child.exited,
    signal: (signal) => child.kill(signal),
    stop: () => child.send({ kind: 'stop' }),
  };
}
