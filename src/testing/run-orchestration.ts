import { serveFences } from '../coordinator/activity-fence';
import type { Report } from '../coordinator/outlet';
import type { EpochMs, Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import { isObject } from '../core/metadata';
import { CANCEL_EVENT, type OrchestrationRun, instanceIdOf, progressOf } from '../core/orchestration';
import type { JobContext } from '../handler/handler';
import type { LogLevel, Progress } from '../core/log-entry';
import type { Aborter } from '../coordinator/bounded';
import type { HeldRow } from '../coordinator/held';
import type { ClosableFence } from '../lease/fence';

/** What a job that is an orchestration needs in a test. */
export interface OrchestrationTestOptions {
  /** The generator that the app passes to `df.app.orchestration`. */
  readonly orchestrator?: (context: never) => Generator<unknown, unknown, never>;
  /** Its activities, and stand-ins for its sub-orchestrations and for `callHttp`, by name. Each gets its input. */
  readonly activities?: Readonly<Record<string, (...input: never[]) => unknown>>;
  /** The data of its external events, by name. They have been raised before it waits for them. */
  readonly events?: Readonly<Record<string, unknown>>;
}

/** One call that an orchestrator has made. */
export interface OrchestrationCall {
  readonly name: string;
  readonly input: unknown;
}

interface RetryOptions {
  readonly firstRetryIntervalInMilliseconds: number;
  readonly maxNumberOfAttempts: number;
  readonly backoffCoefficient?: number;
  readonly maxRetryIntervalInMilliseconds?: number;
}

/** A task begins when it is yielded, by itself or in another. */
class PlayedTask {
  isCompleted = false;
  isFaulted = false;
  result: unknown;
  private started: Promise<unknown> | undefined;

  constructor(
    private readonly begin: () => Promise<unknown>,
    readonly cancel: () => void = () => undefined,
  ) {}

  start(): Promise<unknown> {
    this.started ??= this.begin().then(
      (result) => {
        this.isCompleted = true;
        this.result = result;
        return result;
      },
      (error: unknown) => {
        this.isCompleted = true;
        this.isFaulted = true;
        throw error;
      },
    );
    return this.started;
  }
}

/** The part of an attempt in memory that an orchestration needs. */
interface Attempt {
  readonly clock: Clock;
  readonly held: HeldRow;
  readonly fence: ClosableFence;
  readonly aborter: Aborter;
  readonly said: { progress: Progress | undefined };
  readonly report: Report;
}

/** An orchestration that a test plays, by the name of its orchestrator. */
export function playedOrchestration(attempt: Attempt, functionName: string, options: OrchestrationTestOptions) {
  const { orchestrator } = options;
  if (orchestrator === undefined) {
    throw new TypeError('runJob: an orchestration needs the option "orchestrator", its generator function');
  }
  const { held, fence } = attempt;
  const work = worksOf(attempt, options);
  let customStatus: unknown;
  const setCustomStatus = (status: unknown): void => {
    customStatus = copy(status);
    attempt.said.progress = progressOf(customStatus);
  };

  return {
    activities: work.calls,
    customStatus: () => customStatus,
    takeWait: work.takeWait,
    /** Plays it, as an attempt that starts it and waits for it. */
    async run({ attempt: number, scheduledFor, runId, fence: { token } }: JobContext): Promise<unknown> {
      const { name: job } = held.job.spec;
      const due = scheduledFor.toISOString();
      const cronlease: OrchestrationRun = { job, runId, scheduledFor: due, attempt: number, token };
      const df = {
        ...tasksOf(work),
        newGuid: guids(),
        instanceId: instanceIdOf(job, scheduledFor.getTime(), token),
        isReplaying: false,
        get currentUtcDateTime() {
          return new Date(attempt.clock.now());
        },
        getInput: () => copy({ input: held.job.input, cronlease }),
        setCustomStatus,
      };
      const check = (): Promise<void> => Promise.resolve().then(() => fence.check());
      const before = serveFences(() => ({ token, check, write: fence.write }));
      try {
        return await play(orchestrator({ ...invocationOf(functionName, attempt.report), df } as never), work);
      } finally {
        serveFences(before);
      }
    },
  };
}

/** The part of the context that any function has. */
function invocationOf(functionName: string, { log }: Report): object {
  const at =
    (level: LogLevel) =>
    (...message: unknown[]): void =>
      log(level, ...message);
  return {
    functionName,
    invocationId: guids()(),
    log: at('info'),
    trace: at('debug'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

/** The same ones in each test. */
function guids(): () => string {
  let count = 0;
  return () => `00000000-0000-5000-8000-${(count += 1).toString(16).padStart(12, '0')}`;
}

/** What an orchestrator waits for, and how. */
function worksOf({ clock, aborter }: Attempt, { activities = {}, events = {} }: OrchestrationTestOptions) {
  const calls: OrchestrationCall[] = [];
  const timers = new Set<{ readonly until: EpochMs }>();
  const awaited = new Set<string>();
  let atWork = 0;

  const call = async (name: string, input: unknown): Promise<unknown> => {
    const activity = activities[name];
    if (activity === undefined) throw new Error(`the test has no activity "${name}": add it to "activities"`);
    calls.push({ name, input: copy(input) });
    atWork += 1;
    try {
      return copy(await activity(copy(input) as never));
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Activity function '${name}' failed: ${message}`, { cause });
    } finally {
      atWork -= 1;
    }
  };
  const wait = async (until: EpochMs, cancelled?: AbortSignal): Promise<void> => {
    const timer = { until };
    timers.add(timer);
    await sleep(clock, Math.max(0, until - clock.now()), cancelled);
    timers.delete(timer);
  };
  return {
    calls,
    call,
    wait,
    async callWithRetry(name: string, retry: RetryOptions, input: unknown): Promise<unknown> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await call(name, input);
        } catch (error) {
          if (attempt >= retry.maxNumberOfAttempts) throw error;
          const pause = retry.firstRetryIntervalInMilliseconds * (retry.backoffCoefficient ?? 1) ** (attempt - 1);
          await wait(clock.now() + Math.min(pause, retry.maxRetryIntervalInMilliseconds ?? Infinity));
        }
      }
    },
    async event(name: string): Promise<unknown> {
      if (name in events) return copy(events[name]);
      awaited.add(name);
      return new Promise((resolve) => {
        if (name !== CANCEL_EVENT) return;
        aborter.signal.addEventListener('abort', () => resolve('its run is over'), { once: true });
      });
    },
    /** How far its timers let the clock move: not at all while an activity is at work. */
    takeWait(): Millis {
      if (atWork > 0) return 0;
      if (timers.size > 0) return Math.max(0, Math.min(...[...timers].map(({ until }) => until)) - clock.now());
      if (awaited.size === 0) return 0;
      const names = [...awaited].map((name) => JSON.stringify(name)).join(', ');
      throw new Error(`the orchestrator waits for ${names}: add the data to "events", or abort the run in "during"`);
    },
  };
}

type Works = ReturnType<typeof worksOf>;

/** The part of `context.df` that makes tasks. */
function tasksOf(works: Works): object {
  const { call, callWithRetry, wait, event } = works;
  const calls = (name: string, input?: unknown) => new PlayedTask(() => call(name, input));
  const callsWithRetry = (name: string, retry: RetryOptions, input?: unknown) =>
    new PlayedTask(() => callWithRetry(name, retry, input));
  return {
    callActivity: calls,
    callActivityWithRetry: callsWithRetry,
    callSubOrchestrator: calls,
    callSubOrchestratorWithRetry: callsWithRetry,
    callHttp: (request: unknown) => calls('callHttp', request),
    waitForExternalEvent: (name: string) => new PlayedTask(() => event(name)),
    createTimer(at: Date) {
      const cancelled = new AbortController();
      return new PlayedTask(
        () => wait(at.getTime(), cancelled.signal),
        () => cancelled.abort(),
      );
    },
    Task: {
      all: (given: readonly unknown[]) =>
        compound(given, works, (tasks) => Promise.all(tasks.map((task) => task.start()))),
      any: (given: readonly unknown[]) =>
        compound(given, works, (tasks) => Promise.race(tasks.map((task, at) => ended(task, given[at])))),
    },
  };
}

/** The task that an orchestrator yields: one of `context.df`, or of what `df.app.activity` and its like return. */
function taskOf(value: unknown, { call, callWithRetry }: Works): PlayedTask {
  if (value instanceof PlayedTask) return value;
  const action: unknown = isObject(value) ? value['actionObj'] : undefined;
  const name = isObject(action) ? action['functionName'] : undefined;
  if (!isObject(action) || typeof name !== 'string') {
    throw new TypeError('the orchestrator yielded no task: yield what context.df.callActivity and the like return');
  }
  const { actionType, input: given } = action;
  // durable-functions has written the texts of activities, and not those of orchestrations, as JSON.
  const isWritten = typeof given === 'string' && (actionType === ACTIVITY || actionType === ACTIVITY_WITH_RETRY);
  const input: unknown = isWritten ? JSON.parse(given) : given;
  const retry = action['retryOptions'] as RetryOptions | undefined;
  return new PlayedTask(() => (retry === undefined ? call(name, input) : callWithRetry(name, retry, input)));
}

/** The numbers of durable-functions for the calls of activities. */
const [ACTIVITY, ACTIVITY_WITH_RETRY] = [0, 1];

/** The error of durable-functions: an orchestrator that fans out over an empty list must not ask for its tasks. */
function compound(
  given: readonly unknown[],
  works: Works,
  begin: (tasks: readonly PlayedTask[]) => Promise<unknown>,
): PlayedTask {
  const tasks = given.map((one) => taskOf(one, works));
  if (tasks.length > 0) return new PlayedTask(() => begin(tasks));
  throw new Error(
    'When constructing a CompoundTask (such as Task.all() or Task.any()), you must specify at least one Task.',
  );
}

async function ended<Given>(task: PlayedTask, given: Given): Promise<Given> {
  await Promise.allSettled([task.start()]);
  return given;
}

async function play(generator: Generator<unknown, unknown, never>, works: Works): Promise<unknown> {
  let step = generator.next();
  while (step.done !== true) {
    const task = taskOf(step.value, works);
    let result: unknown;
    try {
      result = await task.start();
    } catch (error) {
      step = generator.throw(error);
      continue;
    }
    step = generator.next(result as never);
  }
  return step.value;
}

/** As Durable passes values on. */
function copy(value: unknown): unknown {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined ? undefined : (JSON.parse(json) as unknown);
}
