import { given } from '../../core/given';
import { type CoordinatorEvent, EVENT_PREFIX } from '../../core/event';
import { parsedJson } from '../../core/metadata';
import type { LogLine } from '../host/core-api';
import { describeExit, type Guard } from './child';
import { type InstanceOptions, type RunningInstance, startInstance } from './instance';
import type { InstanceFacts } from './messages';

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

interface DeploymentOptions extends Omit<InstanceOptions, 'onLog'> {
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

export function createDeployment(options: DeploymentOptions): Deployment {
  const { name } = options;
  let { port } = options;
  let running: RunningInstance | undefined;
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
    const instance = startInstance({
      ...options,
      port,
      onLog(line) {
        const event = parseEvent(line.message, name, instance.pid);
        if (event === undefined) options.onLog(line, name);
        else options.onEvent(event);
      },
    });
    running = instance;
    options.guard.watch(instance);
    void instance.exited.then((exit) => {
      if (running !== instance) return;
      const answered = answering !== undefined;
      running = undefined;
      answering = undefined;
      // A requested end is not an event, and `ready` reports a start that failed.
      if (stopped || ofRound !== round || !answered) return;
      emit('instanceExited', instance.pid, describeExit(exit));
      if (options.restart) relaunchLater();
    });
    const ready = await instance.ready;
    // The next start uses the same port.
    port = ready.port;
    return (answering = { ...ready, pid: instance.pid, deployment: name });
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
      await running?.stop();
      if (stopped) return;
      const { pid } = await launch();
      emit('instanceStarted', pid, 'reloaded');
    },
    async stop() {
      stopped = true;
      clearTimeout(restart);
      await running?.stop();
    },
    async kill() {
      stopped = true;
      clearTimeout(restart);
      running?.kill();
      await running?.exited;
    },
  };
}
