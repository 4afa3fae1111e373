import type { Coordinator } from '../coordinator/coordinator';
import { textOf } from '../coordinator/attempt/attempt-log';
import { drain } from '../coordinator/drain';
import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { parseDuration } from '../core/duration';
import { isObject } from '../core/metadata';
import type { Environment } from '../functions/app-settings';
import { type CoordinatorOptions, createCoordinators } from '../functions/coordinators';
import type { HostFacts } from '../functions/host-advice';
import { type LevelLog, type ReportOf, isJsonLog, levelLog, reportTo } from '../functions/report';
import { maxConcurrentRuns, tickSchedule } from '../functions/settings';
import { closeTelemetry, connectTelemetry, openTelemetry } from '../functions/telemetry';
import { allSettledOrThrow, createTickers, perform } from '../functions/tickers';
import { systemClock } from '../system-clock';
import { type ProcessHub, createProcessHub } from './process-hub';

/** `45s`, `10m` or `1h30m`, or a number of milliseconds. */
export type Duration = string | number;

/** Receives each line of a runner as one text: `console`, or the program's logger. */
export type RunnerLog = LevelLog;

/** The options of {@link createRunner}. What they leave out comes from the environment variables of a function app. */
export interface RunnerOptions extends CoordinatorOptions {
  /** The storage that coordinates the jobs, in the forms of `CRONLEASE_STORAGE`. Default: that variable. */
  readonly store?: string | undefined;
  /** The coordination container. Default: `CRONLEASE_CONTAINER`, or else `cronlease`. */
  readonly container?: string | undefined;
  /**
   * The name of this process among all deployments that share the jobs. No two may have the same one. Default:
   * `CRONLEASE_DEPLOYMENT`, or else the host name.
   */
  readonly deployment?: string | undefined;
  /** Default: `console`. */
  readonly log?: RunnerLog;
}

/** The state of a runner. */
export interface RunnerHealth {
  /** Whether it can do its work. False once it stops. */
  readonly healthy: boolean;
  /** The reasons why it cannot, or not all of it. */
  readonly troubles: readonly string[];
}

/** A coordinator of jobs in any process. */
export interface Runner {
  /** Begins to serve due times. Without effect if it has begun. */
  start(): void;
  /**
   * Claims nothing more, waits for runs, aborts those that remain, and gives their jobs back, so that other processes
   * continue them. A handler has 2 s to obey its signal. Resolves when the process may exit, and never rejects because
   * storage does not answer: leases that are not given back expire.
   *
   * @param options.finishWithin how long runs may take to end by themselves before they are aborted. A further call may
   *   shorten that time. Default: 0
   */
  stop(options?: { readonly finishWithin?: Duration }): Promise<void>;
  health(): RunnerHealth;
}

/** A runner was used in a way that it does not allow. */
export class RunnerError extends Error {
  readonly code = 'RunnerMisused';
  override readonly name = 'RunnerError';
}

/**
 * Makes any Node process a coordinator of the jobs, alongside other runners and function apps. It reads the file and the
 * environment at once, and makes no call before `start`.
 *
 * @throws ConfigError (code `InvalidJobs`) with every error of the file
 * @throws SettingError, StorageSettingsError if an option or a variable cannot be used
 */
export function createRunner(options: RunnerOptions): Runner {
  const parts = partsOf(options);
  const { all } = parts.coordinators;
  const stopping = new AbortController();
  /** Runs are waited for no longer. */
  const enough = new AbortController();
  let ticking: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  async function shutDown(): Promise<void> {
    stopping.abort();
    for (const coordinator of all) coordinator.stopping = true;
    await untilOver(all, enough.signal);
    await allSettledOrThrow(all.map(drain));
    parts.hub.close();
    if (ticking !== undefined) await atMost(LAST_MS, ticking);
    if (parts.feed !== undefined) await closeTelemetry(parts.feed);
  }

  return {
    start() {
      if (stopped !== undefined) throw new RunnerError('This runner was stopped: create another one.');
      ticking ??= keepTicking(parts, stopping.signal);
    },
    stop(how = {}) {
      const cancel = systemClock.after(finishWithinOf(how), () => enough.abort());
      stopped ??= shutDown();
      void stopped.then(cancel, cancel);
      return stopped;
    },
    health: () => ({
      healthy: ticking !== undefined && stopped === undefined && all.every(({ health }) => health.healthy),
      troubles: all.flatMap(({ health }) => [...health.troubles.values()]),
    }),
  };
}

function partsOf(options: RunnerOptions) {
  const env = environmentOf(options);
  const log = logOf(options.log ?? console);
  const isJson = isJsonLog(env);
  const { nextFire } = tickSchedule(env);
  const feed = openTelemetry(env);
  const coordinators = createCoordinators(options, { env, host: ownHost(env), feed });
  const reportOf: ReportOf = (coordinator) => reportTo(log, { coordinator, feed, isJson });
  const hub: ProcessHub = createProcessHub({
    clock: systemClock,
    run: (input) => perform(coordinators, input, () => hub, reportOf),
    onFailure: (id, error) => log.error(`orchestration ${id} failed:`, error),
  });
  return { env, log, feed, coordinators, hub, nextFire, reportOf };
}

/** A logger gets each line as one text: pino drops what follows it. If it throws, that ends nothing. */
function logOf(log: RunnerLog): RunnerLog {
  return levelLog((level, message) => {
    try {
      if (log === console) log[level](...message);
      else log[level](textOf(message));
    } catch (error) {
      console.error(`cronlease: the logger of the runner threw ${textOf([error])} at: ${textOf(message)}`);
    }
  });
}

/** How long the tick may take to end once a shutdown has waited for it. */
const LAST_MS: Millis = 1_000;

/** Fires as a timer of the Functions host does: never twice at once, and again at the next fire after an error. */
async function keepTicking(
  { env, log, feed, coordinators, hub, nextFire, reportOf }: ReturnType<typeof partsOf>,
  stopped: AbortSignal,
): Promise<void> {
  if (feed !== undefined) await connectTelemetry(feed, coordinators, env);
  const tickers = createTickers(coordinators.all);
  while (!stopped.aborted) {
    try {
      await tickers.tick(hub, nextFire, reportOf);
    } catch (error) {
      log.error('a tick failed:', error);
    }
    const now = systemClock.now();
    await sleep(systemClock, nextFire(now) - now, stopped);
  }
}

/** A runner's process has no limit that a host sets. */
function ownHost(env: Environment): HostFacts {
  return {
    functionTimeoutMs: undefined,
    attemptsAtOnce: undefined,
    maxConcurrentRuns: maxConcurrentRuns(env),
    hubAccount: undefined,
    warnings: [],
  };
}

function environmentOf({ store, container, deployment }: RunnerOptions): Environment {
  return {
    ...process.env,
    ...(store !== undefined && { CRONLEASE_STORAGE: store }),
    ...(container !== undefined && { CRONLEASE_CONTAINER: container }),
    ...(deployment !== undefined && { CRONLEASE_DEPLOYMENT: deployment }),
  };
}

/** A call to storage that does not answer must not keep the process: what it was about is left to the others. */
async function atMost(limitMs: Millis, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  const ended = work.finally(() => {
    over.abort();
  });
  await Promise.race([ended, sleep(systemClock, limitMs, over.signal)]);
}

/** Waits for the attempts that run now, until it is enough. */
async function untilOver(all: readonly Coordinator[], enough: AbortSignal): Promise<void> {
  const over = new AbortController();
  const ends = all.flatMap(({ running }) => [...running].map(({ done }) => done));
  void Promise.allSettled(ends).then(() => over.abort());
  await sleep(systemClock, Infinity, AbortSignal.any([enough, over.signal]));
}

function finishWithinOf(how: unknown): Millis {
  const value = isObject(how) ? how['finishWithin'] : undefined;
  if (value === undefined) return 0;
  const duration = typeof value === 'string' ? parseDuration(value) : value;
  if (typeof duration !== 'number' || !(duration >= 0 && duration <= 24 * 3_600_000)) {
    throw new RunnerError(`finishWithin is ${JSON.stringify(value)}: must be a duration up to 24h, such as "25s".`);
  }
  return duration;
}
